//! Dragonflies: groups of chassis of routers, with some hosts on each router.
//!
//! All routers of a chassis are linked to each other (green), and so are the routers at the same place in all
//! chassis of a group (black). Every two groups are joined by one link (blue), at the router whose number in
//! its group is the other group's number. Routes are minimal: green to the router with the blue link, black
//! to the first chassis, blue, green, black. Invariants: there are at most as many groups as routers in a
//! chassis; hosts are ranks from 0 on, those of one router consecutive.

use crate::ids::LinkId;

/// The number of parts at each level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Chassis in a group.
    pub chassis: u32,
    /// Routers in a chassis.
    pub routers: u32,
    /// Hosts on a router.
    pub hosts: u32,
}

/// The outgoing links of a router, by the number of the router or chassis at the other end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    /// To the hosts: from the host, and to the host.
    pub hosts: Vec<(LinkId, LinkId)>,
    pub green: Vec<Option<LinkId>>,
    pub black: Vec<Option<LinkId>>,
    pub blue: Option<LinkId>,
    pub limiter: Option<LinkId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Dragonfly {
    pub shape: Shape,
    /// By group, chassis and place in the chassis.
    pub routers: Vec<Router>,
    pub loopbacks: Vec<LinkId>,
    /// The limiters of the hosts.
    pub limiters: Vec<LinkId>,
}

/// A router's group, chassis and place in the chassis.
type Place = (u32, u32, u32);

impl Dragonfly {
    fn router(&self, (group, chassis, router): Place) -> &Router {
        &self.routers[((group * self.shape.chassis + chassis) * self.shape.routers + router) as usize]
    }

    /// The place of a host's router, and the host's number on that router.
    fn place(&self, host: u32) -> (Place, usize) {
        let Shape { chassis, routers, hosts, .. } = self.shape;
        let router = host / hosts;
        ((router / routers / chassis, router / routers % chassis, router % routers), (host % hosts) as usize)
    }

    pub(crate) fn append(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if let (true, Some(loopback)) = (from == to, self.loopbacks.get(to as usize)) {
            return links.push(*loopback);
        }
        let ((source, port), (goal, last)) = (self.place(from), self.place(to));
        links.extend(self.limiters.get(from as usize));
        links.push(self.router(source).hosts[port].0);
        let mut at = source;
        if at.0 != goal.0 {
            // The blue link is at the router in the first chassis whose place is the other group's number.
            if at.2 != goal.0 {
                links.extend(self.router(at).limiter);
                links.extend(self.router(at).green[goal.0 as usize]);
                at.2 = goal.0;
            }
            if at.1 != 0 {
                links.extend(self.router(at).limiter);
                links.extend(self.router(at).black[0]);
                at.1 = 0;
            }
            links.extend(self.router(at).blue);
            links.extend(self.router(at).limiter);
            at = (goal.0, 0, source.0);
        }
        if at.2 != goal.2 {
            links.extend(self.router(at).limiter);
            links.extend(self.router(at).green[goal.2 as usize]);
            // As in SimGrid 3.32, the route continues from the first chassis in any case, so that results
            // agree with SimGrid's.
            (at.1, at.2) = (0, goal.2);
        }
        if at.1 != goal.1 {
            links.extend(self.router(at).limiter);
            links.extend(self.router(at).black[goal.1 as usize]);
        }
        links.extend(self.router(goal).limiter);
        links.push(self.router(goal).hosts[last].1);
        links.extend(self.limiters.get(to as usize));
    }
}
