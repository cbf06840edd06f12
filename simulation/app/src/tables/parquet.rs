//! Tables as Apache Parquet: a row group for each 65,536 rows, columns compressed by Snappy.
//!
//! Invariant: a value that is missing in a row is null, and a text that is missing is empty, as in the CSV.

use std::io::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use csv::StringRecord;
use paceline_results::{Column, ResultFile, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// Rows that are held at a time, besides the lines themselves.
const GROUP: usize = 1 << 16;

/// Writes the table that `file` is, with these columns.
///
/// # Errors
///
/// It cannot be written, or a value is not of its column's type.
pub fn write(file: ResultFile, columns: &[Column], to: &mut dyn Write) -> io::Result<()> {
    let name = file.name.clone();
    let mut lines = Vec::new();
    file.write(&mut lines)?;
    let columns: Vec<_> = columns.iter().map(|column| (column.name, column.values)).collect();
    write_lines(&name, &lines, &columns, to)
}

/// Writes a table whose content is these lines of CSV with a header; columns have names and types.
///
/// # Errors
///
/// It cannot be written, or a value is not of its column's type.
pub fn write_lines(
    name: &str,
    lines: &[u8],
    columns: &[(&str, Values)],
    to: &mut dyn Write,
) -> io::Result<()> {
    let failed = |problem: String| io::Error::other(format!("{name}: {problem}"));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = Arc::new(schema(columns).map_err(|error| failed(error.to_string()))?);
    // The library wants a sink that may go to another thread, which `to` may not.
    let mut content = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut content, schema, Arc::new(properties))?;
    let mut rows = csv::Reader::from_reader(lines).into_records();
    loop {
        let group: Vec<StringRecord> =
            rows.by_ref().take(GROUP).collect::<Result<_, _>>().map_err(|error| failed(error.to_string()))?;
        if group.is_empty() {
            break;
        }
        let mut row_group = writer.next_row_group()?;
        for (place, column) in columns.iter().copied().enumerate() {
            write_column(&mut row_group, place, column, &group).map_err(&failed)?;
        }
        row_group.close()?;
    }
    writer.close()?;
    to.write_all(&content)
}

fn schema(columns: &[(&str, Values)]) -> Result<Type, ParquetError> {
    let fields = columns.iter().map(|(name, values)| {
        let (physical, logical, repetition) = match values {
            Values::Integers => (Physical::INT64, None, Repetition::OPTIONAL),
            Values::Reals => (Physical::DOUBLE, None, Repetition::OPTIONAL),
            Values::Texts => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        field.build().map(Arc::new)
    });
    Type::group_type_builder("table").with_fields(fields.collect::<Result<_, _>>()?).build()
}

/// Writes the values of the column at `place` of these rows.
fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    place: usize,
    column: (&str, Values),
    rows: &[StringRecord],
) -> Result<(), String> {
    let texts = || rows.iter().map(|row| row.get(place).unwrap_or_default());
    match column.1 {
        Values::Integers => {
            let values = numbers::<i64>(column, texts())?;
            put::<Int64Type, W>(group, &values, Some(&levels(texts())))
        }
        Values::Reals => {
            let values = numbers::<f64>(column, texts())?;
            put::<DoubleType, W>(group, &values, Some(&levels(texts())))
        }
        Values::Texts => {
            let values: Vec<ByteArray> = texts().map(ByteArray::from).collect();
            put::<ByteArrayType, W>(group, &values, None)
        }
    }
    .map_err(|error| error.to_string())
}

/// The values that there are.
fn numbers<'a, N: FromStr>(
    column: (&str, Values),
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<N>, String> {
    let there = texts.filter(|text| !text.is_empty());
    there.map(|text| text.parse().map_err(|_| not_of_its_type(column, text))).collect()
}

fn not_of_its_type((name, values): (&str, Values), text: &str) -> String {
    let allowed = match values {
        Values::Integers => "whole numbers of 64 bits with a sign",
        Values::Reals => "numbers",
        Values::Texts => "texts",
    };
    format!("{text:?} in column {name}; allowed: {allowed}")
}

/// For each row whether its value is there: 1, or 0.
fn levels<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<i16> {
    texts.map(|text| i16::from(!text.is_empty())).collect()
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has as many columns");
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

#[cfg(test)]
mod test {
    use paceline_results::Summary;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    const COLUMNS: [Column; 3] = [Column::integers("number"), Column::texts("name"), Column::reals("time_s")];

    fn table(rows: &'static str) -> ResultFile {
        let mut summary = Summary::default();
        summary.table("table.csv", &COLUMNS, move |to| to.write_all(rows.as_bytes()));
        summary.files.pop().expect("it was just added")
    }

    fn written(rows: &'static str) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        write(table(rows), &COLUMNS, &mut content).map(|()| content)
    }

    #[test]
    fn what_is_read_back_is_what_the_csv_says() {
        let content = written("1,\"Köln, \"\"Dom\"\"\",0.25\n,,\n9223372036854775807,b,1e-12\n").unwrap();
        assert_eq!(
            content,
            written("1,\"Köln, \"\"Dom\"\"\",0.25\n,,\n9223372036854775807,b,1e-12\n").unwrap()
        );
        let reader = SerializedFileReader::new(bytes::Bytes::from(content)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].get_long(0).unwrap(), 1);
        assert_eq!(rows[0].get_string(1).unwrap(), "Köln, \"Dom\"");
        assert_eq!(rows[0].get_double(2).unwrap(), 0.25);
        assert!(rows[1].get_long(0).is_err() && rows[1].get_double(2).is_err(), "what is missing is null");
        assert_eq!(rows[1].get_string(1).unwrap(), "");
        assert_eq!((rows[2].get_long(0).unwrap(), rows[2].get_double(2).unwrap()), (i64::MAX, 1e-12));
    }

    #[test]
    fn many_rows_are_all_there() {
        let rows: String = (0..150_000).map(|number| format!("{number},n{},0.5\n", number % 7)).collect();
        let content = written(Box::leak(rows.into_boxed_str())).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(content)).unwrap();
        assert_eq!((reader.num_row_groups(), reader.metadata().file_metadata().num_rows()), (3, 150_000));
        let numbers = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().get_long(0).unwrap());
        assert!(numbers.eq(0..150_000));
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let error = written("1.5,a,2\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "table.csv: \"1.5\" in column number; allowed: whole numbers of 64 bits with a sign"
        );
        assert!(written("1,a,2,3\n").is_err(), "a row that is too long");
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let reader = SerializedFileReader::new(bytes::Bytes::from(written("").unwrap())).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let names: Vec<_> = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        assert_eq!(names, ["number", "name", "time_s"]);
    }
}
