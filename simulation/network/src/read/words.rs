//! The elements and attributes of platform files and deployments, and those of SimGrid that are not
//! supported. What the attributes of hosts and links mean is read in `members.rs`, of zones in `build.rs`.
//!
//! Invariant: in a checked tree every element and attribute is one of the file's [`Words`], in an allowed
//! place.

use super::xml::Element;
use crate::error::TextError;

/// An element: its name, its attributes, and its allowed children, as messages list them.
struct Form {
    name: &'static str,
    attributes: &'static str,
    children: &'static str,
}

const fn form(name: &'static str, attributes: &'static str, children: &'static str) -> Form {
    Form { name, attributes, children }
}

const ZONE: Form = form(
    "zone",
    "id, routing, coordinates",
    "zone, AS, cluster, cabinet, host, peer, router, storage_type, storage, link, backbone, host_link, \
     route, zoneRoute, ASroute, bypassRoute, bypassZoneRoute, bypassASroute, trace, trace_connect, prop",
);

const ROUTE: &str = "src, dst, symmetrical";
const ZONE_ROUTE: &str = "src, dst, gw_src, gw_dst, symmetrical";
const BYPASS: &str = "src, dst, gw_src, gw_dst";

/// The vocabulary of a kind of file.
pub(super) struct Words {
    forms: &'static [Form],
    /// Elements that SimGrid has and this reader refuses, with the reason.
    refused: &'static [(&'static str, &'static str)],
}

const PROP: Form = form("prop", "id, value", "");

pub(super) const PLATFORM: Words = Words { forms: FORMS, refused: REFUSED };

const FORMS: &[Form] = &[
    form("platform", "version", "config, zone, AS, cluster, trace, trace_connect"),
    form("config", "id", "prop"),
    ZONE,
    Form { name: "AS", ..ZONE },
    form(
        "host",
        "id, speed, core, speed_file, availability_file, state_file, coordinates, pstate, availability, \
         state",
        "prop, disk, mount",
    ),
    form("peer", "id, speed, bw_in, bw_out, lat, coordinates, speed_file, availability_file, state_file", ""),
    form("disk", "id, read_bw, write_bw", "prop"),
    form("storage_type", "id, model, size, content", "model_prop, prop"),
    form("storage", "id, typeId, content, attach", "prop"),
    form("mount", "storageId, name", ""),
    form("model_prop", "id, value", ""),
    form("router", "id, coordinates", ""),
    form(
        "link",
        "id, bandwidth, latency, sharing_policy, bandwidth_file, latency_file, state_file, state",
        "prop",
    ),
    form(
        "cluster",
        "id, prefix, suffix, radical, speed, core, bw, lat, sharing_policy, topology, topo_parameters, \
         bb_bw, bb_lat, bb_sharing_policy, router_id, limiter_link, loopback_bw, loopback_lat",
        "prop",
    ),
    form("cabinet", "id, prefix, suffix, radical, speed, bw, lat", ""),
    form("backbone", "id, bandwidth, latency", ""),
    form("host_link", "id, up, down", ""),
    form("route", ROUTE, "link_ctn"),
    form("zoneRoute", ZONE_ROUTE, "link_ctn"),
    form("ASroute", ZONE_ROUTE, "link_ctn"),
    form("bypassRoute", "src, dst", "link_ctn"),
    form("bypassZoneRoute", BYPASS, "link_ctn"),
    form("bypassASroute", BYPASS, "link_ctn"),
    form("link_ctn", "id, direction", ""),
    form("trace", "id, file, periodicity", ""),
    form("trace_connect", "kind, trace, element", ""),
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

const ACTOR: Form = form("actor", "host, function, start_time, kill_time, on_failure", "argument, prop");

/// The vocabulary of deployments; `process` is the name of an actor in older files.
pub(super) const DEPLOYMENT: Words = Words {
    forms: &[
        form("platform", "version", "actor, process"),
        ACTOR,
        Form { name: "process", ..ACTOR },
        form("argument", "value", ""),
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

/// Whether `words`, as a [`Form`] has them, are this word among others.
fn lists(words: &str, word: &str) -> bool {
    words.split(", ").any(|known| known == word)
}

fn check_element(element: &Element, words: &Words) -> Result<(), TextError> {
    // Children are looked up before they are checked themselves.
    let form = words.forms.iter().find(|form| form.name == element.name).expect("the element is known");
    for attribute in &element.attributes {
        if !lists(form.attributes, &attribute.name) {
            let problem = format!("there is no attribute `{}` in <{}>", attribute.name, element.name);
            return Err(attribute.refuse(problem, form.attributes));
        }
    }
    for child in &element.children {
        if !lists(form.children, &child.name) {
            let reason = words.refused.iter().find(|(name, _)| *name == child.name);
            let problem = match reason {
                Some((name, reason)) => format!("<{name}> is not supported: {reason}"),
                None => format!("there is no element `{}` in <{}>", child.name, element.name),
            };
            let allowed = if form.children.is_empty() { "no element" } else { form.children };
            return Err(child.refuse(problem, allowed));
        }
        check_element(child, words)?;
    }
    Ok(())
}
