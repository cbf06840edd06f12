//! The data types of a module: how they are read, and what has to be there of each.
//!
//! Values are not decoded, so that only what other types and the classes rest on is kept. Tables that are
//! not known, such as the one of references to instances, define names and nothing else.

use super::FomError;
use super::xml::Element;

/// Where other types may be named that stand for none.
pub(super) const NOTHING: &str = "NA";

/// A data type as a module defines it.
#[derive(Clone, Debug)]
pub struct DataTypeRow {
    pub name: String,
    pub line: u32,
    pub shape: Shape,
}

/// What a data type is made of. Texts stand as they do in the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Bits, by their number.
    Basic { size: u32, endian: String },
    /// Numbers that a basic type represents.
    Simple { representation: String },
    /// Names for numbers that a basic type represents: each with its numbers.
    Enumerated { representation: String, enumerators: Vec<(String, Vec<String>)> },
    /// Elements of one type.
    Array { element: String, cardinality: String, encoding: String, may_be_empty: bool },
    /// Fields, each with its type.
    Record { fields: Vec<(String, String)> },
    /// One of several fields, chosen by a value of an enumerated type: the enumerators, the field, its type.
    Variant { discriminant: String, alternatives: Vec<(String, String, String)> },
    /// Of a kind that is not known here.
    Other,
}

/// A data type that something names: where, by which words, and which one.
#[derive(Clone, Debug)]
pub struct DataTypeUse {
    pub line: u32,
    pub place: String,
    pub name: String,
}

/// An element that says something of a data type.
#[derive(Clone, Copy)]
struct Part<'a> {
    element: &'a Element,
    place: &'a str,
}

impl<'a> Part<'a> {
    fn wrong(self, problem: String) -> FomError {
        FomError::DataType { line: self.element.line, place: self.place.to_owned(), problem }
    }

    fn text(self, name: &str) -> Result<&'a str, FomError> {
        self.element.text_of(name).ok_or_else(|| self.wrong(format!("has no <{name}>")))
    }

    fn optional(self, name: &str) -> String {
        self.element.text_of(name).unwrap_or_default().to_owned()
    }

    fn size(self) -> Result<u32, FomError> {
        let text = self.text("size")?;
        let size = text.parse().ok().filter(|size| *size > 0);
        size.ok_or_else(|| self.wrong(format!("has the size `{text}`, where a number of bits is wanted")))
    }

    fn enumerators(self) -> Result<Vec<(String, Vec<String>)>, FomError> {
        let enumerators = self.element.all("enumerator").map(|element| {
            let part = Part { element, ..self };
            let name = part.text("name")?.to_owned();
            // A name may stand for several numbers.
            let mut values: Vec<String> = element.all("value").map(|value| value.text.clone()).collect();
            if values.is_empty() {
                values.extend(element.attribute("values").map(str::to_owned));
            }
            let texts = values.iter().flat_map(|value| value.split(','));
            if let Some(text) = texts.map(str::trim).find(|text| !is_number(text)) {
                let details = format!("has `{text}` as a value of {name}, where a whole number is wanted");
                return Err(part.wrong(details));
            }
            if values.is_empty() {
                return Err(part.wrong(format!("has no <value> for {name}")));
            }
            Ok((name, values))
        });
        let enumerators: Vec<_> = enumerators.collect::<Result<_, _>>()?;
        if enumerators.is_empty() {
            return Err(self.wrong("has no <enumerator>".to_owned()));
        }
        Ok(enumerators)
    }

    fn array(self) -> Result<Shape, FomError> {
        let cardinality = self.text("cardinality")?;
        // One for each dimension: a number, two as the ends of a range, or any.
        fn bare(text: &str) -> &str {
            text.trim().trim_matches(['[', ']', '(', ')']).trim()
        }
        let is_known = |text: &str| {
            let text = bare(text);
            text.eq_ignore_ascii_case("Dynamic")
                || text.split("..").all(|end| end.trim().parse::<u64>().is_ok())
        };
        if !cardinality.split(',').all(is_known) {
            let details = "where `Dynamic`, a number or a range such as [0..4] is wanted";
            return Err(self.wrong(format!("has the cardinality `{cardinality}`, {details}")));
        }
        let begins_with_none = |text: &str| {
            let text = bare(text);
            text.eq_ignore_ascii_case("Dynamic")
                || text.split("..").next().is_some_and(|end| end.trim() == "0")
        };
        Ok(Shape::Array {
            element: self.text("dataType")?.to_owned(),
            cardinality: cardinality.to_owned(),
            encoding: self.optional("encoding"),
            may_be_empty: cardinality.split(',').any(begins_with_none),
        })
    }

    fn record(self) -> Result<Shape, FomError> {
        let fields = self.element.all("field").map(|element| {
            let part = Part { element, ..self };
            Ok((part.text("name")?.to_owned(), part.text("dataType")?.to_owned()))
        });
        Ok(Shape::Record { fields: fields.collect::<Result<_, _>>()? })
    }

    fn variant(self) -> Result<Shape, FomError> {
        let alternatives = self.element.all("alternative").map(|element| {
            let part = Part { element, ..self };
            let enumerators = part.text("enumerator")?.to_owned();
            Ok((enumerators, part.text("name")?.to_owned(), part.text("dataType")?.to_owned()))
        });
        let alternatives = alternatives.collect::<Result<_, _>>()?;
        Ok(Shape::Variant { discriminant: self.text("dataType")?.to_owned(), alternatives })
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).is_ok(),
        None => text.parse::<i128>().is_ok(),
    }
}

