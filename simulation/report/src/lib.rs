//! What is shown of a run besides its numbers: its course in time, as a trace that the Perfetto UI opens; and
//! what it came to, as figures and [`Map`]s; what a number of runs showed together, as [`Finding`]s with
//! [`Figure`]s and [`Table`]s, on one self-contained HTML [`page()`].
//!
//! It knows no engine, no machine and no experiment: the caller says what happened and what it means, in
//! types of this crate.

#![forbid(unsafe_code)]

mod compare;
mod criterion;
mod figure;
mod findings;
mod fit;
mod map;
mod name;
mod number;
mod page;
pub mod perfetto;
mod plot;
mod sweep;
mod table;
mod theme;

pub use compare::{Outcome, matrix};
pub use criterion::{Criterion, Estimate, Order, Ours, Shape, Statement, Tolerance};
pub use figure::{Axis, Figure, FigureError, Kind, Scale, Series, VALUE_MAX};
pub use findings::{Check, Finding, RanOn, Verdict, json};
pub use fit::{Fit, FitRow, Half, Quantity, half_sentence};
pub use map::{Map, MapMarks};
pub use name::name_and_unit;
pub use number::number;
pub use page::{Appendix, Chapter, data_of, document, document_with_data, page};
pub use perfetto::{
    Activity, FederationTrace, GuestFrame, GuestSlice, MachineTrace, Mark, PerfettoTrace, ProcessTrace,
    Slice, TraceError, TraceHost, TraceRound, TracedFederate,
};
pub use plot::svg;
pub use sweep::{Curve, Sweep, Wanted};
pub use table::Table;
pub use theme::style_sheet;
