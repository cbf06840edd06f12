//! The project as it lies in its folders: what its documents say is there, and every source keeps to the
//! rules of style.

mod circles;
mod documents;
mod functions;
mod index;
mod project;
mod style;
