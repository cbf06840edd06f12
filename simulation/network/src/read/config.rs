//! The `<config>` element: settings of SimGrid that a platform file carries.
//!
//! Invariant: no setting is passed over in silence. What a network model here has is applied (`network/model`
//! by the caller, the others by [`FlowModel::with`](crate::FlowModel::with) and on the loopback); what
//! changes no time here is listed in a notice; what would change times and cannot be followed is refused.

use super::build::Builder;
use super::units;
use super::xml::{Attribute, Element};
use crate::error::TextError;
use crate::ids::LOOPBACK;

/// Settings that change no time here, with all below them: how SimGrid computes, what it writes, and what
/// other models than ours need.
const WITHOUT_EFFECT: &str = "contexts, coordinates, cpu/maxmin-selective-update, cpu/optim, debug, disk, \
                              exception, help, log, maxmin/precision, model-check, msg, \
                              network/maxmin-selective-update, network/optim, ns3, path, plugin, precision, \
                              smpi, storage, surf/precision, tracing, vm";

/// Settings with which times are the same only if they have one of these values.
const FIXED: [(&str, &[&str]); 7] = [
    ("cpu/model", &["Cas01"]),
    ("cpu/solver", &["maxmin"]),
    ("host/model", &["default", "compound"]),
    ("host/solver", &["maxmin", "fairbottleneck"]),
    ("maxmin/concurrency-limit", &["-1"]),
    ("network/solver", &["maxmin"]),
    ("network/sender-gap", &["0"]),
];

const KNOWN: &str = "network/model, network/latency-factor, network/bandwidth-factor, network/weight-S, network/TCP-gamma, \
                     network/crosstraffic, network/loopback-bw, network/loopback-lat";

/// The greatest factor or number of bytes of a setting.
const MOST: f64 = 1e18;

impl Builder<'_, '_> {
    pub fn config(&mut self, element: &Element) -> Result<(), TextError> {
        if !self.platform.zones.is_empty() {
            let problem = "a <config> after a zone";
            return Err(element.refuse(problem, "<config> before all zones and clusters"));
        }
        let mut without_effect = Vec::new();
        for prop in element.children.iter().filter(|child| child.name == "prop") {
            let (id, value) = (prop.id()?, prop.need("value")?);
            if !self.config.insert(id.value.clone()) {
                let problem = format!("a second value for the setting `{}`", id.value);
                return Err(id.refuse(problem, "one value for each setting"));
            }
            if !self.set(id, value)? {
                without_effect.push(id.value.as_str());
            }
        }
        if !without_effect.is_empty() {
            let text =
                format!("settings in <config> that have no effect here: {}", without_effect.join(", "));
            self.notice(element.at.clone(), text);
        }
        Ok(())
    }

    /// Applies a setting. Returns whether it has an effect.
    fn set(&mut self, id: &Attribute, value: &Attribute) -> Result<bool, TextError> {
        match id.value.as_str() {
            "network/model" => {
                let place = self.place(value.refuse("", ""));
                let place = format!("{}:{}:{}", place.file, place.line, place.column);
                self.platform.settings.model = Some((value.value.clone(), place));
            }
            "network/latency-factor" => {
                self.platform.settings.latency_factor = Some(number(id, value, 0.0)?);
            }
            "network/bandwidth-factor" => {
                self.platform.settings.bandwidth_factor = Some(number(id, value, 1e-9)?);
            }
            "network/weight-S" => self.platform.settings.weight_s = Some(number(id, value, 0.0)?),
            "network/TCP-gamma" => self.platform.settings.tcp_window = Some(number(id, value, 1e-9)?),
            "network/crosstraffic" => self.platform.settings.cross_traffic = Some(truth(id, value)?),
            "network/loopback-bw" => {
                let bandwidth = number(id, value, 1e-3)?;
                self.platform.links[LOOPBACK.0 as usize].bandwidth = bandwidth;
            }
            "network/loopback-lat" => {
                let latency = number(id, value, 0.0)?;
                if !units::is_latency(latency) {
                    return Err(wrong(id, value, units::LATENCY));
                }
                self.platform.links[LOOPBACK.0 as usize].latency = latency;
            }
            other => return self.other_setting(other, id, value),
        }
        Ok(true)
    }

    fn other_setting(&self, name: &str, id: &Attribute, value: &Attribute) -> Result<bool, TextError> {
        if let Some((_, values)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
            return match values.contains(&value.value.as_str()) {
                true => Ok(true),
                false => Err(wrong(id, value, &values.join(" or "))),
            };
        }
        let is_below = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.starts_with('/'));
        if WITHOUT_EFFECT.split(", ").any(|known| known == name || is_below(known)) {
            return Ok(false);
        }
        let problem = format!("the setting `{name}` in <config> is not supported");
        Err(id.refuse(problem, format!("{KNOWN}; without effect: {WITHOUT_EFFECT}")))
    }
}

fn wrong(id: &Attribute, value: &Attribute, allowed: &str) -> TextError {
    let problem = format!("the setting `{}` cannot be \"{}\"", id.value, value.value);
    value.refuse(problem, allowed)
}

fn number(id: &Attribute, value: &Attribute, least: f64) -> Result<f64, TextError> {
    let number = value.value.trim().parse().ok().filter(|number| (least..=MOST).contains(number));
    number.ok_or_else(|| wrong(id, value, &format!("a number from {least} to {MOST:e}, without a unit")))
}

/// A truth value in SimGrid's notation.
fn truth(id: &Attribute, value: &Attribute) -> Result<bool, TextError> {
    match value.value.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" | "1" => Ok(true),
        "no" | "off" | "false" | "0" => Ok(false),
        _ => Err(wrong(id, value, "yes or no")),
    }
}
