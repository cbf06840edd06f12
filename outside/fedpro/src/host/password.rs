//! The password that clients connect with, if there is one: credentials of the type HLAplainTextPassword.
//!
//! Invariant: how long a comparison takes does not depend on what is right in a wrong password.

use std::fmt;

use paceline_hla::{Call, Credentials, ExceptionData, Response};
use subtle::ConstantTimeEq;

/// The type of credentials that hold a password.
const TYPE: &str = "HLAplainTextPassword";

/// A password, as clients send it: an HLAunicodeString.
#[derive(Clone)]
pub struct Password(Vec<u8>);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

impl Password {
    /// The password of these characters.
    pub fn new(text: &str) -> Self {
        let units: Vec<u16> = text.encode_utf16().collect();
        let count = units.len() as u32;
        let bytes = units.into_iter().flat_map(u16::to_be_bytes);
        Self(count.to_be_bytes().into_iter().chain(bytes).collect())
    }

    fn check(&self, credentials: Option<&Credentials>) -> Result<(), Response> {
        let refuse = |exception: &str, details: String| {
            Err(Response::Exception(ExceptionData { exception_name: exception.to_owned(), details }))
        };
        match credentials {
            Some(credentials) if credentials.r#type == TYPE => {
                if self.0.ct_eq(&credentials.data).into() {
                    return Ok(());
                }
                refuse("Unauthorized", "the password is wrong".to_owned())
            }
            Some(other) if other.r#type != "HLAnoCredentials" => refuse(
                "InvalidCredentials",
                format!("credentials of type {:?}; {TYPE} is known", other.r#type),
            ),
            _ => refuse("Unauthorized", format!("a password is asked for: credentials of type {TYPE}")),
        }
    }

    /// The refusal of a call that connects without the password.
    pub(super) fn refusal(&self, call: &Call) -> Option<Response> {
        let checked = match call {
            Call::Connect(_) | Call::ConnectWithConfiguration(_) => self.check(None),
            Call::ConnectWithCredentials(r) => self.check(r.credentials.as_ref()),
            Call::ConnectWithConfigurationAndCredentials(r) => self.check(r.credentials.as_ref()),
            _ => Ok(()),
        };
        checked.err()
    }
}
