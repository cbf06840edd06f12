//! All modules as one: the object model that a federation has, as a module of 2025.

use std::fmt::Write;

use super::data_type::Shape;
use super::module::Properties;
use super::table::{Class, ClassTable};
use super::{Fom, INTERACTION_ROOT, OBJECT_ROOT};

/// A text inside an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

struct Writer {
    out: String,
}

impl Writer {
    fn leaf(&mut self, name: &str, text: &str) {
        write!(self.out, "<{name}>{}</{name}>", escaped(text)).expect("a string grows");
    }

    fn inside(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        write!(self.out, "<{name}>").expect("a string grows");
        write(self);
        writeln!(self.out, "</{name}>").expect("a string grows");
    }

    fn properties(&mut self, properties: &Properties) {
        let Properties { data_type, transportation, order, sharing, dimensions } = properties;
        let rows = [("dataType", data_type), ("transportation", transportation), ("order", order)];
        for (name, text) in rows.into_iter().chain([("sharing", sharing)]) {
            text.iter().for_each(|text| self.leaf(name, text));
        }
        if let Some(dimensions) = dimensions {
            self.inside("dimensions", |it| dimensions.iter().for_each(|name| it.leaf("dimension", name)));
        }
    }

    /// A class with those below it.
    fn class(&mut self, fom: &Fom, table: &ClassTable, handle: u32, words: (&str, &str)) {
        let Some(class) = table.class(handle) else { return };
        self.inside(words.0, |it| {
            it.leaf("name", class.name.rsplit('.').next().unwrap_or_default());
            it.properties(&class.properties);
            for member in class.own.iter().filter_map(|member| table.member(*member)) {
                it.inside(words.1, |it| {
                    it.leaf("name", &member.name);
                    it.properties(&member.properties);
                });
            }
            for directed in class.directed.iter().filter_map(|class| fom.interactions.class(*class)) {
                it.leaf("directedInteraction", &directed.name);
            }
            let is_child = |class: &Class| class.parent == Some(handle);
            let children = (1..).zip(&table.classes).filter(|(_, class)| is_child(class));
            children.for_each(|(child, _)| it.class(fom, table, child, words));
        });
    }

    fn data_type(&mut self, name: &str, shape: &Shape) {
        let kind = match shape {
            Shape::Basic { .. } => "basicData",
            Shape::Simple { .. } => "simpleData",
            Shape::Enumerated { .. } => "enumeratedData",
            Shape::Array { .. } => "arrayData",
            Shape::Record { .. } => "fixedRecordData",
            Shape::Variant { .. } => "variantRecordData",
            Shape::Other => "referenceData",
        };
        self.inside(kind, |it| {
            it.leaf("name", name);
            match shape {
                Shape::Basic { size, endian } => {
                    it.leaf("size", &size.to_string());
                    it.leaf("endian", endian);
                }
                Shape::Simple { representation } => it.leaf("representation", representation),
                Shape::Enumerated { representation, enumerators } => {
                    it.leaf("representation", representation);
                    for (name, values) in enumerators {
                        it.inside("enumerator", |it| {
                            it.leaf("name", name);
                            values.iter().for_each(|value| it.leaf("value", value));
                        });
                    }
                }
                Shape::Array { element, cardinality, encoding, .. } => {
                    it.leaf("dataType", element);
                    it.leaf("cardinality", cardinality);
                    it.leaf("encoding", encoding);
                }
                Shape::Record { fields } => {
                    for (name, kind) in fields {
                        it.inside("field", |it| {
                            it.leaf("name", name);
                            it.leaf("dataType", kind);
                        });
                    }
                }
                Shape::Variant { discriminant, alternatives } => {
                    it.leaf("dataType", discriminant);
                    for (enumerators, name, kind) in alternatives {
                        it.inside("alternative", |it| {
                            it.leaf("enumerator", enumerators);
                            it.leaf("name", name);
                            it.leaf("dataType", kind);
                        });
                    }
                }
                Shape::Other => {}
            }
        });
    }
}

/// A table of one kind of data types, and whether a type is in it.
type Table = (&'static str, fn(&Shape) -> bool);

const TABLES: [Table; 7] = [
    ("basicDataRepresentations", |shape| matches!(shape, Shape::Basic { .. })),
    ("simpleDataTypes", |shape| matches!(shape, Shape::Simple { .. })),
    ("enumeratedDataTypes", |shape| matches!(shape, Shape::Enumerated { .. })),
    ("arrayDataTypes", |shape| matches!(shape, Shape::Array { .. })),
    ("fixedRecordDataTypes", |shape| matches!(shape, Shape::Record { .. })),
    ("variantRecordDataTypes", |shape| matches!(shape, Shape::Variant { .. })),
    ("referenceDataTypes", |shape| matches!(shape, Shape::Other)),
];

impl Fom {
    /// A module of 2025 that has all that was merged, but for notes and other texts for people.
    pub fn write(&self) -> String {
        let mut it = Writer { out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned() };
        it.out.push_str("<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\n");
        let root = |table: &ClassTable, name| table.find(name).unwrap_or_default();
        let (objects, interactions) = (&self.objects, &self.interactions);
        it.inside("objects", |it| {
            it.class(self, objects, root(objects, OBJECT_ROOT), ("objectClass", "attribute"));
        });
        it.inside("interactions", |it| {
            let words = ("interactionClass", "parameter");
            it.class(self, interactions, root(interactions, INTERACTION_ROOT), words);
        });
        it.inside("dimensions", |it| {
            for (name, bound) in &self.dimensions {
                it.inside("dimension", |it| {
                    it.leaf("name", name);
                    bound.iter().for_each(|bound| it.leaf("upperBound", &bound.to_string()));
                });
            }
        });
        it.inside("transportations", |it| {
            for name in &self.transportations {
                it.inside("transportation", |it| it.leaf("name", name));
            }
        });
        it.inside("updateRates", |it| {
            for (name, rate) in &self.update_rates {
                it.inside("updateRate", |it| {
                    it.leaf("name", name);
                    it.leaf("rate", rate);
                });
            }
        });
        it.inside("switches", |it| {
            for (name, value) in &self.switches {
                let word = if name == "automaticResignAction" { "resignAction" } else { "isEnabled" };
                let value = escaped(value).replace('"', "&quot;");
                writeln!(it.out, "<{name} {word}=\"{value}\"/>").expect("a string grows");
            }
        });
        it.inside("dataTypes", |it| {
            for (table, is_in) in TABLES {
                it.inside(table, |it| {
                    let rows = self.data_types.iter().filter(|(_, shape)| is_in(shape));
                    rows.for_each(|(name, shape)| it.data_type(name, shape));
                });
            }
        });
        it.out.push_str("</objectModel>\n");
        it.out
    }
}
