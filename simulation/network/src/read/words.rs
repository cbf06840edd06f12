//! The elements and attributes of platform files and deployments, and those of SimGrid that are not
//! supported. What the attributes of hosts and links mean is read in `members.rs`, of zones in `build.rs`.
//!
//! Invariant: in a checked tree every element and attribute is one of the file's [`Words`], in an allowed
//! place.

use super::xml::Element;
use crate::error::TextError;

/// An element: its name, its attributes, and its allowed children.
struct Form {
    name: &'static str,
    attributes: &'static [&'static str],
    children: &'static [&'static str],
}

const ZONE: Form = Form {
    name: "zone",
    attributes: &["id", "routing", "coordinates"],
    children: &[
        "zone",
        "AS",
        "cluster",
        "cabinet",
        "host",
        "peer",
        "router",
        "storage_type",
        "storage",
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

/// The vocabulary of a kind of file.
pub(super) struct Words {
    forms: &'static [Form],
    /// Elements that SimGrid has and this reader refuses, with the reason.
    refused: &'static [(&'static str, &'static str)],
}

const PROP: Form = Form { name: "prop", attributes: &["id", "value"], children: &[] };

pub(super) const PLATFORM: Words = Words { forms: FORMS, refused: REFUSED };

const FORMS: &[Form] = &[
    Form {
        name: "platform",
        attributes: &["version"],
        children: &["config", "zone", "AS", "cluster", "trace", "trace_connect"],
    },
    Form { name: "config", attributes: &["id"], children: &["prop"] },
    ZONE,
    Form { name: "AS", ..ZONE },
    Form {
        name: "host",
        attributes: &[
            "id",
            "speed",
            "core",
            "speed_file",
            "availability_file",
            "state_file",
            "coordinates",
            "pstate",
            "availability",
            "state",
        ],
        children: &["prop", "disk", "mount"],
    },
    Form {
        name: "peer",
        attributes: &[
            "id",
            "speed",
            "bw_in",
            "bw_out",
            "lat",
            "coordinates",
            "speed_file",
            "availability_file",
            "state_file",
        ],
        children: &[],
    },
    Form { name: "disk", attributes: &["id", "read_bw", "write_bw"], children: &["prop"] },
    Form {
        name: "storage_type",
        attributes: &["id", "model", "size", "content"],
        children: &["model_prop", "prop"],
    },
    Form { name: "storage", attributes: &["id", "typeId", "content", "attach"], children: &["prop"] },
    Form { name: "mount", attributes: &["storageId", "name"], children: &[] },
    Form { name: "model_prop", attributes: &["id", "value"], children: &[] },
    Form { name: "router", attributes: &["id", "coordinates"], children: &[] },
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
            "state",
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
    PROP,
];

/// Elements allowed in zones that are stars, and in no others.
pub(super) const IN_STARS: [&str; 3] = ["cabinet", "backbone", "host_link"];

const REFUSED: &[(&str, &str)] = &[
    ("actor", "deployments are not read from platform files"),
    ("process", "deployments are not read from platform files"),
    ("include", "SimGrid has removed it"),
    ("random", "SimGrid has removed it"),
];

const ACTOR: Form = Form {
    name: "actor",
    attributes: &["host", "function", "start_time", "kill_time", "on_failure"],
    children: &["argument", "prop"],
};

/// The vocabulary of deployments; `process` is the name of an actor in older files.
pub(super) const DEPLOYMENT: Words = Words {
    forms: &[
        Form { name: "platform", attributes: &["version"], children: &["actor", "process"] },
        ACTOR,
        Form { name: "process", ..ACTOR },
        Form { name: "argument", attributes: &["value"], children: &[] },
        PROP,
    ],
    refused: &[
        ("config", "settings are given to the simulation, not read from deployments"),
        ("zone", "platforms are not read from deployments"),
        ("AS", "platforms are not read from deployments"),
        ("cluster", "platforms are not read from deployments"),
    ],
};

pub(super) fn check(root: &Element, words: &Words) -> Result<(), TextError> {
    if root.name != "platform" {
        let problem = format!("the outermost element is <{}>", root.name);
        return Err(root.refuse(problem, "<platform version=\"4.1\">"));
    }
    check_element(root, words)
}

pub(super) fn check_version(root: &Element) -> Result<(), TextError> {
    let version = root.need("version")?;
    // As in SimGrid: 4.10 is 4.1.
    let hundredths = version.value.trim().parse().ok().map(|number: f64| (100.0 * number).round());
    if hundredths.is_some_and(|hundredths| (400.0..=410.0).contains(&hundredths)) {
        return Ok(());
    }
    Err(version.refuse(format!("a file of version `{}`", version.value), "4 or 4.1"))
}

fn check_element(element: &Element, words: &Words) -> Result<(), TextError> {
    // Children are looked up before they are checked themselves.
    let form = words.forms.iter().find(|form| form.name == element.name).expect("the element is known");
    for attribute in &element.attributes {
        if !form.attributes.contains(&attribute.name.as_str()) {
            let problem = format!("there is no attribute `{}` in <{}>", attribute.name, element.name);
            return Err(attribute.refuse(problem, form.attributes.join(", ")));
        }
    }
    for child in &element.children {
        if !form.children.contains(&child.name.as_str()) {
            let reason = words.refused.iter().find(|(name, _)| *name == child.name);
            let problem = match reason {
                Some((name, reason)) => format!("<{name}> is not supported: {reason}"),
                None => format!("there is no element `{}` in <{}>", child.name, element.name),
            };
            let allowed = match form.children {
                [] => "no element".to_owned(),
                children => children.join(", "),
            };
            return Err(child.refuse(problem, allowed));
        }
        check_element(child, words)?;
    }
    Ok(())
}
