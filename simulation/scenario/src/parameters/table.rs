//! Tables, values and lists as serde reads them.
//!
//! Invariants: what is given out is complete: a visitor that leaves a key or an item behind is an error; a
//! value that serde takes without saying as what (`deserialize_any`) is noted, for it may be passed over
//! later; one that is passed over at once is noted too.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::numbers;
use super::value_error::{ValueError, What, values, variants};
use crate::section::{Entries, Entry};
use crate::value::Raw;

/// What is noted while a section is read.
#[derive(Debug, Default)]
pub(super) struct Reading<'s> {
    /// This key holds something that no type takes.
    pub spoilt: Option<&'s Entry>,
    /// Keys whose values serde has taken without saying as what.
    pub taken: RefCell<Vec<&'s Entry>>,
    /// Keys whose values serde has passed over.
    pub passed: RefCell<Vec<&'s Entry>>,
}

/// What no type takes: bytes, and no text.
const SPOILT: [u8; 1] = [0xff];

/// The keys of a section or table.
pub(super) struct Table<'s, 'r> {
    entries: &'s Entries,
    reading: &'r Reading<'s>,
}

impl<'s, 'r> Table<'s, 'r> {
    pub fn new(entries: &'s Entries, reading: &'r Reading<'s>) -> Self {
        Self { entries, reading }
    }
}

