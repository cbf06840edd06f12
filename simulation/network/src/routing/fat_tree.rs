//! Fat trees: levels of switches above the hosts, with several parents for each node and several cables
//! between two nodes.
//!
//! The shape is that of "parallel ports generalized" fat trees: for each level the number of children and of
//! parents of a node, and of cables between two nodes. A route goes up until the destination is below, and
//! then down. The parent is chosen by the destination's number (D-mod-K), the cable on the way down by the
//! source's number. Invariant: nodes are numbered by level and place; two nodes of neighbouring levels are
//! linked if their labels differ at that level only, or not at all.

use crate::ids::LinkId;

/// The most levels of a tree; the reader refuses more.
const MOST_LEVELS: usize = 32;

/// The digits of a node's number, as many as there are levels.
type Label = [u32; MOST_LEVELS];

/// Children, parents and cables at each level, from below.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub children: Vec<u32>,
    pub parents: Vec<u32>,
    pub cables: Vec<u32>,
}

impl Shape {
    pub(crate) fn levels(&self) -> usize {
        self.children.len()
    }

    /// The number of nodes of a level (hosts are level 0); `None` on overflow.
    pub(crate) fn nodes(&self, level: usize) -> Option<u32> {
        let factors = self.parents[..level].iter().chain(&self.children[level..]);
        factors.copied().try_fold(1u32, u32::checked_mul)
    }

    /// The digits of a node's number, the first varying fastest: parents' numbers up to its level, children's
    /// numbers above.
    fn label(&self, level: usize, mut place: u32) -> Label {
        let size = |at: usize| if at < level { self.parents[at] } else { self.children[at] };
        let mut label = [0; MOST_LEVELS];
        for (at, digit) in label[..self.levels()].iter_mut().enumerate() {
            *digit = place % size(at);
            place /= size(at);
        }
        label
    }

    fn place(&self, level: usize, label: &Label) -> u32 {
        let size = |at: usize| if at < level { self.parents[at] } else { self.children[at] };
        label[..self.levels()].iter().enumerate().rev().fold(0, |place, (at, digit)| place * size(at) + digit)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    pub shape: Shape,
    /// For each level except the highest, each node, and each of its upward ports (parent and cable): the
    /// links up and down.
    pub cables: Vec<Vec<Vec<(LinkId, LinkId)>>>,
    pub loopbacks: Vec<LinkId>,
    /// The limiters by level and place.
    pub limiters: Vec<Vec<LinkId>>,
}

impl FatTree {
    pub(crate) fn append(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if let (true, Some(loopback)) = (from == to, self.loopbacks.get(to as usize)) {
            return links.push(*loopback);
        }
        let shape = &self.shape;
        let (goal, mut label) = (shape.label(0, to), shape.label(0, from));
        let limiter =
            |level: usize, place: u32| self.limiters.get(level).map(|limiters| limiters[place as usize]);
        let (mut level, mut place) = (0, from);
        // A node of level 0 has no node below it, not even itself.
        while level == 0 || label[level..] != goal[level..] {
            let divided = shape.parents[..level].iter().fold(to, |number, parents| number / parents);
            let port = divided % (shape.parents[level] * shape.cables[level]);
            links.extend(limiter(level, place));
            links.push(self.cables[level][place as usize][port as usize].0);
            label[level] = port % shape.parents[level];
            level += 1;
            place = shape.place(level, &label);
        }
        while level > 0 {
            // Take the first port that leads to the goal, starting at the port of the source's cable. As in
            // SimGrid, at lower levels the search continues from that port number, as long as
            // that level has so many ports.
            let mut port = from % shape.cables[level - 1] * shape.children[level - 1];
            while level > 0 && port < shape.children[level - 1] * shape.cables[level - 1] {
                if port % shape.children[level - 1] == goal[level - 1] {
                    let cable = port / shape.children[level - 1];
                    let upwards = label[level - 1] + cable * shape.parents[level - 1];
                    let above = limiter(level, place);
                    label[level - 1] = goal[level - 1];
                    level -= 1;
                    place = shape.place(level, &label);
                    links.push(self.cables[level][place as usize][upwards as usize].1);
                    links.extend(above);
                }
                port += 1;
            }
        }
        links.extend(limiter(0, to));
    }
}
