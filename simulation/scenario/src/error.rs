//! A mistake in a scenario or in a file it names: where, what, and what is allowed instead.
//!
//! [`std::fmt::Display`] gives the problem alone, as `miette` shows it above an excerpt of the file;
//! [`ScenarioError::one_line`] gives everything in one line, for logs.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::excerpt::Excerpt;

/// A text that an error can point into.
#[derive(Debug)]
pub(crate) enum Text {
    /// A file, or a text that stands for one.
    File(NamedSource<String>),
    /// An override given on the command line.
    Override(NamedSource<String>),
    /// What is shown of a file of another format.
    Excerpt(Excerpt),
}

impl Text {
    pub(crate) fn file(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self::File(NamedSource::new(name, text.to_owned())))
    }

    pub(crate) fn over(text: &str) -> Arc<Self> {
        Arc::new(Self::Override(NamedSource::new("--set", text.to_owned())))
    }

    fn source(&self) -> &dyn SourceCode {
        match self {
            Self::File(source) | Self::Override(source) => source,
            Self::Excerpt(excerpt) => excerpt,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::File(source) | Self::Override(source) => source.name(),
            Self::Excerpt(excerpt) => excerpt.name(),
        }
    }

    /// The part of the text at `span`.
    pub(crate) fn excerpt(&self, span: &Range<usize>) -> &str {
        match self {
            Self::File(source) | Self::Override(source) => {
                source.inner().get(span.clone()).unwrap_or_default()
            }
            // Keys stand in scenarios, which are never excerpts.
            Self::Excerpt(_) => "",
        }
    }

    /// "file:line:column", or the override.
    fn place(&self, offset: usize) -> String {
        match self {
            Self::Override(source) => format!("--set {}", source.inner()),
            Self::Excerpt(excerpt) => excerpt.place().to_owned(),
            Self::File(source) => {
                let before = &source.inner().as_bytes()[..offset.min(source.inner().len())];
                let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
                let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
                // Characters, not bytes: continuation bytes of UTF-8 do not count.
                let column = 1 + before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
                format!("{}:{line}:{column}", source.name())
            }
        }
    }
}

/// A place in a text, or the text as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub text: Arc<Text>,
    pub span: Range<usize>,
}

/// One mistake, with its place: no run can begin from this scenario. `Debug` is [`ScenarioError::one_line`],
/// for a `main` that returns it.
pub struct ScenarioError(Box<Details>);

struct Details {
    /// The file's name, and the place in it; without a place if the file could not be read.
    file: String,
    place: Option<Place>,
    problem: String,
    allowed: String,
}

impl ScenarioError {
    pub(crate) fn at(place: &Place, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        let file = place.text.name().to_owned();
        let (problem, allowed) = (problem.into(), allowed.into());
        Self(Box::new(Details { file, place: Some(place.clone()), problem, allowed }))
    }

    /// A mistake in a file of another format: `span` is the range of bytes of `text` to point at. Of the text
    /// the error keeps only what it shows: lines that are cut where they are long, without control
    /// characters.
    pub fn in_file(
        name: &str,
        text: &str,
        span: Range<usize>,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let start = span.start.min(text.len());
        let (excerpt, span) = Excerpt::of(name, text, start..span.end.clamp(start, text.len()));
        Self::at(&Place { text: Arc::new(Text::Excerpt(excerpt)), span }, problem, allowed)
    }

    /// A file that is something else than what is to be read.
    pub fn whole_file(path: &Path, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        let (file, problem, allowed) = (path.display().to_string(), problem.into(), allowed.into());
        Self(Box::new(Details { file, place: None, problem, allowed }))
    }

    /// A file of which nothing could be read.
    pub fn unreadable(path: &Path, reason: &std::io::Error) -> Self {
        Self::whole_file(path, format!("cannot be read: {reason}"), "a text file in UTF-8 that you may read")
    }

    /// The place: "file:line:column", "--set section.key=value", or the file alone if it could not be read.
    pub fn place(&self) -> String {
        match &self.0.place {
            Some(place) => place.text.place(place.span.start),
            None => self.0.file.clone(),
        }
    }

    /// What is allowed instead.
    pub fn allowed(&self) -> &str {
        &self.0.allowed
    }

    /// Place, problem and what is allowed, in one line.
    pub fn one_line(&self) -> String {
        format!("{}: {}; allowed: {}", self.place(), self.0.problem, self.0.allowed)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.place.is_none() {
            write!(f, "{} ", self.0.file)?;
        }
        f.write_str(&self.0.problem)
    }
}

impl fmt::Debug for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.one_line())
    }
}

impl std::error::Error for ScenarioError {}

impl Diagnostic for ScenarioError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("allowed: {}", self.0.allowed)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.place.as_ref().map(|place| place.text.source())
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.0.place.as_ref()?.span.clone();
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(None, span))))
    }
}
