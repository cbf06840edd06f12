//! One module: what its XML says of classes, data types, dimensions, transportations, update rates and
//! switches. Notes are not read.

use std::collections::BTreeSet;

use super::FomError;
use super::data_type::{self, DataTypeRow, DataTypeUse};
use super::xml::{self, Element};

/// The root of object classes.
pub const OBJECT_ROOT: &str = "HLAobjectRoot";
/// The root of interaction classes.
pub const INTERACTION_ROOT: &str = "HLAinteractionRoot";

/// The edition of IEEE 1516.2 that a module follows, which says how it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// HLA Evolved. Also what a module without a namespace follows.
    Of2010,
    /// HLA 4.
    Of2025,
}

/// What may be said of a class, an attribute or a parameter. What is missing was not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    pub data_type: Option<String>,
    pub transportation: Option<String>,
    pub order: Option<String>,
    pub sharing: Option<String>,
    /// The names of dimensions.
    pub dimensions: Option<BTreeSet<String>>,
}

/// An attribute or a parameter.
#[derive(Clone, Debug)]
pub struct MemberRow {
    pub name: String,
    pub properties: Properties,
}

/// A class. Its parent stands before it.
#[derive(Clone, Debug)]
pub struct ClassRow {
    /// From the root on, with dots.
    pub name: String,
    pub properties: Properties,
    /// Without what is inherited.
    pub members: Vec<MemberRow>,
    /// The interaction classes that may be sent to instances, by full name.
    pub directed: Vec<String>,
}

/// A module as it stands in its text.
#[derive(Clone, Debug)]
pub struct Module {
    pub(super) edition: Edition,
    pub(super) objects: Vec<ClassRow>,
    pub(super) interactions: Vec<ClassRow>,
    /// Name and upper bound.
    pub(super) dimensions: Vec<(String, Option<u32>)>,
    pub(super) transportations: Vec<String>,
    /// Name and updates a second, as the text has it.
    pub(super) update_rates: Vec<(String, String)>,
    /// Name and value, as the text has them.
    pub(super) switches: Vec<(String, String)>,
    pub(super) data_types: Vec<DataTypeRow>,
    /// The data types that classes, dimensions and times name.
    pub(super) uses: Vec<DataTypeUse>,
}

fn edition(root: &Element) -> Result<Edition, FomError> {
    let names = root.attributes.iter().filter(|(name, _)| name == "xmlns" || name.starts_with("xmlns:"));
    let mut spaces = names.map(|(_, space)| space.as_str()).filter(|space| !space.contains("www.w3.org"));
    match spaces.next() {
        // What was written for tools that do not look at namespaces.
        None | Some("") => Ok(Edition::Of2010),
        Some(space) if space.ends_with("IEEE1516-2010") => Ok(Edition::Of2010),
        Some(space) if space.ends_with("IEEE1516-2025") => Ok(Edition::Of2025),
        Some(space) => Err(FomError::Edition { namespace: space.to_owned() }),
    }
}

fn name_of(element: &Element, kind: &'static str, place: &str) -> Result<String, FomError> {
    let name =
        element.text_of("name").ok_or_else(|| FomError::Nameless { element: kind, place: place.to_owned() });
    name.map(str::to_owned)
}

fn properties(element: &Element) -> Properties {
    let text = |name: &str| element.text_of(name).map(str::to_owned);
    let dimensions = element.child("dimensions").map(|list| {
        let names =
            list.all("dimension").map(|dimension| dimension.text_of("name").unwrap_or(&dimension.text));
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>()
    });
    Properties {
        data_type: text("dataType"),
        transportation: text("transportation"),
        order: text("order"),
        sharing: text("sharing"),
        dimensions: dimensions.filter(|names| !names.is_empty()),
    }
}

/// What the elements of one kind of class are called.
struct Words {
    class: &'static str,
    member: &'static str,
    root: &'static str,
}

const OBJECTS: Words = Words { class: "objectClass", member: "attribute", root: OBJECT_ROOT };
const INTERACTIONS: Words = Words { class: "interactionClass", member: "parameter", root: INTERACTION_ROOT };

