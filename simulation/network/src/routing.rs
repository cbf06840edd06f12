//! How a zone finds the way from one of its members to another: by a table, by search, or by its shape.
//!
//! The rules are those of SimGrid 3.32; among several shortest ways the choice is SimGrid's too. Routes
//! through several zones are put together in `route`.

mod dragonfly;
mod fat_tree;
mod shortest;
mod star;
mod torus;
mod vivaldi;

use std::collections::BTreeMap;

pub(crate) use dragonfly::{Dragonfly, Router, Shape as DragonflyShape};
pub(crate) use fat_tree::{FatTree, Shape as FatTreeShape};
pub(crate) use shortest::{Floyd, Graph, MOST_FLOYD, MOST_FLOYD_PAIRS};
pub(crate) use star::{Spoke, Star};
pub(crate) use torus::{Torus, next as next_in_torus};
pub(crate) use vivaldi::Vivaldi;

use crate::ids::{LinkId, PointId};

/// A way from one member of a zone to another, as given in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Way {
    pub links: Vec<LinkId>,
    /// If the members are zones: the point in the first zone where the way starts, and the point in the last
    /// zone where it ends.
    pub gateways: Option<(PointId, PointId)>,
}

/// How a zone finds ways between its members, which are identified by their ranks.
#[derive(Clone, Debug)]
pub(crate) enum Routing {
    Full(BTreeMap<(u32, u32), Way>),
    Floyd(Floyd),
    Dijkstra(Graph),
    Star(Star),
    Torus(Torus),
    FatTree(FatTree),
    Dragonfly(Dragonfly),
    Vivaldi(Vivaldi),
    /// No ways at all, not even from a member to itself.
    Empty,
}

/// The way that a zone finds between two of its members.
pub(crate) enum Ways<'p> {
    /// Links that follow from the zone's shape, or from the two members alone.
    Shaped(&'p Routing),
    /// A way given by the file.
    One(&'p Way),
    /// Several consecutive ways, at least one.
    Several(Vec<&'p Way>),
    /// From a member to itself, if the file gives no such way.
    Loopback,
}

impl Routing {
    /// Whether the file gives a route from one member to another, for zones that need one for every two
    /// members.
    pub(crate) fn is_given(&self, from: u32, to: u32) -> bool {
        !matches!(self, Self::Full(table) if from != to && !table.contains_key(&(from, to)))
    }

    pub(crate) fn ways(&self, from: u32, to: u32) -> Option<Ways<'_>> {
        match self {
            Self::Full(table) => table.get(&(from, to)).map(Ways::One),
            Self::Floyd(floyd) => floyd.ways(from, to).map(Ways::Several),
            Self::Dijkstra(graph) => graph.ways(from, to).map(Ways::Several),
            Self::Star(_) | Self::Torus(_) | Self::FatTree(_) | Self::Dragonfly(_) => {
                Some(Ways::Shaped(self))
            }
            Self::Vivaldi(vivaldi) => vivaldi.latency(from, to).map(|_| Ways::Shaped(self)),
            Self::Empty => None,
        }
    }

    /// Appends the links from one member to another, for zones whose shape determines them. Returns the
    /// latency in seconds that the route has beside that of its links.
    pub(crate) fn append(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> f64 {
        match self {
            Self::Full(_) | Self::Floyd(_) | Self::Dijkstra(_) | Self::Empty => {}
            Self::Star(star) => star.append(from, to, links),
            Self::Torus(torus) => torus.append(from, to, links),
            Self::FatTree(tree) => tree.append(from, to, links),
            Self::Dragonfly(dragonfly) => dragonfly.append(from, to, links),
            Self::Vivaldi(vivaldi) => {
                vivaldi.star.append(from, to, links);
                return vivaldi.latency(from, to).unwrap_or(0.0);
            }
        }
        0.0
    }
}
