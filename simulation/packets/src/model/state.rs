//! The state of a node.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::application::ApplicationState;
use crate::host::HostState;
use crate::port::Port;
use crate::switch::Switch;
use crate::web::WebState;

/// What a node remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeState {
    /// The ports of the node, in the order of its links.
    pub ports: Vec<Port>,
    /// What hosts have besides.
    pub host: Option<Box<HostState>>,
    /// What switches with a shared buffer have besides.
    pub switch: Option<Box<Switch>>,
    /// What applications of a host remember, where the model has any.
    pub applications: Option<Box<ApplicationState>>,
    /// What web clients and servers of a host remember that exchange frames with machines.
    pub web: Option<Box<WebState>>,
    /// Packets dropped here since there was no way for them.
    pub without_route: u64,
}

/// Of what a network does not have, nothing is hashed: no shared buffer, no applications, no web clients, no
/// packets without a route. So digests of other networks stay what they were.
impl Hash for NodeState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { ports, host, switch, applications, web, without_route } = self;
        (ports, host).hash(hasher);
        if let Some(switch) = switch {
            switch.hash(hasher);
        }
        if let Some(applications) = applications {
            applications.hash(hasher);
        }
        if let Some(web) = web {
            web.hash(hasher);
        }
        if *without_route > 0 {
            without_route.hash(hasher);
        }
    }
}
