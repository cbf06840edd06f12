//! The federation object model: modules merged into the tables by which classes, attributes, parameters and
//! dimensions have handles.
//!
//! Invariants: handles begin with 1, rise in the order in which modules came, and never change nor name
//! anything else; an attribute has the same handle in all classes that inherit it; a module that is refused
//! changes nothing.

use std::collections::BTreeMap;

mod check_types;
mod data_type;
mod error;
mod merge;
mod module;
mod table;
mod write;
mod xml;

use check_types::DataTypes;
pub use error::FomError;
pub use module::{Edition, INTERACTION_ROOT, Module, OBJECT_ROOT};
pub use table::{Class, ClassTable, Member};

/// The module that every federation has: the roots, the classes of the management object model, and the
/// standard's transportations.
pub const STANDARD_MIM: &str = include_str!("fom/mim.xml");

/// The name by which federates ask for [`STANDARD_MIM`], which is not to be sent.
pub const STANDARD_MIM_NAME: &str = "HLAstandardMIM";

/// All modules of a federation, merged.
///
/// ```
/// use paceline_rti::fom::{Fom, Module, STANDARD_MIM};
///
/// let mut fom = Fom::default();
/// fom.merge(&Module::read(STANDARD_MIM)?)?;
/// fom.merge(&Module::read(
///     r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
///         <name>HLAobjectRoot</name><objectClass>
///             <name>Ship</name><sharing>PublishSubscribe</sharing><attribute><name>Position</name></attribute>
///         </objectClass>
///     </objectClass></objects></objectModel>"#,
/// )?)?;
/// let ship = fom.objects.find("Ship").expect("the root may be left out");
/// assert_eq!(fom.objects.class(ship).map(|class| class.name.as_str()), Some("HLAobjectRoot.Ship"));
/// assert!(fom.objects.member_of(ship, "HLAprivilegeToDeleteObject").is_some(), "attributes are inherited");
/// # Ok::<(), paceline_rti::fom::FomError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fom {
    /// Object classes and their attributes.
    pub objects: ClassTable,
    /// Interaction classes and their parameters.
    pub interactions: ClassTable,
    /// Name and upper bound, by handle less one.
    dimensions: Vec<(String, Option<u32>)>,
    /// By handle less one.
    transportations: Vec<String>,
    update_rates: BTreeMap<String, String>,
    switches: BTreeMap<String, String>,
    data_types: DataTypes,
}

impl Default for Fom {
    fn default() -> Self {
        Self {
            objects: ClassTable::new(OBJECT_ROOT),
            interactions: ClassTable::new(INTERACTION_ROOT),
            dimensions: Vec::new(),
            transportations: Vec::new(),
            update_rates: BTreeMap::new(),
            switches: BTreeMap::new(),
            data_types: DataTypes::new(),
        }
    }
}

fn handle_of<T>(rows: &[T], is_it: impl Fn(&T) -> bool) -> Option<u32> {
    rows.iter().position(is_it).map(|place| place as u32 + 1)
}

fn row<T>(rows: &[T], handle: u32) -> Option<&T> {
    rows.get(handle.checked_sub(1)? as usize)
}

impl Fom {
    /// The dimension of this name.
    pub fn dimension(&self, name: &str) -> Option<u32> {
        handle_of(&self.dimensions, |(known, _)| known == name)
    }

    /// Name and upper bound of a dimension; without a bound all numbers are in it.
    pub fn dimension_row(&self, handle: u32) -> Option<(&str, u32)> {
        row(&self.dimensions, handle).map(|(name, bound)| (name.as_str(), bound.unwrap_or(u32::MAX)))
    }

    /// The transportation type of this name.
    pub fn transportation(&self, name: &str) -> Option<u32> {
        handle_of(&self.transportations, |known| known == name)
    }

    /// The name of a transportation type.
    pub fn transportation_name(&self, handle: u32) -> Option<&str> {
        row(&self.transportations, handle).map(String::as_str)
    }

    /// Updates a second of the rate of this name, as the module has it.
    pub fn update_rate(&self, name: &str) -> Option<&str> {
        self.update_rates.get(name).map(String::as_str)
    }

    /// The value of a switch, as the first module that names it has it.
    pub fn switch(&self, name: &str) -> Option<&str> {
        self.switches.get(name).map(String::as_str)
    }
}