impl<'de> Deserializer<'de> for Table<'_, '_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let mut keys = Keys { left: self.entries.iter(), value: None, reading: self.reading };
        let read = visitor.visit_map(&mut keys)?;
        match keys.left.next() {
            // A visitor that has had enough says nothing of what it leaves behind.
            Some((key, _)) => Err(ValueError::new(What::Unknown { allowed: &[] }).under(key)),
            None => Ok(read),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.entries.keys().find(|key| !fields.contains(&key.as_str())) {
            Some(key) => Err(ValueError::new(What::Unknown { allowed: fields }).under(key)),
            None => self.deserialize_any(visitor).map_err(|mut error| {
                // Missing in this table itself, and not in one within it.
                if let (1, What::Missing { known }) = (error.path.len(), &mut error.what) {
                    *known = fields;
                }
                error
            }),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let mut keys = self.entries.iter();
        match (keys.next(), keys.next()) {
            (Some((key, entry)), None) => {
                visitor.visit_enum(Variant { name: key, held: Some(Held::new(entry, self.reading)) })
            }
            (Some(_), Some(_)) => {
                let stranger = self.entries.keys().find(|key| !names.contains(&key.as_str()));
                let Some(stranger) = stranger else {
                    return Err(ValueError::unfit(format!("one of {} alone", variants(names))));
                };
                Err(ValueError::new(What::Unknown { allowed: names }).under(stranger))
            }
            (None, _) => Err(ValueError::unfit(variants(names))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// Hands serde the keys of a table one by one.
struct Keys<'s, 'r> {
    left: std::collections::btree_map::Iter<'s, String, Entry>,
    value: Option<(&'s str, &'s Entry)>,
    reading: &'r Reading<'s>,
}

impl<'de> MapAccess<'de> for Keys<'_, '_> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        let Some((key, entry)) = self.left.next() else { return Ok(None) };
        self.value = Some((key, entry));
        seed.deserialize(StrDeserializer::new(key)).map(Some).map_err(|error: ValueError| error.under(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let (key, entry) = self.value.take().expect("serde asks for a key before its value");
        seed.deserialize(Held::new(entry, self.reading)).map_err(|error| error.under(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The value of a key, or of an item of a list.
struct Held<'s, 'r> {
    entry: &'s Entry,
    reading: &'r Reading<'s>,
    /// Whether the entry is the value of a key, which may be unknown, and not an item of a list.
    has_key: bool,
}

impl<'s, 'r> Held<'s, 'r> {
    fn new(entry: &'s Entry, reading: &'r Reading<'s>) -> Self {
        Self { entry, reading, has_key: true }
    }

    fn is_spoilt(&self) -> bool {
        self.reading.spoilt.is_some_and(|spoilt| std::ptr::eq(spoilt, self.entry))
    }

    /// The keys of the value, where it is a table.
    fn table(&self) -> Option<Table<'s, 'r>> {
        self.entry.inner.as_ref().map(|entries| Table::new(entries, self.reading))
    }

    /// Whatever it holds.
    fn give<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.is_spoilt() {
            return visitor.visit_bytes(&SPOILT);
        }
        if let Some(table) = self.table() {
            return table.deserialize_any(visitor);
        }
        match &self.entry.raw {
            Raw::Bool(value) => visitor.visit_bool(*value),
            Raw::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => visitor.visit_i128(*number),
            },
            raw @ Raw::Float(number) => {
                numbers::wide(raw)?;
                visitor.visit_f64(*number)
            }
            Raw::String(text) => visitor.visit_str(text),
            Raw::Array(_) => self.give_items(visitor),
            Raw::Other(what) => Err(serde::de::Error::invalid_type(Unexpected::Other(what), &visitor)),
        }
    }

    fn give_items<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let all = &self.entry.items;
        let mut items = Items { left: all.iter().enumerate(), reading: self.reading };
        let read = visitor.visit_seq(&mut items)?;
        let left = items.left.count();
        if left == 0 {
            return Ok(read);
        }
        let (allowed, found) = (values(all.len() - left), Some(values(all.len())));
        Err(ValueError::new(What::Unfit { allowed, found }))
    }
}

/// Methods of [`Held`] for types that serde names.
macro_rules! give {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.give(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Held<'_, '_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.has_key {
            self.reading.taken.borrow_mut().push(self.entry);
        }
        self.give(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.reading.passed.borrow_mut().push(self.entry);
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match numbers::narrow(&self.entry.raw)? {
            Some(number) if !self.is_spoilt() => visitor.visit_f32(number),
            _ => self.give(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match numbers::wide(&self.entry.raw)? {
            Some(number) if !self.is_spoilt() => visitor.visit_f64(number),
            _ => self.give(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.table() {
            Some(table) if !self.is_spoilt() => table.deserialize_struct(name, fields, visitor),
            // A list would be read by the order of fields, which no file should depend on.
            _ => Err(ValueError::unfit(format!("a table with the keys {}", fields.join(", ")))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match (&self.entry.raw, self.table()) {
            _ if self.is_spoilt() => self.give(visitor),
            (Raw::String(text), _) => visitor.visit_enum(Variant { name: text, held: None }),
            (_, Some(table)) => table.deserialize_enum(name, names, visitor),
            _ => Err(ValueError::unfit(variants(names))),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.give(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.give(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.give(visitor)
    }

    give! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_seq deserialize_map
        deserialize_identifier
    }
}

/// A variant of an enum: its name alone, or as the only key of a table, with what belongs to it.
struct Variant<'s, 'r> {
    name: &'s str,
    held: Option<Held<'s, 'r>>,
}

impl<'s, 'r> Variant<'s, 'r> {
    /// What belongs to it, or the mistake that nothing does.
    fn held(self, what: &str) -> Result<(&'s str, Held<'s, 'r>), ValueError> {
        let Self { name, held } = self;
        let missing = || ValueError::unfit(format!("{{ {name} = ... }} with {what}"));
        Ok((name, held.ok_or_else(missing)?))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, '_> {
    type Error = ValueError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ValueError> {
        let name: StrDeserializer<'_, ValueError> = self.name.into_deserializer();
        seed.deserialize(name).map(|variant| (variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        match self.held {
            None => Ok(()),
            Some(_) => Err(ValueError::unfit(format!("{:?} alone", self.name)).under(self.name)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        let (name, held) = self.held("its value")?;
        seed.deserialize(held).map_err(|error| error.under(name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ValueError> {
        let (name, held) = self.held(&format!("a list of {length}"))?;
        held.deserialize_tuple(length, visitor).map_err(|error| error.under(name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let (name, held) = self.held(&format!("the keys {}", fields.join(", ")))?;
        held.deserialize_struct("", fields, visitor).map_err(|error| error.under(name))
    }
}

/// Hands serde the items of a list one by one.
struct Items<'s, 'r> {
    left: std::iter::Enumerate<std::slice::Iter<'s, Entry>>,
    reading: &'r Reading<'s>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = ValueError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ValueError> {
        let Some((place, entry)) = self.left.next() else { return Ok(None) };
        let held = Held { entry, reading: self.reading, has_key: false };
        seed.deserialize(held).map(Some).map_err(|error| error.at(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}
