//! Links: rate and latency, and what happens to packets on the way.

use paceline_kernel::Time;
use paceline_packets::LinkSpec;
use paceline_packets::loss::{GilbertElliott, Jitter, JitterDelay, LossModel, Outages};
use paceline_scenario::{Picoseconds, Rate, ScenarioError, Section};

use super::probability::share;
use super::queues;

/// The greatest rate, and the longest latency, of a link.
const MOST_BPS: u64 = 1_000_000_000_000_000;
const MOST_LATENCY_PS: u64 = 1_000_000_000_000_000_000;

/// Reads the table at `key`, which is required: a link.
pub fn read(section: &mut Section, key: &str) -> Result<LinkSpec, ScenarioError> {
    let mut table = section.table(key)?;
    if !section.has(key) {
        let problem = format!("missing key `{key}` in [{}]", section.name());
        let allowed = format!("a link, such as {key} = {{ rate = \"10Gbps\", latency = \"1us\" }}");
        return Err(section.refuse(key, problem, allowed));
    }
    let link = read_table(&mut table)?;
    table.finish()?;
    Ok(link)
}

/// Reads the keys `rate` and `latency`, and those of [`read_more`].
fn read_table(table: &mut Section) -> Result<LinkSpec, ScenarioError> {
    let (rate, latency) = (table.required("rate")?, table.required("latency")?);
    let mut link = LinkSpec::new(checked_rate(table, rate)?, checked_latency(table, latency)?);
    read_more(table, &mut link)?;
    Ok(link)
}

/// Reads what is to be other than in `link`: all keys of a link, each if it is there.
pub fn read_changes(table: &mut Section, link: &mut LinkSpec) -> Result<(), ScenarioError> {
    if let Some(rate) = table.optional("rate")? {
        link.rate = checked_rate(table, rate)?;
    }
    if let Some(latency) = table.optional("latency")? {
        link.latency_ps = checked_latency(table, latency)?;
    }
    read_more(table, link)
}

fn checked_rate(table: &Section, rate: Rate) -> Result<u64, ScenarioError> {
    if rate.bps > MOST_BPS {
        let problem = format!("a rate of {rate}");
        return Err(table.refuse("rate", problem, format!("at most {}", Rate { bps: MOST_BPS })));
    }
    Ok(rate.bps)
}

fn checked_latency(table: &Section, latency: Picoseconds) -> Result<u64, ScenarioError> {
    if latency.ps > MOST_LATENCY_PS {
        let problem = format!("a latency of {latency}");
        let allowed = format!("at most {}", Picoseconds { ps: MOST_LATENCY_PS });
        return Err(table.refuse("latency", problem, allowed));
    }
    Ok(latency.ps)
}

/// Reads `queue`, without which everything waits; `loss` or `burst_loss`, `jitter` and `outages`, without
/// which nothing happens to a packet.
fn read_more(table: &mut Section, link: &mut LinkSpec) -> Result<(), ScenarioError> {
    let mut queue = table.table("queue")?;
    if table.has("queue") {
        link.queue = queues::read(&mut queue, link.rate)?;
        queue.finish()?;
    }
    link.loss = read_loss(table)?.or(link.loss);
    link.jitter = read_jitter(table)?.or(link.jitter);
    let outages = read_outages(table)?;
    if table.has("outages") {
        link.outages = outages;
    }
    Ok(())
}

fn read_loss(table: &mut Section) -> Result<Option<LossModel>, ScenarioError> {
    let random = match table.optional::<f64>("loss")? {
        Some(loss) => Some(LossModel::Random(share(table, "loss", loss)?)),
        None => None,
    };
    let mut bursts = table.table("burst_loss")?;
    if !table.has("burst_loss") {
        return Ok(random);
    }
    if random.is_some() {
        let problem = "`loss` and `burst_loss` of one link";
        return Err(table.refuse("burst_loss", problem, "one of them"));
    }
    let mut probability = |key: &str, default: Option<f64>| {
        let value = match default {
            Some(default) => bursts.or(key, default)?,
            None => bursts.required(key)?,
        };
        share(&bursts, key, value)
    };
    let channel = GilbertElliott {
        to_bad: probability("to_bad", None)?,
        to_good: probability("to_good", None)?,
        good_loss: probability("good_loss", Some(0.0))?,
        bad_loss: probability("bad_loss", Some(1.0))?,
    };
    bursts.finish()?;
    Ok(Some(LossModel::GilbertElliott(channel)))
}

fn read_jitter(table: &mut Section) -> Result<Option<Jitter>, ScenarioError> {
    let mut jitter = table.table("jitter")?;
    if !table.has("jitter") {
        return Ok(None);
    }
    let is_uniform = jitter.choice("kind", &[("uniform", true), ("exponential", false)], None)?;
    let delay: Time = jitter.required(if is_uniform { "most" } else { "mean" })?;
    let delay = if is_uniform { JitterDelay::Uniform(delay) } else { JitterDelay::Exponential(delay) };
    let keeps_order = jitter.or("keeps_order", true)?;
    jitter.finish()?;
    Ok(Some(Jitter { delay, keeps_order }))
}

/// Reads tables with the keys `down` and `up`; without `up` the link stays down.
fn read_outages(table: &mut Section) -> Result<Outages, ScenarioError> {
    let mut changes = Vec::new();
    for mut outage in table.tables("outages")? {
        let down: Time = outage.required("down")?;
        changes.push((down, false));
        if let Some(up) = outage.optional::<Time>("up")? {
            if up <= down {
                let problem = format!("a link that is down from {down} and up from {up}");
                return Err(outage.refuse("up", problem, "a time after `down`"));
            }
            changes.push((up, true));
        }
        outage.finish()?;
    }
    Outages::new(changes).map_err(|error| {
        let text = error.to_string();
        let (problem, allowed) = text.rsplit_once("; allowed: ").unwrap_or((&text, "outages one by one"));
        table.refuse("outages", problem, allowed)
    })
}
