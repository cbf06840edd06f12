//! The links of tori, fat trees and dragonflies, from `topo_parameters`.
//!
//! `TORUS` "3,2,2": the size of each dimension. `FAT_TREE` "2;4,4;1,2;1,2": the number of levels; then for
//! each level, from below, the children of a node, its parents, and the cables between two nodes. `DRAGONFLY`
//! "3,4;4,3;5,1;2": groups and links between two groups; chassis of a group and links; routers of a chassis
//! and links; hosts of a router. Several parallel links of a dragonfly become one link with the sum of their
//! bandwidths; the cables of a fat tree are separate links. Invariant: a cluster has as many hosts as its
//! shape.

use super::build::{Builder, MOST_HOSTS};
use super::cluster::Wires;
use super::xml::Attribute;
use crate::error::TextError;
use crate::ids::LinkId;
use crate::platform::Sharing;
use crate::routing::{Dragonfly, DragonflyShape, FatTree, FatTreeShape, Router, Torus, next_in_torus};

/// The most switches of one cluster, and the largest number in its parameters.
const MOST_SWITCHES: u32 = MOST_HOSTS as u32;
/// The most dimensions or levels: with more, most of them would have size 1.
const MOST_NUMBERS: usize = 32;

fn numbers(shape: &Attribute, part: &str, form: &str) -> Result<Vec<u32>, TextError> {
    let number = |word: &str| word.trim().parse().ok().filter(|number| (1..=MOST_SWITCHES).contains(number));
    let found = part.split(',').map(number).collect::<Option<Vec<u32>>>();
    found.filter(|found| found.len() <= MOST_NUMBERS).ok_or_else(|| wrong(shape, form))
}

fn wrong(shape: &Attribute, form: &str) -> TextError {
    let problem = format!("`topo_parameters` cannot be \"{}\"", shape.value);
    shape.refuse(problem, format!("{form}, all from 1 to {MOST_SWITCHES}, at most {MOST_NUMBERS} in a row"))
}

/// The product of all sizes, if the cluster has that many hosts.
fn fits(shape: &Attribute, sizes: &[u32], hosts: u32) -> Result<(), TextError> {
    let wanted = sizes.iter().try_fold(1u32, |product, size| product.checked_mul(*size));
    if wanted == Some(hosts) {
        return Ok(());
    }
    let wanted = wanted.map_or("more than 4294967295".to_owned(), |wanted| wanted.to_string());
    let problem = format!("a topology of {wanted} hosts in a cluster of {hosts}");
    Err(shape.refuse(problem, "as many hosts as `radical` counts"))
}

impl Builder<'_, '_> {
    pub fn torus(&mut self, shape: &Attribute, hosts: u32, wires: Wires) -> Result<Torus, TextError> {
        let dimensions = numbers(shape, &shape.value, "the sizes of the dimensions, such as 3,2,2")?;
        fits(shape, &dimensions, hosts)?;
        let mut next = Vec::new();
        for host in 0..hosts {
            let (mut links, mut stride) = (Vec::new(), 1);
            for (dimension, &size) in dimensions.iter().enumerate() {
                let to = next_in_torus(host, host / stride % size, stride, size);
                // In dimensions of size 1 or 2 two links may join the same hosts, so the name includes the
                // dimension.
                let name = format!("{}_link_from_{host}_to_{to}_{dimension}", wires.id.value);
                links.push(self.wire(&wires, name, wires.bandwidth)?);
                stride *= size;
            }
            next.push(links);
        }
        Ok(Torus { dimensions, next, loopbacks: wires.loopbacks, limiters: wires.limiters })
    }

    pub fn fat_tree(&mut self, shape: &Attribute, hosts: u32, wires: Wires) -> Result<FatTree, TextError> {
        let form = "LEVELS;CHILDREN,...;PARENTS,...;CABLES,..., such as 2;4,4;1,2;1,2";
        let parts: Vec<&str> = shape.value.split(';').collect();
        let [levels, children, parents, cables] = parts[..] else { return Err(wrong(shape, form)) };
        let levels = numbers(shape, levels, form)?;
        let [children, parents, cables] = [children, parents, cables].map(|part| numbers(shape, part, form));
        let tree = FatTreeShape { children: children?, parents: parents?, cables: cables? };
        let lengths = [tree.children.len(), tree.parents.len(), tree.cables.len()];
        if levels.len() != 1 || lengths.iter().any(|length| *length != levels[0] as usize) {
            return Err(wrong(shape, form));
        }
        fits(shape, &tree.children, hosts)?;
        let nodes: Option<Vec<u32>> = (0..=tree.levels()).map(|level| tree.nodes(level)).collect();
        let nodes = nodes.filter(|nodes| nodes.iter().all(|nodes| *nodes <= MOST_SWITCHES));
        let Some(nodes) = nodes else {
            let problem = "a fat tree with too many switches";
            return Err(shape.refuse(problem, format!("at most {MOST_SWITCHES} at each level")));
        };
        let mut limiters = Vec::new();
        if let Some(limit) = wires.limit {
            limiters.push(wires.limiters.clone());
            for (level, nodes) in nodes.iter().enumerate().skip(1) {
                limiters.push(self.limiters(&wires, &format!("switch_{level}"), *nodes, limit)?);
            }
        }
        let mut links = Vec::new();
        for (level, nodes) in nodes[..tree.levels()].iter().enumerate() {
            let mut ports_of_all = Vec::new();
            for node in 0..*nodes {
                let ports = u64::from(tree.parents[level]) * u64::from(tree.cables[level]);
                let mut ports_of_one = Vec::new();
                for port in 0..ports {
                    let name = format!("{}_link_{level}_{node}_up_{port}_{}", wires.id.value, self.cables);
                    self.cables += 1;
                    ports_of_one.push(self.wire(&wires, name, wires.bandwidth)?);
                }
                ports_of_all.push(ports_of_one);
            }
            links.push(ports_of_all);
        }
        Ok(FatTree { shape: tree, cables: links, loopbacks: wires.loopbacks, limiters })
    }

