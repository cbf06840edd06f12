//! How a module is merged into those that are there, by the rules of its own edition (IEEE 1516.2, annex on
//! merging).
//!
//! A class that exists may be named again without anything, to say where a new one belongs. A module of 2010
//! that says more repeats all attributes or parameters; one of 2025 may repeat some, and add others. Nothing
//! that is repeated may differ.

use std::collections::BTreeSet;

use super::check_types::merge_types;
use super::module::{ClassRow, Edition, MemberRow, Properties};
use super::table::{ClassTable, Member};
use super::{Fom, FomError, Module};

fn texts(names: &BTreeSet<String>) -> String {
    if names.is_empty() { "none".to_owned() } else { names.iter().cloned().collect::<Vec<_>>().join(", ") }
}

/// Takes into `known` what `row` says more, if they do not differ. Where a class may be published is not
/// compared, as modules that extend others seldom repeat it.
fn join(name: &str, known: &mut Properties, row: &Properties) -> Result<(), FomError> {
    let one = |property, known: &mut Option<String>, found: &Option<String>| match (&*known, found) {
        (Some(known), Some(found)) if !known.eq_ignore_ascii_case(found) => {
            let (found, known) = (found.clone(), known.clone());
            Err(FomError::Differs { name: name.to_owned(), property, found, known })
        }
        (None, Some(_)) => {
            known.clone_from(found);
            Ok(())
        }
        _ => Ok(()),
    };
    one("the data type", &mut known.data_type, &row.data_type)?;
    one("the transportation", &mut known.transportation, &row.transportation)?;
    one("the order", &mut known.order, &row.order)?;
    known.sharing = known.sharing.take().or_else(|| row.sharing.clone());
    match (&known.dimensions, &row.dimensions) {
        (Some(known), Some(found)) if known != found => {
            let (name, property) = (name.to_owned(), "the dimensions");
            Err(FomError::Differs { name, property, found: texts(found), known: texts(known) })
        }
        (None, Some(found)) => {
            known.dimensions = Some(found.clone());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// In a module of 2010 a class that exists has all members that it had, or none.
fn check_whole(table: &ClassTable, class: u32, row: &ClassRow) -> Result<(), FomError> {
    let entry = &table.classes[class as usize - 1];
    let names = entry.own.iter().filter_map(|member| table.member(*member)).map(|member| member.name.clone());
    let known: BTreeSet<String> = names.collect();
    let found: BTreeSet<String> = row.members.iter().map(|member| member.name.clone()).collect();
    // The standard's own classes have attributes in 2025 that those of 2010 do not have.
    let is_standard = ["HLAobjectRoot", "HLAinteractionRoot"]
        .iter()
        .any(|root| entry.name.strip_prefix(root).is_some_and(|name| name.starts_with(".HLAmanager.")));
    let is_older = is_standard && found.is_subset(&known);
    if found.is_empty() || known == found || is_older {
        return Ok(());
    }
    Err(FomError::Members { class: row.name.clone(), known: texts(&known), found: texts(&found) })
}

fn merge_member(table: &mut ClassTable, class: u32, row: &MemberRow) -> Result<(), FomError> {
    let name = format!("{}.{}", table.classes[class as usize - 1].name, row.name);
    let members = table.classes[class as usize - 1].own.clone();
    let known = members.into_iter().find(|member| table.members[*member as usize - 1].name == row.name);
    if let Some(known) = known {
        return join(&name, &mut table.members[known as usize - 1].properties, &row.properties);
    }
    let has = |class: &u32| {
        let members = &table.classes[*class as usize - 1].own;
        members.iter().any(|member| table.members[*member as usize - 1].name == row.name)
    };
    if let Some(ancestor) = table.lineage(class).skip(1).find(has) {
        let [class, ancestor] = [class, ancestor].map(|class| table.classes[class as usize - 1].name.clone());
        return Err(FomError::Inherited { member: row.name.clone(), class, ancestor });
    }
    table.add_member(class, Member { name: row.name.clone(), properties: row.properties.clone() });
    Ok(())
}

fn merge_classes(table: &mut ClassTable, rows: &[ClassRow], edition: Edition) -> Result<(), FomError> {
    for row in rows {
        let class = match table.find(&row.name) {
            Some(class) if edition == Edition::Of2010 => check_whole(table, class, row).map(|()| class)?,
            Some(class) => class,
            None => table.add_class(&row.name),
        };
        join(&row.name, &mut table.classes[class as usize - 1].properties, &row.properties)?;
        row.members.iter().try_for_each(|member| merge_member(table, class, member))?;
    }
    Ok(())
}

impl Fom {
    /// Merges a module. If it is refused nothing has changed.
    pub fn merge(&mut self, module: &Module) -> Result<(), FomError> {
        self.merge_all([module]).map_err(|(_, error)| error)
    }

    /// Merges modules; each may name what another one defines. If one is refused, nothing has changed; the
    /// error comes with its place among them.
    ///
    /// They are merged one after the other, but for one that has to come before others: client libraries send
    /// a set of modules in any order.
    pub fn merge_all<'a>(
        &mut self,
        modules: impl IntoIterator<Item = &'a Module>,
    ) -> Result<(), (usize, FomError)> {
        let modules: Vec<&Module> = modules.into_iter().collect();
        let mut order: Vec<usize> = (0..modules.len()).collect();
        let mut merged = self.take_in_all(&modules, &order);
        let first_error = merged.as_ref().err().cloned();
        // Each module is moved once at most: which of them come first is settled one by one.
        for _ in 1..modules.len() {
            let Err((place, FomError::Members { .. })) = &merged else { break };
            let place = *place;
            order.retain(|other| *other != place);
            order.insert(0, place);
            merged = self.take_in_all(&modules, &order);
        }
        // If no order fits the error is that of the order in which they came.
        let mut merged = merged.map_err(|error| first_error.unwrap_or(error))?;
        for (place, module) in modules.iter().enumerate() {
            merged
                .direct(module)
                .and_then(|()| merged.check_names(module))
                .map_err(|error| (place, error))?;
        }
        let finite = merged.finite_types();
        for (place, module) in modules.into_iter().enumerate() {
            merged.check_types(module, &finite).map_err(|error| (place, error))?;
        }
        *self = merged;
        Ok(())
    }

    fn take_in_all(&self, modules: &[&Module], order: &[usize]) -> Result<Self, (usize, FomError)> {
        let mut merged = self.clone();
        for place in order {
            merged.take_in(modules[*place]).map_err(|error| (*place, error))?;
        }
        Ok(merged)
    }

    fn take_in(&mut self, module: &Module) -> Result<(), FomError> {
        for (name, bound) in &module.dimensions {
            let known = self.dimensions.iter_mut().find(|(known, _)| known == name);
            match known {
                Some((_, known)) => match (*known, bound) {
                    (Some(known), Some(found)) if known != *found => {
                        let (found, known) = (found.to_string(), known.to_string());
                        let name = format!("dimension {name}");
                        return Err(FomError::Differs { name, property: "the upper bound", found, known });
                    }
                    (None, Some(_)) => *known = *bound,
                    _ => {}
                },
                None => self.dimensions.push((name.clone(), *bound)),
            }
        }
        merge_types(&mut self.data_types, module)?;
        for name in &module.transportations {
            if self.transportation(name).is_none() {
                self.transportations.push(name.clone());
            }
        }
        merge_classes(&mut self.interactions, &module.interactions, module.edition)?;
        merge_classes(&mut self.objects, &module.objects, module.edition)?;
        for (name, rate) in &module.update_rates {
            let known = self.update_rates.entry(name.clone()).or_insert_with(|| rate.clone());
            if known != rate {
                let (found, known, name) = (rate.clone(), known.clone(), format!("update rate {name}"));
                return Err(FomError::Differs { name, property: "the value", found, known });
            }
        }
        for (name, value) in &module.switches {
            self.switches.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Ok(())
    }

    /// Takes in the interaction classes that may be sent to instances of a class.
    fn direct(&mut self, module: &Module) -> Result<(), FomError> {
        let named = module.objects.iter().flat_map(|row| row.directed.iter().map(move |name| (row, name)));
        for (row, name) in named {
            let Some(class) = self.objects.find(&row.name) else { continue };
            let interaction = self.interactions.find(name).ok_or_else(|| {
                let (place, name) = (row.name.clone(), name.clone());
                FomError::Undefined { place, kind: "interaction class", name }
            })?;
            self.objects.classes[class as usize - 1].directed.insert(interaction);
        }
        Ok(())
    }

    /// What a module names it defines, or an earlier one does.
    fn check_names(&self, module: &Module) -> Result<(), FomError> {
        let rows = module.objects.iter().chain(&module.interactions);
        let members = rows.clone().flat_map(|class| {
            class.members.iter().map(move |row| (format!("{}.{}", class.name, row.name), &row.properties))
        });
        for (place, properties) in rows.map(|class| (class.name.clone(), &class.properties)).chain(members) {
            let transportation = properties.transportation.as_ref();
            if let Some(name) = transportation.filter(|name| self.transportation(name).is_none()) {
                return Err(FomError::Undefined { place, kind: "transportation", name: name.clone() });
            }
            let mut names = properties.dimensions.iter().flatten();
            if let Some(name) = names.find(|name| self.dimension(name).is_none() && *name != "NA") {
                return Err(FomError::Undefined { place, kind: "dimension", name: name.clone() });
            }
        }
        Ok(())
    }
}
