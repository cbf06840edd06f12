//! The messages of HLA 4's Federate Protocol (IEEE 1516.1-2025, annex on the Federate Protocol), and how they
//! are encoded: protocol buffers, version 3.
//!
//! [`calls`] has what federates call, [`callbacks`] what they are called with, [`data`] what both have in
//! their fields. Each is a table of numbers, names and fields; the macros of `table` make types of it, and
//! rows that describe the types.
//!
//! Invariants: numbers are the standard's and never change; the response of call `n` has the number `n + 1`,
//! because the first one of responses is the exception.
//!
//! ```
//! use paceline_hla::{Call, CallRequest, Message, request};
//!
//! let call = Call::from(request::DestroyFederationExecution { federation_name: "Chat".to_owned() });
//! assert_eq!(call.name(), "DestroyFederationExecution");
//! let bytes = CallRequest { call: Some(call.clone()) }.encode_to_vec();
//! assert_eq!(bytes, b"\x62\x06\x0a\x04Chat", "field 12, of 6 bytes");
//! assert_eq!(CallRequest::decode(&*bytes).unwrap().call, Some(call));
//! ```

#![forbid(unsafe_code)]

mod table;

pub mod callbacks;
pub mod calls;
pub mod data;

pub use bytes::Bytes;
pub use prost::{DecodeError, Message};

pub use callbacks::{Callback, CallbackRequest, CallbackResponse, CallbackResult, callback};
pub use calls::{Call, CallRequest, CallResponse, Response, request, response};
pub use data::*;
pub use table::{EnumerationRow, FieldRow, Kind, MessageRow};
