//! The extension module `paceline._native` of the Python package `paceline`.
//!
//! `sim` is the core of `paceline.sim`; `model` runs models of handlers in Python on the engine, `peers`
//! processes on platforms; `table` has the tables of results of a run; `atomic` is for `paceline.lvt`. Python
//! code of the package, in `python/paceline`, gives it its public form.

use pyo3::prelude::*;

mod atomic;
mod model;
mod peers;
mod sim;
mod table;

// Events are changed without locks: an interpreter without a GIL turns it on when it imports this.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<table::Table>()?;
    model::add_to(module)?;
    module.add_function(wrap_pyfunction!(atomic::compare_exchange, module)?)?;
    peers::add_to(module)?;
    sim::add_to(module)
}
