//! How data types of several modules come together: what is defined twice is the same, what is named is
//! there, and each type has values that end.

use std::collections::{BTreeMap, VecDeque};

use super::data_type::{DataTypeRow, NOTHING, Shape};
use super::{Fom, FomError, Module};
use crate::fom::module::Edition;

/// The data types of all modules, by name.
pub(super) type DataTypes = BTreeMap<String, Shape>;

impl Shape {
    fn kind(&self) -> &'static str {
        match self {
            Self::Basic { .. } => "basic",
            Self::Simple { .. } => "simple",
            Self::Enumerated { .. } => "enumerated",
            Self::Array { .. } => "array",
            Self::Record { .. } => "fixed record",
            Self::Variant { .. } => "variant record",
            Self::Other => "other",
        }
    }

    /// The first of its parts that is not that of `other`: what it is, here and there.
    fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let differs = |property, found: &str, known: &str| {
            (!found.eq_ignore_ascii_case(known)).then(|| (property, found.to_owned(), known.to_owned()))
        };
        let fields = |rows: &[(String, String)]| {
            rows.iter().map(|(name, kind)| format!("{name}: {kind}")).collect::<Vec<_>>().join(", ")
        };
        match (self, other) {
            (Self::Basic { size, endian }, Self::Basic { size: known, endian: known_endian }) => {
                differs("the size", &size.to_string(), &known.to_string())
                    .or_else(|| differs("the order of bytes", endian, known_endian))
            }
            (Self::Simple { representation }, Self::Simple { representation: known }) => {
                differs("the representation", representation, known)
            }
            (
                Self::Enumerated { representation, enumerators },
                Self::Enumerated { representation: known, enumerators: known_enumerators },
            ) => {
                let texts = |rows: &[(String, Vec<String>)]| {
                    let rows = rows.iter().map(|(name, values)| format!("{name} = {}", values.join(" ")));
                    rows.collect::<Vec<_>>().join(", ")
                };
                differs("the representation", representation, known)
                    .or_else(|| differs("the enumerators", &texts(enumerators), &texts(known_enumerators)))
            }
            (
                Self::Array { element, cardinality, encoding, .. },
                Self::Array {
                    element: known, cardinality: known_cardinality, encoding: known_encoding, ..
                },
            ) => differs("the elements", element, known)
                .or_else(|| differs("the cardinality", cardinality, known_cardinality))
                .or_else(|| differs("the encoding", encoding, known_encoding)),
            (Self::Record { fields: found }, Self::Record { fields: known }) => {
                differs("the fields", &fields(found), &fields(known))
            }
            (
                Self::Variant { discriminant, alternatives },
                Self::Variant { discriminant: known, alternatives: known_alternatives },
            ) => {
                let texts = |rows: &[(String, String, String)]| {
                    let rows = rows.iter().map(|(value, name, kind)| format!("{value} {name}: {kind}"));
                    rows.collect::<Vec<_>>().join(", ")
                };
                differs("the discriminant", discriminant, known)
                    .or_else(|| differs("the alternatives", &texts(alternatives), &texts(known_alternatives)))
            }
            (found, known) => differs("the kind", found.kind(), known.kind()),
        }
    }

    /// The types that it is made of, each with the words for its place.
    fn parts(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Basic { .. } | Self::Other => Vec::new(),
            Self::Simple { representation } | Self::Enumerated { representation, .. } => {
                vec![("its representation", representation)]
            }
            Self::Array { element, .. } => vec![("its elements", element)],
            Self::Record { fields } => fields.iter().map(|(_, kind)| ("a field", &**kind)).collect(),
            Self::Variant { discriminant, alternatives } => {
                let alternatives = alternatives.iter().map(|(.., kind)| ("an alternative", &**kind));
                std::iter::once(("its discriminant", &**discriminant)).chain(alternatives).collect()
            }
        }
    }
}

/// Takes in the data types of a module. One of 2010 may bring the standard's own types as they were then,
/// which are not compared: 2025 has added to some.
pub(super) fn merge_types(types: &mut DataTypes, module: &Module) -> Result<(), FomError> {
    for row in &module.data_types {
        let Some(known) = types.get(&row.name) else {
            types.insert(row.name.clone(), row.shape.clone());
            continue;
        };
        if module.edition == Edition::Of2010 && row.name.starts_with("HLA") {
            continue;
        }
        if let Some((property, found, known)) = row.shape.difference(known) {
            let (line, name) = (row.line, row.name.clone());
            return Err(FomError::DataTypeDiffers { line, name, property, found, known });
        }
    }
    Ok(())
}

