//! Tables of results of a run, which any library of data frames reads by Arrow's PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>), without pyarrow.
//!
//! The program has written them as Parquet. A table is read once and kept in memory; those who ask for it
//! share its columns, which nobody changes.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

/// Rows of a batch: what the program writes as a row group.
const BATCH: usize = 1 << 16;

/// A table of results: columns by name, of integers, floats or texts, all of one length.
#[pyclass(frozen, module = "paceline")]
pub struct Table {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl Table {
    fn read(path: &PathBuf) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
        let reader: ParquetRecordBatchReader =
            builder.with_batch_size(BATCH).build().map_err(|error| error.to_string())?;
        let schema = reader.schema();
        let batches: Result<Vec<_>, ArrowError> = reader.collect();
        Ok(Self { schema, batches: batches.map_err(|error| error.to_string())?.into() })
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[pymethods]
impl Table {
    /// Reads the table in the Parquet file at `path`.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Self::read(&path))
            .map_err(|problem| PyOSError::new_err(format!("{}: {problem}", path.display())))
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The column of this name as a list; `None` where a row has no value.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Ok(place) = self.schema.index_of(name) else {
            let allowed = self.columns().join(", ");
            return Err(PyKeyError::new_err(format!("no column {name}; allowed: {allowed}")));
        };
        let list = PyList::empty(py);
        for batch in self.batches.iter() {
            append(&list, batch.column(place).as_ref())?;
        }
        Ok(list)
    }

    /// The table as a stream of Arrow's batches, whatever schema is asked for: whoever asks may cast.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        // The capsule frees the stream, unless who took it has: then its `release` is null.
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.rows(), self.columns().join(", "))
    }
}

/// Puts the values of a column, of a type that the program writes, at the end of `list`.
fn append(list: &Bound<'_, PyList>, column: &dyn Array) -> PyResult<()> {
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().iter().try_for_each(|value| list.append(value)),
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().try_for_each(|value| list.append(value))
        }
        DataType::Utf8 => column.as_string::<i32>().iter().try_for_each(|value| list.append(value)),
        other => Err(PyOSError::new_err(format!(
            "a column of {other} cannot be a list; allowed: Int64, Float64, Utf8"
        ))),
    }
}