    pub fn dragonfly(&mut self, shape: &Attribute, hosts: u32, wires: Wires) -> Result<Dragonfly, TextError> {
        let DragonflyCounts { groups, chassis, routers, per_router, cables } =
            dragonfly_counts(shape, hosts)?;
        let dragonfly = DragonflyShape { chassis, routers, hosts: per_router };
        let [blue, black, green] = cables.map(|links| f64::from(links) * wires.bandwidth);
        let number = |group: u32, chassis_of: u32, router: u32| {
            ((group * chassis + chassis_of) * routers + router) as usize
        };
        let mut all = vec![Router::default(); (groups * chassis * routers) as usize];
        for (place, router) in all.iter_mut().enumerate() {
            for host in 0..per_router {
                let name = format!("{}_local_link_from_router_{place}_to_node_{host}", wires.id.value);
                router.hosts.push(self.wire(&wires, name, wires.bandwidth)?);
            }
            router.green = vec![None; routers as usize];
            router.black = vec![None; chassis as usize];
        }
        for (group, one) in (0..groups).flat_map(|group| (0..chassis).map(move |chassis| (group, chassis))) {
            for (near, far) in pairs(routers) {
                let id = &wires.id.value;
                let name = format!(
                    "{id}_green_link_in_group_{group}_chassis_{one}_between_routers_{near}_and_{far}"
                );
                let (there, back) = self.wire(&wires, name, green)?;
                all[number(group, one, near)].green[far as usize] = Some(there);
                all[number(group, one, far)].green[near as usize] = Some(back);
            }
        }
        for (group, router) in (0..groups).flat_map(|group| (0..routers).map(move |router| (group, router))) {
            for (near, far) in pairs(chassis) {
                let id = &wires.id.value;
                let name = format!(
                    "{id}_black_link_in_group_{group}_between_chassis_{near}_and_{far}_blade_{router}"
                );
                let (there, back) = self.wire(&wires, name, black)?;
                all[number(group, near, router)].black[far as usize] = Some(there);
                all[number(group, far, router)].black[near as usize] = Some(back);
            }
        }
        for (near, far) in pairs(groups) {
            let name = format!("{}_blue_link_between_group_{near}_and_{far}", wires.id.value);
            let (there, back) = self.wire(&wires, name, blue)?;
            all[number(near, 0, far)].blue = Some(there);
            all[number(far, 0, near)].blue = Some(back);
        }
        if let Some(limit) = wires.limit {
            let limiters = self.limiters(&wires, "router", all.len() as u32, limit)?;
            for (router, limiter) in all.iter_mut().zip(limiters) {
                router.limiter = Some(limiter);
            }
        }
        Ok(Dragonfly { shape: dragonfly, routers: all, loopbacks: wires.loopbacks, limiters: wires.limiters })
    }

    /// Creates limiters for switches.
    fn limiters(
        &mut self,
        wires: &Wires,
        of: &str,
        number: u32,
        limit: f64,
    ) -> Result<Vec<LinkId>, TextError> {
        let name = |place| format!("{}_{of}_{place}_limiter", wires.id.value);
        let limiter = |place| self.add_link(wires.id, name(place), limit, 0.0, Sharing::Shared);
        (0..number).map(limiter).collect()
    }
}

/// All pairs of numbers below `number`, the lower first.
fn pairs(number: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..number).flat_map(move |near| (near + 1..number).map(move |far| (near, far)))
}

/// How many parts a dragonfly has, level by level.
struct DragonflyCounts {
    groups: u32,
    /// In a group.
    chassis: u32,
    /// In a chassis.
    routers: u32,
    /// Hosts at a router.
    per_router: u32,
    /// The cables of each blue, black and green link.
    cables: [u32; 3],
}

/// Reads "GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;HOSTS", as SimGrid writes the shape of a dragonfly.
fn dragonfly_counts(shape: &Attribute, hosts: u32) -> Result<DragonflyCounts, TextError> {
    let form = "GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;HOSTS, such as 3,4;4,3;5,1;2";
    let parts: Vec<Vec<u32>> =
        shape.value.split(';').map(|part| numbers(shape, part, form)).collect::<Result<_, _>>()?;
    let parts: Vec<&[u32]> = parts.iter().map(Vec::as_slice).collect();
    let [[groups, blue], [chassis, black], [routers, green], [per_router]] = parts[..] else {
        return Err(wrong(shape, form));
    };
    let (&groups, &chassis, &routers, &per_router) = (groups, chassis, routers, per_router);
    // Router n of a group's first chassis has the cable to group n, so each group needs a router of its own
    // there.
    if groups > routers {
        let problem = format!("a dragonfly with {groups} groups and {routers} routers in a chassis");
        let allowed = "at most as many groups as routers in a chassis";
        return Err(shape.refuse(problem, allowed));
    }
    fits(shape, &[groups, chassis, routers, per_router], hosts)?;
    Ok(DragonflyCounts { groups, chassis, routers, per_router, cables: [*blue, *black, *green] })
}
