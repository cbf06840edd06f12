//! Disks, and the storage elements of older files: kept with their hosts.
//!
//! A type, a storage and what mounts it may stand in any order: they are joined when all hosts are known.
//! Invariant: a storage has a type and is attached to a host; what is mounted exists.

use std::collections::BTreeMap;

use super::build::Builder;
use super::parts::{Stores, properties};
use super::units;
use super::xml::{Attribute, Element};
use crate::error::TextError;
use crate::ids::{HostId, Properties};
use crate::storage::{Disk, Storage};

impl<'t> Builder<'t, '_> {
    /// Records a `<storage_type>` or `<storage>`.
    pub fn storage_element(&mut self, element: &'t Element) -> Result<(), TextError> {
        if element.name == "storage" {
            self.storage.stores.push(element);
            return Ok(());
        }
        let id = element.id()?;
        if self.storage.kinds.insert(&id.value, element).is_some() {
            let problem = format!("a second type of storage with the name `{}`", id.value);
            return Err(id.refuse(problem, "names that no other type has"));
        }
        Ok(())
    }

    /// Records what a host mounts.
    pub fn mounts(&mut self, host: &'t Element, id: HostId) -> Result<(), TextError> {
        let mounts = host.children.iter().filter(|child| child.name == "mount");
        self.storage.mounts.extend(mounts.map(|mount| (mount, id)));
        Ok(())
    }

    /// The disks of a host.
    pub fn disks(&self, host: &Element) -> Result<Vec<Disk>, TextError> {
        let disk = |element: &Element| {
            Ok(Disk {
                name: element.get("id").map_or_else(|| "/".to_owned(), |id| id.value.clone()),
                read: units::bandwidth(element.need("read_bw")?)?,
                write: units::bandwidth(element.need("write_bw")?)?,
                properties: properties(element)?,
            })
        };
        host.children.iter().filter(|child| child.name == "disk").map(disk).collect()
    }

    /// Joins the storage elements.
    pub fn stores(&mut self) -> Result<(), TextError> {
        let Stores { kinds, stores, mounts } = std::mem::take(&mut self.storage);
        let mut places = BTreeMap::new();
        for element in stores {
            let id = element.id()?;
            let kind = element.need("typeId")?;
            let kind_of = kinds.get(kind.value.as_str()).ok_or_else(|| missing(kind, "type of storage"))?;
            let attach = element.need("attach")?;
            let host = self.platform.host(&attach.value).ok_or_else(|| missing(attach, "host"))?;
            let content = [element, *kind_of].into_iter().find_map(|element| element.get("content"));
            if places.insert(id.value.as_str(), self.platform.storages.len()).is_some() {
                let problem = format!("a second storage with the name `{}`", id.value);
                return Err(id.refuse(problem, "names that no other storage has"));
            }
            self.platform.storages.push(Storage {
                name: id.value.clone(),
                kind: kind.value.clone(),
                host,
                size: units::size(kind_of.need("size")?)?,
                content: content.map_or_else(String::new, |content| content.value.clone()),
                mounts: Vec::new(),
                properties: properties(element)?,
                kind_properties: kind_properties(kind_of)?,
            });
        }
        for (mount, host) in mounts {
            let id = mount.need("storageId")?;
            let place = places.get(id.value.as_str()).ok_or_else(|| missing(id, "storage"))?;
            let mounts = &mut self.platform.storages[*place].mounts;
            mounts.push((host, mount.need("name")?.value.clone()));
        }
        Ok(())
    }
}

fn kind_properties(kind: &Element) -> Result<Properties, TextError> {
    let mut all = properties(kind)?;
    for child in kind.children.iter().filter(|child| child.name == "model_prop") {
        let value = child.need("value")?.value.clone();
        all.entry(child.id()?.value.clone()).or_insert(value);
    }
    Ok(all)
}

fn missing(name: &Attribute, what: &str) -> TextError {
    name.refuse(format!("there is no {what} `{}`", name.value), format!("the name of a {what}"))
}
