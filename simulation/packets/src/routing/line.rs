//! Routes of a line, computed from numbers of nodes.

/// Hosts, then switches. Ports of a switch: its host, the switch before it, the one after it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub hosts: u32,
}

impl Line {
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32) -> u32 {
        if node < self.hosts {
            return 0;
        }
        let place = node - self.hosts;
        match to.cmp(&place) {
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Less => 1,
            // The first switch has none before it.
            std::cmp::Ordering::Greater => 1 + u32::from(place > 0),
        }
    }
}
