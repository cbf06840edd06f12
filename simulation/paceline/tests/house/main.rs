//! The project as it lies in its folders: what its documents say is there, and every source keeps to the rules of style.

mod documents;
mod functions;
mod project;
mod style;
