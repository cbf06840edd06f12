//! Columns of tables: what programs that read a table may take their values for.
//!
//! Invariant: the type of a column is the model's to say, not guessed from its values, so that the tables of
//! all runs of a model can be joined.

/// What the values of a column are; a value may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers of 64 bits with a sign.
    Integers,
    /// Numbers with decimals.
    Reals,
    /// Texts of any kind.
    Texts,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// In snake_case, with its unit last.
    pub name: &'static str,
    /// What its values are.
    pub values: Values,
}

impl Column {
    /// A column of whole numbers.
    pub const fn integers(name: &'static str) -> Self {
        Self { name, values: Values::Integers }
    }

    /// A column of numbers with decimals.
    pub const fn reals(name: &'static str) -> Self {
        Self { name, values: Values::Reals }
    }

    /// A column of texts.
    pub const fn texts(name: &'static str) -> Self {
        Self { name, values: Values::Texts }
    }
}
