//! Flows that a table stands for: one for each pair of hosts, those of a list, or those that come by chance
//! at a load.

use paceline_kernel::Rng;
use paceline_packets::Network;
use paceline_packets::files::{Cdf, ListedFlow, flow_list};
use paceline_packets::flows::{FlowDemand, Pairing, Poisson, Workload};
use paceline_scenario::{Picoseconds, ScenarioError, Section};

use super::files::Text;
use super::hosts::{ends, select};

/// A flow of a list or by chance.
pub struct Arrival {
    pub from: u32,
    pub to: u32,
    pub start_ps: u64,
    pub bytes: u64,
}

/// The most flows that a load may be expected to bring: a few hundred bytes each.
const MOST_FLOWS: f64 = 16e6;

/// Reads `load`, `sizes` or a number of `bytes`, and `until`, if there is a `load`. Senders are paired with
/// receivers as in other tables, or with "any" of themselves. Flows are drawn from `seed`, a stream for each
/// table.
pub fn by_load(
    entry: &mut Section,
    network: &Network,
    bytes: Option<u64>,
    start_ps: u64,
    draws: (u64, u64),
) -> Result<Option<Vec<Arrival>>, ScenarioError> {
    let Some(load) = entry.optional::<f64>("load")? else { return Ok(None) };
    if !(load > 0.0 && load <= 100.0) {
        let allowed = "a number above 0, of what the links of senders carry, up to 100";
        return Err(entry.refuse("load", format!("a load of {load}"), allowed));
    }
    let sizes = read_sizes(entry, bytes)?;
    let until: Picoseconds = entry.required("until")?;
    let (from, to): (String, String) = (entry.required("from")?, entry.required("to")?);
    let (pairing, sender, senders) = if to == "any" {
        let hosts = select(entry, network, &from)?;
        (Pairing::AnyTwo(hosts.clone()), hosts[0], hosts.len())
    } else {
        let pairs = ends(entry, network, &from, &to)?;
        let (sender, senders) = (pairs[0].0, pairs.len());
        (Pairing::Listed(pairs), sender, senders)
    };
    // A host without a link sends to nobody, which is refused with its first flow.
    let link_rate = if network.ports(sender) > 0 { network.link(sender, 0).rate } else { 1 };
    let rate = Poisson::rate_at_load(load, senders, link_rate, &sizes);
    let expected = rate * until.ps.saturating_sub(start_ps) as f64 / 1e12;
    if expected > MOST_FLOWS {
        let problem = format!("about {expected:.0} flows up to {until}");
        return Err(entry.refuse("load", problem, format!("at most {MOST_FLOWS:.0} flows")));
    }
    let poisson = Poisson { pairing, sizes, rate, from_ps: start_ps, until_ps: until.ps };
    let mut workload = Workload::new(Rng::new(draws.0, draws.1).u64());
    workload.poisson(&poisson).map_err(|error| entry.refuse("load", error.what, error.allowed))?;
    let flows = workload.flows().iter();
    let arrival = |flow: &FlowDemand| Arrival {
        from: flow.from,
        to: flow.to,
        start_ps: flow.start_ps,
        bytes: flow.bytes,
    };
    Ok(Some(flows.map(arrival).collect()))
}

/// A distribution from a file, or one size.
fn read_sizes(entry: &mut Section, bytes: Option<u64>) -> Result<Cdf, ScenarioError> {
    match (entry.file("sizes")?, bytes) {
        (Some(path), None) => {
            let text = Text::load(&path)?;
            Cdf::read(&text.name, &text.text).map_err(|error| text.mistake(error))
        }
        (None, Some(bytes)) => Ok(Cdf::constant(bytes)),
        _ => {
            let problem = "flows at a `load` need their sizes, said in one way";
            Err(entry.refuse("load", problem, "`sizes`, a file with a distribution, or `bytes`"))
        }
    }
}

/// Reads `list`, a file with flows, if there is one: their starts count from `start_ps`. A host is told by
/// its name or, where no node is called so, by its number among the hosts.
pub fn by_list(
    entry: &mut Section,
    network: &Network,
    start_ps: u64,
) -> Result<Option<Vec<Arrival>>, ScenarioError> {
    let Some(path) = entry.file("list")? else { return Ok(None) };
    let text = Text::load(&path)?;
    let list = flow_list(&text.name, &text.text).map_err(|error| text.mistake(error))?;
    let host = |name: &str, line: usize| {
        let number = name.parse::<usize>().ok().and_then(|number| network.hosts().get(number).copied());
        network.node(name).or_else(|error| number.ok_or(error)).map_err(|error| {
            let error = error.to_string();
            let (problem, allowed) = error.rsplit_once("; allowed: ").unwrap_or((&error, "names of hosts"));
            text.at_line(line, problem.to_owned(), format!("{allowed}, or numbers of hosts"))
        })
    };
    let arrival = |flow: &ListedFlow| {
        let start_ps = start_ps.saturating_add(flow.start_ps);
        let (from, to) = (host(&flow.from, flow.line)?, host(&flow.to, flow.line)?);
        Ok(Arrival { from, to, start_ps, bytes: flow.bytes })
    };
    let flows: Vec<Arrival> = list.flows.iter().map(arrival).collect::<Result<_, ScenarioError>>()?;
    if flows.is_empty() {
        return Err(entry.refuse("list", "a list without flows", "at least one flow"));
    }
    Ok(Some(flows))
}
