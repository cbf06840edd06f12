//! A table of text, to be shown on a page or in a terminal.
//!
//! Invariant: every row has a cell for each column.

/// Rows of text below named columns.
///
/// ```
/// let mut table = paceline_report::Table::new("Run time", ["policy", "seconds"]);
/// table.row(["credit", "61.2"]);
/// table.row(["psx", "3.1"]);
/// assert_eq!(table.rows().len(), 2);
/// assert!(table.is_numeric(1) && !table.is_numeric(0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<C: Into<String>>(title: impl Into<String>, columns: impl IntoIterator<Item = C>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title: title.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it has not one cell for each column.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "a row has a cell for each column of `{}`", self.title);
        self.rows.push(cells);
    }

    /// What it shows.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The columns' names.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, a cell for each column.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether more than half of a column's cells start with a number, dashes aside: such a column is aligned
    /// to the right.
    pub fn is_numeric(&self, column: usize) -> bool {
        let number = |cell: &&str| {
            let digits = cell.split([' ', '%', '×']).next().unwrap_or_default().replace(',', "");
            digits.parse::<f64>().is_ok()
        };
        let cells = self.rows.iter().map(|row| row[column].as_str()).filter(|cell| *cell != "-");
        let (numbers, words): (Vec<&str>, Vec<&str>) = cells.partition(number);
        numbers.len() > words.len()
    }
}