fn read_class(
    element: &Element,
    parent: &str,
    words: &Words,
    (rows, uses): (&mut Vec<ClassRow>, &mut Vec<DataTypeUse>),
) -> Result<(), FomError> {
    let unqualified =
        name_of(element, words.class, if parent.is_empty() { "the table of classes" } else { parent })?;
    let name = match parent {
        "" if unqualified == words.root => unqualified,
        "" => return Err(FomError::RootClass { found: unqualified, wanted: words.root }),
        parent => format!("{parent}.{unqualified}"),
    };
    if rows.iter().any(|row| row.name == name) {
        return Err(FomError::Twice { name, place: "the module".to_owned() });
    }
    let mut members: Vec<MemberRow> = Vec::new();
    for member in element.all(words.member) {
        let row = MemberRow { name: name_of(member, words.member, &name)?, properties: properties(member) };
        if members.iter().any(|known| known.name == row.name) {
            return Err(FomError::Twice { name: row.name, place: name });
        }
        if let Some(data_type) = &row.properties.data_type {
            let (place, data_type) = (format!("{name}.{}", row.name), data_type.clone());
            uses.push(DataTypeUse { line: member.line, place, name: data_type });
        }
        members.push(row);
    }
    let directed = element.all("directedInteraction").map(|one| one.text_of("name").unwrap_or(&one.text));
    let directed = directed.filter(|name| !name.is_empty()).map(full_interaction_name).collect();
    rows.push(ClassRow { name: name.clone(), properties: properties(element), members, directed });
    element.all(words.class).try_for_each(|below| read_class(below, &name, words, (rows, uses)))
}

/// The name from the root on; modules and callers may leave out the root.
pub fn full_interaction_name(name: &str) -> String {
    full_name(name, INTERACTION_ROOT)
}

/// The same below another root.
pub fn full_name(name: &str, root: &str) -> String {
    let is_full = name.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if is_full { name.to_owned() } else { format!("{root}.{name}") }
}

fn classes(
    root: &Element,
    table: &str,
    words: &Words,
    uses: &mut Vec<DataTypeUse>,
) -> Result<Vec<ClassRow>, FomError> {
    let mut rows = Vec::new();
    for element in root.all(table).flat_map(|table| table.all(words.class)) {
        read_class(element, "", words, (&mut rows, uses))?;
    }
    Ok(rows)
}

fn dimensions(root: &Element) -> Result<Vec<(String, Option<u32>)>, FomError> {
    let mut rows: Vec<(String, Option<u32>)> = Vec::new();
    for element in root.all("dimensions").flat_map(|table| table.all("dimension")) {
        let name = name_of(element, "dimension", "the table of dimensions")?;
        let bound = element.text_of("upperBound").map(|text| {
            text.parse()
                .map_err(|_| FomError::Number { place: format!("dimension {name}"), found: text.to_owned() })
        });
        rows.push((name, bound.transpose()?));
    }
    Ok(rows)
}

impl Module {
    /// Reads a module.
    pub fn read(text: &str) -> Result<Self, FomError> {
        let root = xml::read(text.trim_start_matches('\u{feff}'))?;
        if root.name != "objectModel" {
            return Err(FomError::Root { root: root.name });
        }
        let named = |table: &'static str, row: &'static str, value: &'static str| {
            let rows = root.all(table).flat_map(move |table| table.all(row));
            rows.map(move |element| {
                let name = name_of(element, row, table)?;
                Ok((name, element.text_of(value).unwrap_or_default().to_owned()))
            })
        };
        let transportations = named("transportations", "transportation", "reliable");
        let switches = root.all("switches").flat_map(|table| &table.children).filter_map(|switch| {
            let value = ["isEnabled", "resignAction"].iter().find_map(|name| switch.attribute(name))?;
            Some((switch.name.clone(), value.to_owned()))
        });
        let mut uses = data_type::uses(&root);
        Ok(Self {
            edition: edition(&root)?,
            objects: classes(&root, "objects", &OBJECTS, &mut uses)?,
            interactions: classes(&root, "interactions", &INTERACTIONS, &mut uses)?,
            dimensions: dimensions(&root)?,
            transportations: transportations
                .map(|row| row.map(|(name, _)| name))
                .collect::<Result<_, _>>()?,
            update_rates: named("updateRates", "updateRate", "rate").collect::<Result<_, _>>()?,
            switches: switches.collect(),
            data_types: data_type::data_types(&root)?,
            uses,
        })
    }
}
