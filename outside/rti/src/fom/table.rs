//! Classes of one kind with their attributes or parameters: by name, by handle, and who inherits from whom.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{Properties, full_name};

/// A class of objects or of interactions.
#[derive(Clone, Debug)]
pub struct Class {
    /// From the root on, with dots.
    pub name: String,
    /// None of the root class.
    pub parent: Option<u32>,
    /// The handles of attributes or parameters, without what is inherited.
    pub own: Vec<u32>,
    /// Handles of the interaction classes that may be sent to instances, by the modules.
    pub directed: BTreeSet<u32>,
    pub(super) properties: Properties,
}

/// An attribute or a parameter.
#[derive(Clone, Debug)]
pub struct Member {
    /// Without the class.
    pub name: String,
    pub(super) properties: Properties,
}

impl Member {
    /// The dimensions that the modules give it, by name.
    pub fn dimensions(&self) -> impl Iterator<Item = &str> {
        self.properties.dimensions.iter().flatten().map(String::as_str)
    }

    /// The transportation type that the modules give it.
    pub fn transportation(&self) -> &str {
        self.properties.transportation()
    }

    /// Whether the modules give it timestamp order.
    pub fn is_timestamped(&self) -> bool {
        self.properties.is_timestamped()
    }
}

impl Class {
    /// The dimensions that the modules give it, by name; only interactions have some.
    pub fn dimensions(&self) -> impl Iterator<Item = &str> {
        self.properties.dimensions.iter().flatten().map(String::as_str)
    }

    /// The transportation type that the modules give it; only interactions have one.
    pub fn transportation(&self) -> &str {
        self.properties.transportation()
    }

    /// Whether the modules give it timestamp order; only interactions have one.
    pub fn is_timestamped(&self) -> bool {
        self.properties.is_timestamped()
    }
}

impl Properties {
    fn transportation(&self) -> &str {
        self.transportation.as_deref().unwrap_or("HLAreliable")
    }

    fn is_timestamped(&self) -> bool {
        self.order.as_deref().is_some_and(|order| order.eq_ignore_ascii_case("TimeStamp"))
    }
}

/// All classes of one kind.
#[derive(Clone, Debug)]
pub struct ClassTable {
    root: &'static str,
    /// By handle less one. A parent stands before its children.
    pub(super) classes: Vec<Class>,
    by_name: BTreeMap<String, u32>,
    /// By handle less one.
    pub(super) members: Vec<Member>,
}

impl ClassTable {
    pub(super) fn new(root: &'static str) -> Self {
        Self { root, classes: Vec::new(), by_name: BTreeMap::new(), members: Vec::new() }
    }

    /// The class of this name, with or without the root.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).or_else(|| self.by_name.get(&full_name(name, self.root))).copied()
    }

    /// The class with this handle.
    pub fn class(&self, handle: u32) -> Option<&Class> {
        self.classes.get(handle.checked_sub(1)? as usize)
    }

    /// The attribute or parameter with this handle.
    pub fn member(&self, handle: u32) -> Option<&Member> {
        self.members.get(handle.checked_sub(1)? as usize)
    }

    /// The class and all that it inherits from, itself first. Empty if there is no such class.
    pub fn lineage(&self, class: u32) -> impl Iterator<Item = u32> {
        let first = self.class(class).map(|_| class);
        std::iter::successors(first, |class| self.class(*class).and_then(|class| class.parent))
    }

    /// Whether `class` is `ancestor` or inherits from it.
    pub fn is_a(&self, class: u32, ancestor: u32) -> bool {
        self.lineage(class).any(|above| above == ancestor)
    }

    /// The handles of all attributes or parameters, the inherited ones too.
    pub fn all_members(&self, class: u32) -> impl Iterator<Item = u32> {
        self.lineage(class).filter_map(|class| self.class(class)).flat_map(|class| class.own.iter().copied())
    }

    /// The attribute or parameter of this name, which may be inherited.
    pub fn member_of(&self, class: u32, name: &str) -> Option<u32> {
        let mut members = self.all_members(class);
        members.find(|member| self.member(*member).is_some_and(|member| member.name == name))
    }

    /// Whether the class has this attribute or parameter, or inherits it.
    pub fn has_member(&self, class: u32, member: u32) -> bool {
        self.all_members(class).any(|known| known == member)
    }

    /// Adds a class, whose parent is there.
    pub(super) fn add_class(&mut self, name: &str) -> u32 {
        let parent = name.rsplit_once('.').and_then(|(parent, _)| self.by_name.get(parent).copied());
        let (own, directed, properties) = (Vec::new(), BTreeSet::new(), Properties::default());
        self.classes.push(Class { name: name.to_owned(), parent, own, directed, properties });
        let handle = self.classes.len() as u32;
        self.by_name.insert(name.to_owned(), handle);
        handle
    }

    /// Adds an attribute or parameter to a class that is there.
    pub(super) fn add_member(&mut self, class: u32, member: Member) {
        self.members.push(member);
        let handle = self.members.len() as u32;
        self.classes[class as usize - 1].own.push(handle);
    }
}
