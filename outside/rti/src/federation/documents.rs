//! The modules of a federation as they came, for those who ask for their texts.

use paceline_hla::Bytes;

use crate::fom::{STANDARD_MIM, STANDARD_MIM_NAME};

/// A module's name and text.
pub(crate) type Document = (String, Bytes);

/// All modules, in the order in which they came; each is kept once.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// The one that replaces the standard's.
    mim: Option<Document>,
    modules: Vec<Document>,
}

impl Documents {
    /// No modules but the standard's, or the one that replaces it.
    pub(crate) fn new(mim: Option<Document>) -> Self {
        Self { mim, modules: Vec::new() }
    }

    /// The bytes that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.modules.iter().chain(&self.mim).map(|(_, text)| text.len()).sum()
    }

    /// Whether a module is kept already.
    pub(crate) fn has(&self, document: &Document) -> bool {
        self.modules.contains(document)
    }

    /// The places of modules, which are kept from now on.
    pub(crate) fn keep(&mut self, documents: Vec<Document>) -> Vec<usize> {
        let place = |document: Document| {
            self.modules.iter().position(|known| *known == document).unwrap_or_else(|| {
                self.modules.push(document);
                self.modules.len() - 1
            })
        };
        documents.into_iter().map(place).collect()
    }

    /// Names and texts.
    pub(super) fn modules(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.modules.iter().map(|(name, text)| (name.as_str(), &**text))
    }

    pub(super) fn mim_name(&self) -> &str {
        self.mim.as_ref().map_or(STANDARD_MIM_NAME, |(name, _)| name)
    }

    pub(super) fn mim_text(&self) -> String {
        self.mim
            .as_ref()
            .map_or_else(|| STANDARD_MIM.to_owned(), |(_, text)| String::from_utf8_lossy(text).into_owned())
    }
}
