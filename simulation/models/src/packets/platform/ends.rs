//! What links join, from the routes that lead over them.
//!
//! A route says which links follow each other, hence that these have an end in common. A link has two ends:
//! what stands before it and what stands behind it in a route are at different ones. From all routes together
//! follows which neighbours are at the same end. A link for which that cannot be, or which routes pass in
//! ways that do not depend on each other, is a medium: it has an end for each neighbour.
//!
//! Invariant: nothing depends on the order of routes but the numbers of places that are no hosts.

use std::collections::{BTreeMap, BTreeSet};

/// What a link joins: places, those below the number of hosts are hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// No route leads over it.
    None,
    /// It joins these two, in either direction.
    Two(usize, usize),
    /// More, or it does not follow which of them are one.
    Medium(BTreeSet<usize>),
}

/// Routes that are being taken together.
#[derive(Debug)]
pub struct Routes {
    /// By junction: one that is the same place, itself if it stands for the place.
    parents: Vec<usize>,
    /// The junctions of two links, by their numbers in ascending order.
    junctions: BTreeMap<(usize, usize), usize>,
    /// By link: the junctions before and behind it in routes, in ascending order.
    passed: Vec<BTreeSet<(usize, usize)>>,
}

impl Routes {
    /// No routes yet between so many hosts, over so many links.
    pub fn new(hosts: usize, links: usize) -> Self {
        Self {
            parents: (0..hosts).collect(),
            junctions: BTreeMap::new(),
            passed: vec![BTreeSet::new(); links],
        }
    }

    /// Adds a route from one host to another. No link follows itself.
    pub fn add(&mut self, from: usize, to: usize, links: &[usize]) {
        let mut before = from;
        for (place, &link) in links.iter().enumerate() {
            let behind = links.get(place + 1).map_or(to, |next| self.junction(link, *next));
            self.passed[link].insert((before.min(behind), before.max(behind)));
            before = behind;
        }
    }

    fn junction(&mut self, one: usize, other: usize) -> usize {
        let fresh = self.parents.len();
        let junction = *self.junctions.entry((one.min(other), one.max(other))).or_insert(fresh);
        if junction == fresh {
            self.parents.push(fresh);
        }
        junction
    }

    /// The place of a junction.
    fn place(&self, mut junction: usize) -> usize {
        while self.parents[junction] != junction {
            junction = self.parents[junction];
        }
        junction
    }

    /// The ends of all links, and whether a host is also where routes of others change links.
    pub fn ends(mut self, hosts: usize) -> (Vec<Ends>, BTreeSet<usize>) {
        let mut is_medium = vec![false; self.passed.len()];
        // Each round makes places fewer, so that it ends.
        while self.join(&mut is_medium) {}
        let of_link = |link: usize| {
            let passed = &self.passed[link];
            let places = passed.iter().flat_map(|&(one, other)| [self.place(one), self.place(other)]);
            let places: BTreeSet<usize> = places.collect();
            match (places.len(), places.first(), places.last()) {
                (2, Some(one), Some(other)) if !is_medium[link] => Ends::Two(*one, *other),
                (0, ..) => Ends::None,
                _ => Ends::Medium(places),
            }
        };
        let ends = (0..self.passed.len()).map(of_link).collect();
        let crossed = (hosts..self.parents.len()).map(|junction| self.place(junction));
        (ends, crossed.filter(|place| *place < hosts).collect())
    }

    /// Joins junctions that are at the same end of a link. True if there were any.
    fn join(&mut self, is_medium: &mut [bool]) -> bool {
        let mut has_joined = false;
        for (link, is_medium) in is_medium.iter_mut().enumerate().filter(|(_, is_medium)| !**is_medium) {
            let passed: BTreeSet<(usize, usize)> =
                self.passed[link].iter().map(|&(one, other)| (self.place(one), self.place(other))).collect();
            let Some(sides) = sides(&passed) else {
                *is_medium = true;
                continue;
            };
            for group in sides {
                // The least stands for the place: a host, where there is one.
                let least = group.first().copied();
                for place in group.iter().skip(1) {
                    self.parents[*place] = least.expect("it has a first");
                    has_joined = true;
                }
            }
        }
        has_joined
    }
}

