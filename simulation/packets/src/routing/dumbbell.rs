//! Routes of a dumbbell and of a star, computed from numbers of nodes.

/// Hosts left, hosts right, the two routers. Ports of a router: its hosts, then the other router.
#[derive(Clone, Debug)]
pub(crate) struct Dumbbell {
    pub pairs: u32,
}

impl Dumbbell {
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32) -> u32 {
        let pairs = self.pairs;
        if node < 2 * pairs {
            return 0;
        }
        let (is_left, to_left) = (node == 2 * pairs, to < pairs);
        if is_left != to_left {
            pairs
        } else if to_left {
            to
        } else {
            to - pairs
        }
    }
}

/// Hosts, then the switch; its ports are its hosts.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    pub hub: u32,
}

impl Star {
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32) -> u32 {
        if node == self.hub { to } else { 0 }
    }
}
