//! The types of the core, and the Python objects that it uses.
//!
//! They are made when the module is imported, once in a process: pyo3 refuses a second interpreter.

use super::call::make_type;
use super::kind::Side;
use super::object::*;
use super::statics::{Class, Extra, Names, STATICS, TYPES, Types, given_object};
use super::{
    condition, environment, event, process, request_types, resource, resource_types, timeout, trigger, value,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use std::ptr::null_mut;

unsafe fn make_types() -> Outcome<Types> {
    let mut parts = trigger::parts();
    parts.slots.extend(condition::operators());
    let event = make_type(parts, event::memory(), null_mut())?;
    let [process, initialize, interruption] = process::parts();
    let [condition, all_of, any_of] = condition::parts();
    let condition = make_type(condition, event::memory(), event)?;
    let [put, get] = request_types::base_parts();
    let (put, get) = (make_type(put, event::memory(), event)?, make_type(get, event::memory(), event)?);
    let [claim, priority_request] = request_types::claim_parts();
    let claim = make_type(claim, event::claim_memory(), put)?;
    let mut requests = vec![];
    for (parts, side) in request_types::parts() {
        // `FilterStoreGet` is the last one, and a `StoreGet`, the third.
        let base = if requests.len() == 5 {
            requests[2]
        } else if side == Side::Put {
            put
        } else {
            get
        };
        requests.push(make_type(parts, event::memory(), base)?);
    }
    let base_resource = make_type(resource_types::base_parts(), resource::memory(), null_mut())?;
    let mut kinds: Vec<Class> = vec![];
    for (index, parts) in resource_types::parts().into_iter().enumerate() {
        // Priority and preemptive resources stand on the kind before them, the other stores on `Store`.
        let base = match index {
            1 | 2 => kinds[index - 1],
            5 | 6 => kinds[4],
            _ => base_resource,
        };
        kinds.push(make_type(parts, resource::memory(), base)?);
    }
    Ok(Types {
        event,
        timeout: make_type(timeout::parts(), event::memory(), event)?,
        process: make_type(process, event::memory(), event)?,
        initialize: make_type(initialize, event::memory(), event)?,
        interruption: make_type(interruption, event::memory(), event)?,
        condition,
        all_of: make_type(all_of, event::memory(), condition)?,
        any_of: make_type(any_of, event::memory(), condition)?,
        condition_value: make_type(value::parts(), value::memory(), null_mut())?,
        environment: make_type(environment::parts(), environment::memory(), null_mut())?,
        put,
        get,
        request: claim,
        priority_request: make_type(priority_request, event::claim_memory(), claim)?,
        release: requests[0],
        store_put: requests[1],
        store_get: requests[2],
        container_put: requests[3],
        container_get: requests[4],
        filter_store_get: requests[5],
        base_resource,
        resource: kinds[0],
        priority_resource: kinds[1],
        preemptive_resource: kinds[2],
        container: kinds[3],
        store: kinds[4],
        priority_store: kinds[5],
        filter_store: kinds[6],
    })
}

/// Takes the objects of the Python part of the package that the core uses.
#[pyfunction]
fn sim_setup(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<()> {
    let types = TYPES.get().ok_or_else(|| PyRuntimeError::new_err("the module is not initialized"))?;
    let failed = |_: Raised| PyErr::fetch(py);
    // Safety: this is a call from the interpreter, and the types are made.
    unsafe {
        let names = Names::new().map_err(failed)?;
        let steal = |new: Raw| Ref::steal(new).map(Ref::into_raw).map_err(failed);
        let extra = Extra {
            zero: steal(PyLong_FromLong(0))?,
            one: steal(PyLong_FromLong(1))?,
            infinity: given_object(given, "infinity")?,
            native_schedule: get(types.environment.cast(), names.schedule).map_err(failed)?.into_raw(),
            generator: given_object(given, "generator")?.cast(),
            ours: types.all(),
            inits: [types.event, types.timeout, types.process]
                .map(|class| (class, PyType_GetSlot(class, Py_tp_init))),
            names,
        };
        let statics = types.with(given, extra)?;
        STATICS.set(statics).map_err(|_| PyRuntimeError::new_err("paceline.sim is set up already"))
    }
}

/// Adds the types to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    // Safety: the module is being imported: this is a call from the interpreter.
    let types = unsafe { make_types() }.map_err(|_: Raised| PyErr::fetch(py))?;
    for class in types.all() {
        // Safety: the types are alive, and are never given back.
        let class = unsafe { Bound::from_borrowed_ptr(py, class.cast()) };
        module.add(class.getattr("__name__")?.cast_into::<pyo3::types::PyString>()?, class)?;
    }
    TYPES.set(types).map_err(|_| PyRuntimeError::new_err("the module is imported already"))?;
    module.add_function(wrap_pyfunction!(sim_setup, module)?)
}
