//! Programs of processes in Rust whose text is that of `tests/test_peers.py` and `tests/peers_programs.py`:
//! with the feature `reference`.

use pyo3::prelude::*;

mod chord;
mod farm;
mod shop;

/// Adds them to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(farm::run_reference_peers, module)?)?;
    module.add_function(wrap_pyfunction!(shop::run_reference_shop, module)?)?;
    module.add_function(wrap_pyfunction!(chord::run_reference_chord, module)?)
}