fn check_row(types: &DataTypes, row: &DataTypeRow) -> Result<(), FomError> {
    let line = row.line;
    let place = |part: &str| format!("{part} of the {} type {}", row.shape.kind(), row.name);
    for (part, name) in row.shape.parts().into_iter().filter(|(_, name)| *name != NOTHING) {
        let Some(shape) = types.get(name) else {
            return Err(FomError::UndefinedDataType { line, place: place(part), name: name.to_owned() });
        };
        let wanted = match part {
            "its representation" => "basic",
            "its discriminant" => "enumerated",
            _ => continue,
        };
        if shape.kind() != wanted && *shape != Shape::Other {
            let problem = format!("is {name}, which is no {wanted} type");
            return Err(FomError::DataType { line, place: place(part), problem });
        }
    }
    let Shape::Variant { discriminant, alternatives } = &row.shape else { return Ok(()) };
    let Some(Shape::Enumerated { enumerators, .. }) = types.get(discriminant) else { return Ok(()) };
    for (texts, ..) in alternatives {
        // Several, or a range of them, may choose one alternative.
        let names = texts.split([',', ' ', '[', ']']).flat_map(|text| text.split(".."));
        let names = names.map(str::trim).filter(|name| !name.is_empty() && *name != "HLAother");
        for name in names {
            if !enumerators.iter().any(|(known, _)| known == name) {
                let problem = format!("is chosen by {name}, which is no enumerator of {discriminant}");
                return Err(FomError::DataType { line, place: place("an alternative"), problem });
            }
        }
    }
    Ok(())
}

/// Whether each type has a value that ends, found from those that are made of no other.
fn finite(types: &DataTypes) -> BTreeMap<&str, bool> {
    // How many of a type's parts have to be finite before it is, and for which types each type waits.
    let (mut missing, mut waiting) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, Vec<&str>>::new());
    let mut ready = VecDeque::new();
    for (name, shape) in types {
        let parts: Vec<&str> = shape.parts().into_iter().map(|(_, part)| part).collect();
        // A variant ends as soon as one of its alternatives does, or if one of them holds nothing.
        let wanted = match shape {
            Shape::Array { may_be_empty: true, .. } => 0,
            Shape::Variant { alternatives, .. } => {
                let is_free =
                    alternatives.iter().any(|(.., kind)| kind == NOTHING) || alternatives.is_empty();
                usize::from(!is_free)
            }
            _ => parts.iter().filter(|part| types.contains_key(**part)).count(),
        };
        missing.insert(name, wanted);
        if wanted == 0 {
            ready.push_back(&**name);
        }
        let skipped = usize::from(matches!(shape, Shape::Variant { .. }));
        for part in parts.into_iter().skip(skipped) {
            waiting.entry(part).or_default().push(name);
        }
    }
    while let Some(name) = ready.pop_front() {
        for other in waiting.remove(name).unwrap_or_default() {
            let missing = missing.get_mut(other).expect("it is one of the types");
            *missing = missing.saturating_sub(1);
            if *missing == 0 {
                ready.push_back(other);
            }
        }
    }
    missing.into_iter().map(|(name, missing)| (name, missing == 0)).collect()
}

impl Fom {
    /// Whether each data type has a value that ends.
    pub(super) fn finite_types(&self) -> BTreeMap<&str, bool> {
        finite(&self.data_types)
    }

    /// The data types of a module are made of types that are there and end, and so are its attributes,
    /// parameters, dimensions and times.
    pub(super) fn check_types(&self, module: &Module, finite: &BTreeMap<&str, bool>) -> Result<(), FomError> {
        module.data_types.iter().try_for_each(|row| check_row(&self.data_types, row))?;
        let undefined =
            module.uses.iter().find(|one| one.name != NOTHING && !self.data_types.contains_key(&one.name));
        if let Some(one) = undefined {
            let (line, place, name) = (one.line, one.place.clone(), one.name.clone());
            return Err(FomError::UndefinedDataType { line, place, name });
        }
        let is_endless = |name: &str| finite.get(name) == Some(&false);
        let Some(row) = module.data_types.iter().find(|row| is_endless(&row.name)) else { return Ok(()) };
        let within = row.shape.parts().into_iter().map(|(_, part)| part).find(|part| is_endless(part));
        let (line, name) = (row.line, row.name.clone());
        let within = within.unwrap_or_default().to_owned();
        Err(FomError::EndlessDataType { line, name, within })
    }
}