/// The places at either end of a link, for each part of its routes that hangs together; none if a place would
/// be at both ends.
fn sides(passed: &BTreeSet<(usize, usize)>) -> Option<Vec<BTreeSet<usize>>> {
    let mut opposite: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(one, other) in passed {
        opposite.entry(one).or_default().push(other);
        opposite.entry(other).or_default().push(one);
    }
    let mut side_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut sides = Vec::new();
    for &first in opposite.keys() {
        if side_of.contains_key(&first) {
            continue;
        }
        let start = sides.len();
        sides.extend([BTreeSet::new(), BTreeSet::new()]);
        let mut waiting = vec![(first, start)];
        while let Some((place, side)) = waiting.pop() {
            match side_of.insert(place, side) {
                Some(known) if known != side => return None,
                Some(_) => continue,
                None => sides[side].insert(place),
            };
            // The other one of the two sides of this part.
            let other = start + 1 - (side - start);
            waiting.extend(opposite[&place].iter().map(|next| (*next, other)));
        }
    }
    Some(sides)
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;

    fn ends(hosts: usize, links: usize, routes: &[(usize, usize, &[usize])]) -> Vec<Ends> {
        let mut all = Routes::new(hosts, links);
        routes.iter().for_each(|(from, to, over)| all.add(*from, *to, over));
        all.ends(hosts).0
    }

    #[test]
    fn links_of_a_dumbbell_have_two_ends() {
        // Hosts 0 and 1 at one side of link 4, hosts 2 and 3 at the other.
        let over: Vec<(usize, usize, Vec<usize>)> = (0..4)
            .flat_map(|from| (0..4).filter(move |to| *to != from).map(move |to| (from, to)))
            .map(|(from, to)| {
                let middle = if (from < 2) == (to < 2) { vec![] } else { vec![4] };
                (from, to, [vec![from], middle, vec![to]].concat())
            })
            .collect();
        let routes: Vec<_> = over.iter().map(|(from, to, over)| (*from, *to, over.as_slice())).collect();
        let all = ends(4, 5, &routes);
        let Ends::Two(left, right) = all[4] else { panic!("{all:?}") };
        let expected = [(0, left), (1, left), (2, right), (3, right)].map(|(host, at)| Ends::Two(host, at));
        let swapped = [(0, right), (1, right), (2, left), (3, left)].map(|(host, at)| Ends::Two(host, at));
        assert!(all[..4] == expected || all[..4] == swapped, "{all:?}");
    }

    #[test]
    fn what_all_pass_in_all_directions_is_a_medium() {
        let routes: &[(usize, usize, &[usize])] =
            &[(0, 1, &[0, 3, 1]), (1, 2, &[1, 3, 2]), (2, 0, &[2, 3, 0])];
        let all = ends(3, 5, routes);
        assert!(matches!(&all[3], Ends::Medium(places) if places.len() == 3), "{all:?}");
        assert_eq!(all[4], Ends::None);
    }

    #[test]
    fn routes_through_a_host_are_seen() {
        let mut all = Routes::new(3, 2);
        all.add(0, 1, &[0]);
        all.add(1, 2, &[1]);
        all.add(0, 2, &[0, 1]);
        assert_eq!(all.ends(3).1, BTreeSet::from([1]));
    }

    /// Random trees: the routes give back what the links join, up to the names of inner nodes.
    #[test]
    fn trees_are_found_again() {
        for case in 0..200 {
            let mut rng = Rng::new(case, 0x656e_6473);
            let (hosts, inner) = (2 + rng.below(8) as usize, 1 + rng.below(6) as usize);
            // Link n joins node n and its parent; inner nodes stand behind the hosts, the last is the root.
            let parents: Vec<usize> = (0..hosts + inner - 1)
                .map(|node| (hosts + rng.below(inner as u64) as usize).max(node + 1).min(hosts + inner - 1))
                .collect();
            let up = |mut node: usize| {
                let mut way = vec![node];
                while node < hosts + inner - 1 {
                    node = parents[node];
                    way.push(node);
                }
                way
            };
            let mut all = Routes::new(hosts, parents.len());
            let mut used = BTreeMap::new();
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
                let (one, other) = (up(from), up(to));
                let links = |way: &[usize], beside: &[usize]| -> Vec<usize> {
                    way.iter().copied().filter(|node| !beside.contains(node)).collect()
                };
                let (there, mut back) = (links(&one, &other), links(&other, &one));
                back.reverse();
                if from != to {
                    let over = [there, back].concat();
                    over.iter().for_each(|link| *used.entry(*link).or_insert(0) += 1);
                    all.add(from, to, &over);
                }
            }
            let (ends, crossed) = all.ends(hosts);
            assert!(crossed.is_empty(), "case {case}");
            for (link, ends) in ends.iter().enumerate() {
                let is_used = used.contains_key(&link);
                assert_eq!(matches!(ends, Ends::Two(..)), is_used, "case {case}, link {link}: {ends:?}");
            }
            // Links that share an inner node share a place, and others do not.
            let of = |link: usize| match ends[link] {
                Ends::Two(one, other) => vec![one, other],
                _ => Vec::new(),
            };
            for (one, other) in used.keys().flat_map(|one| used.keys().map(move |other| (*one, *other))) {
                let ends_of = |link: usize| [link, parents[link]];
                let are_joined = ends_of(one).iter().any(|node| ends_of(other).contains(node));
                let share = of(one).iter().any(|place| of(other).contains(place));
                assert_eq!(are_joined, share, "case {case}: links {one} and {other} of {parents:?}");
            }
        }
    }
}
