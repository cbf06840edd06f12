//! What is wrong with a module of a federation object model.

use thiserror::Error;

/// The deepest element of a module. Classes nest, and each takes one level.
pub(super) const DEPTH_MAX: usize = 64;

/// What is wrong with a module. The text names neither the module nor whoever sent it; who asks adds that.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum FomError {
    /// It is not XML.
    #[error("it is not well-formed XML: {why}")]
    Xml { why: String },
    /// It has a document type, which could name files to read.
    #[error("it has a document type, which is not allowed")]
    DocumentType,
    /// It has too many elements inside each other.
    #[error("its elements are nested more than {} deep", DEPTH_MAX)]
    TooDeep,
    /// The root is another element.
    #[error("it begins with <{root}>, not with <objectModel>")]
    Root { root: String },
    /// It is of another edition.
    #[error("its namespace is `{namespace}`; IEEE1516-2010 and IEEE1516-2025 are known")]
    Edition { namespace: String },
    /// A class, attribute, parameter or dimension has no name.
    #[error("a <{element}> below {place} has no <name>")]
    Nameless { element: &'static str, place: String },
    /// Classes have to be below the root class.
    #[error("the topmost class is {found}, not {wanted}")]
    RootClass { found: String, wanted: &'static str },
    /// A name stands twice in one place.
    #[error("{name} stands twice in {place}")]
    Twice { name: String, place: String },
    /// A number is none.
    #[error("{place} has `{found}` where a whole number is wanted")]
    Number { place: String, found: String },
    /// Two modules say different things of one class, attribute, parameter or dimension.
    #[error("{name} has {property} `{found}`, and `{known}` in an earlier module")]
    Differs { name: String, property: &'static str, found: String, known: String },
    /// A module of 2010 adds to a class that exists, or leaves out what it has.
    #[error("{class} exists with {known}, here it has {found}; a module of 2010 repeats all of them or none")]
    Members { class: String, known: String, found: String },
    /// An attribute or parameter is inherited already.
    #[error("{member} of {class} is inherited from {ancestor} already")]
    Inherited { member: String, class: String, ancestor: String },
    /// A data type has a part that is missing or of no use.
    #[error("line {line}: {place} {problem}")]
    DataType { line: u32, place: String, problem: String },
    /// Two modules define a data type differently.
    #[error(
        "line {line}: the data type {name} has {property} `{found}`, and `{known}` in an earlier definition"
    )]
    DataTypeDiffers { line: u32, name: String, property: &'static str, found: String, known: String },
    /// A data type is named that no module defines.
    #[error("line {line}: {place} names the data type {name}, which no module defines")]
    UndefinedDataType { line: u32, place: String, name: String },
    /// A data type that holds itself would have values without an end.
    #[error("line {line}: the data type {name} has no finite value, as it always holds {within}")]
    EndlessDataType { line: u32, name: String, within: String },
    /// Something is named that no module defines.
    #[error("{place} names the {kind} {name}, which no module defines")]
    Undefined { place: String, kind: &'static str, name: String },
}

impl FomError {
    /// Whether the module could be read, but contradicts the others.
    pub fn is_inconsistent(&self) -> bool {
        matches!(
            self,
            Self::Differs { .. }
                | Self::Members { .. }
                | Self::Inherited { .. }
                | Self::DataTypeDiffers { .. }
        )
    }
}
