//! The elements and attributes of platform files, and what of SimGrid's is not supported.
//!
//! Invariant: in a tree that was checked every element and attribute is one of [`FORMS`], where it may stand.

use super::xml::Element;
use crate::error::Flaw;

/// An element: its name, its attributes, and what may stand in it.
struct Form {
    name: &'static str,
    attributes: &'static [&'static str],
    children: &'static [&'static str],
}

const ZONE: Form = Form {
    name: "zone",
    attributes: &["id", "routing"],
    children: &[
        "zone",
        "AS",
        "cluster",
        "cabinet",
        "host",
        "router",
        "link",
        "backbone",
        "host_link",
        "route",
        "zoneRoute",
        "ASroute",
        "bypassRoute",
        "bypassZoneRoute",
        "bypassASroute",
        "trace",
        "trace_connect",
        "prop",
    ],
};

const ROUTE: &[&str] = &["src", "dst", "symmetrical"];
const ZONE_ROUTE: &[&str] = &["src", "dst", "gw_src", "gw_dst", "symmetrical"];
const BYPASS: &[&str] = &["src", "dst", "gw_src", "gw_dst"];

const FORMS: &[Form] = &[
    Form {
        name: "platform",
        attributes: &["version"],
        children: &["zone", "AS", "cluster", "trace", "trace_connect"],
    },
    ZONE,
    Form { name: "AS", ..ZONE },
    Form {
        name: "host",
        attributes: &["id", "speed", "core", "speed_file", "availability_file", "state_file", "pstate"],
        children: &["prop"],
    },
    Form { name: "router", attributes: &["id"], children: &[] },
    Form {
        name: "link",
        attributes: &[
            "id",
            "bandwidth",
            "latency",
            "sharing_policy",
            "bandwidth_file",
            "latency_file",
            "state_file",
        ],
        children: &["prop"],
    },
    Form {
        name: "cluster",
        attributes: &[
            "id",
            "prefix",
            "suffix",
            "radical",
            "speed",
            "core",
            "bw",
            "lat",
            "sharing_policy",
            "topology",
            "topo_parameters",
            "bb_bw",
            "bb_lat",
            "bb_sharing_policy",
            "router_id",
            "limiter_link",
            "loopback_bw",
            "loopback_lat",
        ],
        children: &["prop"],
    },
    Form {
        name: "cabinet",
        attributes: &["id", "prefix", "suffix", "radical", "speed", "bw", "lat"],
        children: &[],
    },
    Form { name: "backbone", attributes: &["id", "bandwidth", "latency"], children: &[] },
    Form { name: "host_link", attributes: &["id", "up", "down"], children: &[] },
    Form { name: "route", attributes: ROUTE, children: &["link_ctn"] },
    Form { name: "zoneRoute", attributes: ZONE_ROUTE, children: &["link_ctn"] },
    Form { name: "ASroute", attributes: ZONE_ROUTE, children: &["link_ctn"] },
    Form { name: "bypassRoute", attributes: &["src", "dst"], children: &["link_ctn"] },
    Form { name: "bypassZoneRoute", attributes: BYPASS, children: &["link_ctn"] },
    Form { name: "bypassASroute", attributes: BYPASS, children: &["link_ctn"] },
    Form { name: "link_ctn", attributes: &["id", "direction"], children: &[] },
    Form { name: "trace", attributes: &["id", "file", "periodicity"], children: &[] },
    Form { name: "trace_connect", attributes: &["kind", "trace", "element"], children: &[] },
    Form { name: "prop", attributes: &["id", "value"], children: &[] },
];

/// What may stand in zones that are stars, and in no others.
pub(super) const IN_STARS: [&str; 3] = ["cabinet", "backbone", "host_link"];

/// What SimGrid has and this reader refuses, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("config", "settings are given to the simulation, not read from platform files"),
    ("peer", "Vivaldi zones are not supported"),
    ("disk", "disks are not supported"),
    ("actor", "deployments are not read from platform files"),
    ("process", "deployments are not read from platform files"),
    ("include", "SimGrid has removed it"),
    ("random", "SimGrid has removed it"),
    ("storage", "SimGrid has removed it"),
    ("storage_type", "SimGrid has removed it"),
    ("mount", "SimGrid has removed it"),
];

fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}

/// Checks a whole tree.
pub(super) fn check(root: &Element) -> Result<(), Flaw> {
    if root.name != "platform" {
        let problem = format!("the outermost element is <{}>", root.name);
        return Err(Flaw::new(root.at.clone(), problem, "<platform version=\"4.1\">"));
    }
    check_element(root)
}

fn check_element(element: &Element) -> Result<(), Flaw> {
    // Children are looked up before they are checked themselves.
    let form = form(&element.name).expect("the element is known");
    for attribute in &element.attributes {
        if !form.attributes.contains(&attribute.name.as_str()) {
            let problem = match attribute.name.as_str() {
                "coordinates" => "the attribute `coordinates`: Vivaldi zones are not supported".to_owned(),
                name => format!("there is no attribute `{name}` in <{}>", element.name),
            };
            return Err(Flaw::new(attribute.at.clone(), problem, form.attributes.join(", ")));
        }
    }
    for child in &element.children {
        if !form.children.contains(&child.name.as_str()) {
            let reason = REFUSED.iter().find(|(name, _)| *name == child.name);
            let problem = match reason {
                Some((name, reason)) => format!("<{name}> is not supported: {reason}"),
                None => format!("there is no element `{}` in <{}>", child.name, element.name),
            };
            let allowed = match form.children {
                [] => "no element".to_owned(),
                children => children.join(", "),
            };
            return Err(Flaw::new(child.at.clone(), problem, allowed));
        }
        check_element(child)?;
    }
    Ok(())
}
