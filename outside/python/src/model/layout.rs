//! What the bytes of a state or a message mean: the fields of a structured dtype, flat and in their order.
//!
//! Invariant: fields enter the digest as `derive(Hash)` of a Rust struct with the same fields lets them:
//! whole numbers by their value, floats as `Bits`, an array as a Rust array. `reference.rs` has such structs.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a field has in each of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Field {
    name: String,
    kind: Kind,
    /// Bytes of an element: 1, 2, 4 or 8.
    width: usize,
    offset: usize,
    /// The length of an array; none of a single element.
    count: Option<usize>,
}

impl Field {
    fn elements<'b>(&self, bytes: &'b [u8]) -> std::slice::ChunksExact<'b, u8> {
        bytes[self.offset..self.offset + self.width * self.count.unwrap_or(1)].chunks_exact(self.width)
    }
}

/// The fields of a structured dtype.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    fields: Vec<Field>,
    bytes: usize,
    key: u64,
}

/// The layouts of this process, by their keys. States and messages refer to them, and none says when the last
/// of them is gone, so that they live as long as the process. What comes from another worker of a run names
/// its layout by the key alone, and serde hands nothing else to whoever reads it: hence a static. It only
/// grows, and no run depends on what others have added.
static KNOWN: Mutex<BTreeMap<u64, &'static Layout>> = Mutex::new(BTreeMap::new());

fn word(element: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..element.len()].copy_from_slice(element);
    u64::from_le_bytes(word)
}

impl Layout {
    /// How many words of 8 bytes hold it.
    pub fn words(&self) -> usize {
        self.bytes.div_ceil(8)
    }

    /// The size of the dtype, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn new(fields: Vec<Field>, bytes: usize) -> Self {
        let mut hasher = DefaultHasher::new();
        (&fields, bytes).hash(&mut hasher);
        Self { key: hasher.finish(), fields, bytes }
    }

    /// A number by which workers of one build, and so of one run, name it.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The layout of this key.
    pub fn known(key: u64) -> Option<&'static Self> {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied()
    }

    /// Makes it known; none where another one has its key.
    fn make_known(self) -> Option<&'static Self> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layout) = known.get(&self.key) {
            return Some(*layout).filter(|layout| **layout == self);
        }
        let layout = &*Box::leak(Box::new(self));
        known.insert(layout.key, layout);
        Some(layout)
    }

    /// Hands `words`, which have this layout, to a hasher.
    pub fn hash_words<H: Hasher>(&self, words: &[u64], hasher: &mut H) {
        let bytes = as_bytes(words);
        for field in &self.fields {
            match field.count {
                None => hasher.write_u64(word(&bytes[field.offset..field.offset + field.width])),
                Some(count) => {
                    hasher.write_usize(count);
                    if matches!(field.kind, Kind::Signed | Kind::Unsigned) {
                        // As arrays of integers do, which hand over their bytes as they are.
                        hasher.write(&bytes[field.offset..field.offset + field.width * count]);
                    } else {
                        field.elements(bytes).for_each(|element| hasher.write_u64(word(element)));
                    }
                }
            }
        }
    }

    /// The values by the names of their fields.
    pub fn show(&self, words: &[u64], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for field in &self.fields {
            let mut shown: Vec<_> =
                field.elements(as_bytes(words)).map(|element| show(field.kind, element)).collect();
            let text = match field.count {
                None => shown.remove(0),
                Some(_) => format!("[{}]", shown.join(", ")),
            };
            map.entry(&format_args!("{}", field.name), &format_args!("{text}"));
        }
        map.finish()
    }
}

fn show(kind: Kind, element: &[u8]) -> String {
    let word = word(element);
    let unused = 64 - 8 * element.len() as u32;
    match kind {
        Kind::Bool => if word == 0 { "False" } else { "True" }.to_owned(),
        Kind::Unsigned => word.to_string(),
        Kind::Signed => ((word << unused) as i64 >> unused).to_string(),
        Kind::Float if element.len() == 4 => f32::from_bits(word as u32).to_string(),
        Kind::Float => f64::from_bits(word).to_string(),
    }
}

/// The bytes of words, as handlers see them.
pub fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: every byte of a word is initialized, a byte needs no alignment, and the length is the same
    // memory's.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// The layout of a structured dtype, for `run_model`.
#[pyclass(frozen, name = "Layout", module = "paceline._native")]
pub struct PyLayout(pub &'static Layout);

#[pymethods]
impl PyLayout {
    /// Of `fields` (name, kind `b`, `i`, `u` or `f`, width, offset, length or None) within `size` bytes.
    #[new]
    fn new(fields: Vec<(String, String, usize, usize, Option<usize>)>, size: usize) -> PyResult<Self> {
        let field = |(name, kind, width, offset, count): (String, String, usize, usize, Option<usize>)| {
            let kind = match kind.as_str() {
                "b" => Kind::Bool,
                "i" => Kind::Signed,
                "u" => Kind::Unsigned,
                "f" => Kind::Float,
                _ => return Err(PyValueError::new_err(format!("field {name}: kind {kind}"))),
            };
            let end = width.checked_mul(count.unwrap_or(1)).and_then(|bytes| bytes.checked_add(offset));
            if !matches!(width, 1 | 2 | 4 | 8) || end.is_none_or(|end| end > size) {
                return Err(PyValueError::new_err(format!(
                    "field {name} of width {width} is not within {size} bytes"
                )));
            }
            Ok(Field { name, kind, width, offset, count })
        };
        let fields = fields.into_iter().map(field).collect::<PyResult<_>>()?;
        let layout = Layout::new(fields, size).make_known();
        layout.map(Self).ok_or_else(|| PyValueError::new_err("two dtypes have one key: rename a field"))
    }
}