fn read_row(element: &Element) -> Result<DataTypeRow, FomError> {
    let kind = match &*element.name {
        "basicData" => "basic",
        "simpleData" => "simple",
        "enumeratedData" => "enumerated",
        "arrayData" => "array",
        "fixedRecordData" => "fixed record",
        "variantRecordData" => "variant record",
        _ => "data",
    };
    let name = Part { element, place: &format!("a {kind} type") }.text("name")?.to_owned();
    let place = format!("the {kind} type {name}");
    let part = Part { element, place: &place };
    let shape = match kind {
        "basic" => Shape::Basic { size: part.size()?, endian: part.optional("endian") },
        "simple" => Shape::Simple { representation: part.text("representation")?.to_owned() },
        "enumerated" => Shape::Enumerated {
            representation: part.text("representation")?.to_owned(),
            enumerators: part.enumerators()?,
        },
        "array" => part.array()?,
        "fixed record" => part.record()?,
        "variant record" => part.variant()?,
        _ => Shape::Other,
    };
    Ok(DataTypeRow { name, line: element.line, shape })
}

/// The data types that a module defines.
pub(super) fn data_types(root: &Element) -> Result<Vec<DataTypeRow>, FomError> {
    let tables = root.all("dataTypes").flat_map(|types| &types.children);
    let rows = tables.flat_map(|table| &table.children).filter(|row| row.name.ends_with("Data"));
    rows.map(read_row).collect()
}

/// The data types that dimensions and times have.
pub(super) fn uses(root: &Element) -> Vec<DataTypeUse> {
    let named = |element: &Element, place: String| {
        let name = element.text_of("dataType").map(str::to_owned);
        name.map(|name| DataTypeUse { line: element.line, place, name })
    };
    let dimensions = root.all("dimensions").flat_map(|table| table.all("dimension"));
    let dimensions = dimensions
        .filter_map(|row| named(row, format!("the dimension {}", row.text_of("name").unwrap_or_default())));
    let times = root.all("time").flat_map(|time| &time.children);
    let times = times.filter_map(|row| match &*row.name {
        "timeStamp" => named(row, "the timestamp".to_owned()),
        "lookahead" => named(row, "the lookahead".to_owned()),
        _ => None,
    });
    dimensions.chain(times).collect()
}
