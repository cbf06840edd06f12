//! The formats in which tables of results are written.
//!
//! Invariants: the content of a table is the same in each of them, and so are its bytes whatever the protocol
//! and the threads; types of columns are those that the model names. A file that is no table stays as it is.

#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, Write};

use clap::Args;
use paceline_results::ResultFile;

#[cfg(feature = "parquet")]
pub use parquet::write_lines as write_parquet;

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tables {
    /// Lines of comma-separated values.
    #[default]
    Csv,
    /// Columns with types, for programs.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// In which format a command writes tables.
#[derive(Args, Clone, Copy, Debug)]
pub struct TableArguments {
    /// Writes the tables among the files of --out as Parquet, NAME.parquet instead of NAME.csv
    #[cfg(feature = "parquet")]
    #[arg(long, requires = "out")]
    pub parquet: bool,
}

impl TableArguments {
    /// The format that they ask for.
    pub fn format(self) -> Tables {
        #[cfg(feature = "parquet")]
        if self.parquet {
            return Tables::Parquet;
        }
        Tables::Csv
    }
}

impl Tables {
    /// What a file is called in this format.
    pub fn name(self, file: &ResultFile) -> String {
        #[cfg(feature = "parquet")]
        if let (Self::Parquet, Some(_), Some(stem)) = (self, file.columns(), file.name.strip_suffix(".csv")) {
            return format!("{stem}.parquet");
        }
        file.name.clone().into_owned()
    }

    /// Writes a file in this format.
    ///
    /// # Errors
    ///
    /// It cannot be written, or a value of a table is not of its column's type.
    pub fn write(self, file: ResultFile, to: &mut dyn Write) -> io::Result<()> {
        #[cfg(feature = "parquet")]
        if let (Self::Parquet, Some(columns)) = (self, file.columns()) {
            return parquet::write(file, columns, to);
        }
        file.write(to)
    }
}
