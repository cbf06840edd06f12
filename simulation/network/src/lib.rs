//! Platforms - hosts, links and the routes between them - and models of how long transfers take on them.
//!
//! [`read`] builds a [`Platform`] from a platform file in SimGrid's XML format ([`decode`] gives the text of
//! its bytes). [`Platform::route`] gives the links that a transfer uses; a [`Network`] computes when
//! transfers end. [`Flows`] is SimGrid's flow-level network model: transfers that share a link share its
//! bandwidth by max-min fairness ([`Solver`]), with the constants of CM02 or LV08 ([`FlowModel`]). A
//! [`Deployment`] lists which actors start on which hosts. [`Constant`] is the smallest network model: every
//! transfer takes the same time.
//!
//! ```
//! use paceline_network::{FlowModel, Flows, Network, read};
//!
//! let text = r#"<platform version="4.1"><zone id="world" routing="Full">
//!     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
//!     <link id="wire" bandwidth="125MBps" latency="100us"/>
//!     <route src="a" dst="b"><link_ctn id="wire"/></route>
//! </zone></platform>"#;
//! let platform = read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
//! let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
//! let mut network = Flows::new(&platform, FlowModel::CM02);
//! network.start(a, b, 125e6)?;
//! while let Some(at) = network.next() {
//!     for end in network.advance(at) {
//!         // The 5 % that acknowledgements take of the same wire, and 100 us of latency.
//!         assert!((end.at - 1.0501).abs() < 1e-9);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Times are in seconds, sizes in bytes, bandwidths in bytes per second, all as `f64`: the models are defined
//! on real numbers. Equal inputs give bit-identical results. This crate uses no threads, clocks or files: the
//! caller reads the files and passes their text.

#![forbid(unsafe_code)]

mod constant;
mod error;
mod flows;
mod ids;
mod network;
mod platform;
mod profile;
mod read;
mod route;
mod routing;
mod settings;
mod solver;
mod storage;

pub use constant::Constant;
pub use error::{ReadError, RouteError};
pub use flows::{FlowModel, Flows};
pub use ids::{HostId, LinkId, Properties};
pub use network::{Ended, Network, TransferId};
pub use platform::{Host, Link, Platform, Sharing};
pub use profile::Profile;
pub use read::deployment::{Actor, Deployment, OnFailure};
pub use read::encoding::decode;
pub use read::read;
pub use route::Route;
pub use settings::Settings;
pub use solver::Solver;
pub use storage::{Disk, Storage};
