//! Tori: hosts on a wrap-around grid with any number of dimensions, each linked to its neighbours in every
//! dimension.
//!
//! A route takes one dimension after the other, in each the shorter direction. If there are limiters, every
//! host on the way adds its limiter before its link, the last host at the end. Invariant: hosts are ranks
//! from 0 on, the first dimension varying fastest.

use crate::ids::LinkId;

#[derive(Clone, Debug)]
pub(crate) struct Torus {
    pub dimensions: Vec<u32>,
    /// For each host and dimension the links to the next host and back; both are the same link unless links
    /// are split.
    pub next: Vec<Vec<(LinkId, LinkId)>>,
    pub loopbacks: Vec<LinkId>,
    pub limiters: Vec<LinkId>,
}

impl Torus {
    pub(crate) fn append(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if let (true, Some(loopback)) = (from == to, self.loopbacks.get(to as usize)) {
            return links.push(*loopback);
        }
        let (mut current, mut stride) = (from, 1);
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let place = |host: u32| host / stride % size;
            let (start, goal) = (place(from), place(to));
            // Upwards without wrapping around, or upwards with it.
            let up = (goal > start && goal <= start + size / 2)
                || (start > size / 2 && (start + size / 2) % size >= goal);
            while place(current) != goal {
                links.extend(self.limiters.get(current as usize));
                if up {
                    links.push(self.next[current as usize][dimension].0);
                    current = next(current, place(current), stride, size);
                } else {
                    let at = place(current);
                    current = if at == 0 { current + (size - 1) * stride } else { current - stride };
                    links.push(self.next[current as usize][dimension].1);
                }
            }
            stride *= size;
        }
        links.extend(self.limiters.get(to as usize));
    }
}

/// The next host in a dimension, in which this host has place `at`.
pub(crate) fn next(host: u32, at: u32, stride: u32, size: u32) -> u32 {
    if at == size - 1 { host - (size - 1) * stride } else { host + stride }
}
