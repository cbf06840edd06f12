//! Models whose handlers are C functions: those that numba compiles, or that ctypes makes of plain Python
//! functions.
//!
//! `layout` says what bytes mean, `values` keeps states and messages, `call` is what a handler sees of the
//! run, `handlers` is the engine's model, `run` the function that Python calls, `workers` joins the processes
//! of a run that has several. `python/paceline/_model.py`
//! checks what users write; what comes from there is trusted in one point: the addresses of the handlers.
//!
//! Invariants: the engine does not know which kind of handler it calls; a handler never unwinds, it says by
//! its status that an exception was raised.

use pyo3::prelude::*;

mod call;
mod handlers;
mod layout;
#[cfg(feature = "reference")]
mod reference;
mod run;
mod values;
mod workers;

pub use run::hearing;

/// Adds what `python/paceline/_model.py` uses.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<layout::PyLayout>()?;
    module.add_class::<workers::Links>()?;
    module.add_function(wrap_pyfunction!(run::run_model, module)?)?;
    module.add_function(wrap_pyfunction!(call::model_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(call::model_raised, module)?)?;
    #[cfg(feature = "reference")]
    module.add_function(wrap_pyfunction!(reference::run_reference, module)?)?;
    Ok(())
}
