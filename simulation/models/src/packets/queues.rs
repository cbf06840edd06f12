//! Queues of ports: disciplines by name, with their settings.

use paceline_kernel::Time;
use paceline_packets::queue::{CodelSettings, FqCodelSettings, Limit, QueueSettings, RedSettings, Threshold};
use paceline_scenario::{ScenarioError, Section, Size};

use super::probability::share;

#[derive(Clone, Copy, PartialEq)]
enum Discipline {
    DropTail,
    Red,
    Threshold,
    Codel,
    FqCodel,
    Priority,
    Drr,
}

const DISCIPLINES: [(&str, Discipline); 7] = [
    ("drop-tail", Discipline::DropTail),
    ("red", Discipline::Red),
    ("threshold", Discipline::Threshold),
    ("codel", Discipline::Codel),
    ("fq-codel", Discipline::FqCodel),
    ("priority", Discipline::Priority),
    ("drr", Discipline::Drr),
];

/// The bytes of the packet whose time on the link RED counts idle times in, unless that is given.
const RED_BYTES: u64 = 1000;

/// Reads the key `kind`, and those of that kind, of a queue at a link of this rate in bits a second.
pub fn read(queue: &mut Section, rate: u64) -> Result<QueueSettings, ScenarioError> {
    let settings = match queue.choice("kind", &DISCIPLINES, None)? {
        Discipline::DropTail => {
            let limit = limit(queue)?;
            if limit == Limit::Endless {
                let problem = "a drop-tail queue without a limit";
                return Err(queue.refuse("kind", problem, "`packets` or `bytes`; without `queue` all wait"));
            }
            QueueSettings::DropTail(limit)
        }
        Discipline::Red => QueueSettings::Red(read_red(queue, rate)?),
        Discipline::Threshold => {
            let limit = limit(queue)?;
            let mark = match (positive(queue, "mark_packets")?, queue.optional::<Size>("mark_bytes")?) {
                (Some(packets), None) => Limit::Packets(packets),
                (None, Some(size)) => Limit::Bytes(size.bytes as u64),
                _ => {
                    let problem = "a queue that marks beyond a threshold needs that threshold";
                    return Err(queue.refuse("mark_packets", problem, "`mark_packets` or `mark_bytes`"));
                }
            };
            let drops_incapable = queue.or("drops_incapable", false)?;
            QueueSettings::Threshold(Threshold { limit, mark, drops_incapable })
        }
        Discipline::Codel => {
            let limit = limit(queue)?;
            QueueSettings::Codel(read_codel(queue, false)?, limit)
        }
        Discipline::FqCodel => {
            let limit = at_least_one(queue, "packets", 10_240)?;
            let memory = queue.or("memory", Size { bytes: 32 << 20 })?.bytes as u64;
            let (queues, quantum) =
                (at_least_one(queue, "queues", 1024)?, at_least_one(queue, "quantum", 1514)?);
            QueueSettings::FqCodel(FqCodelSettings {
                codel: read_codel(queue, true)?,
                limit,
                memory,
                queues,
                quantum,
            })
        }
        Discipline::Priority => {
            let classes = read_classes(queue, rate, |_| Ok(()))?;
            QueueSettings::Priority(classes.into_iter().map(|((), settings)| settings).collect())
        }
        Discipline::Drr => {
            QueueSettings::Drr(read_classes(queue, rate, |class| at_least_one(class, "quantum", 1514))?)
        }
    };
    Ok(settings)
}

/// Reads the tables `classes`, that of class 0 first: what `more` reads of each, and its queue. A class
/// without `kind` holds all that comes.
fn read_classes<T>(
    queue: &mut Section,
    rate: u64,
    more: impl Fn(&mut Section) -> Result<T, ScenarioError>,
) -> Result<Vec<(T, QueueSettings)>, ScenarioError> {
    let mut classes = Vec::new();
    for mut class in queue.tables("classes")? {
        let more = more(&mut class)?;
        let settings =
            if class.has("kind") { read(&mut class, rate)? } else { QueueSettings::DropTail(Limit::Endless) };
        if matches!(settings, QueueSettings::Priority(_) | QueueSettings::Drr(_)) {
            return Err(class.refuse("kind", "classes within a class", "a kind of queue without classes"));
        }
        class.finish()?;
        classes.push((more, settings));
    }
    if !(1..=8).contains(&classes.len()) {
        let problem = format!("a queue of {} classes", classes.len());
        let allowed =
            "1 to 8 tables, class 0 first, such as classes = [{ kind = \"drop-tail\", packets = 50 }, {}]";
        return Err(queue.refuse("classes", problem, allowed));
    }
    Ok(classes)
}

/// Reads `packets` or `bytes`; with neither all packets wait.
fn limit(queue: &mut Section) -> Result<Limit, ScenarioError> {
    match (positive(queue, "packets")?, queue.optional::<Size>("bytes")?) {
        (None, None) => Ok(Limit::Endless),
        (Some(packets), None) => Ok(Limit::Packets(packets)),
        (None, Some(size)) => Ok(Limit::Bytes(size.bytes as u64)),
        (Some(_), Some(_)) => Err(queue.refuse("bytes", "`packets` and `bytes` of one queue", "one of them")),
    }
}

fn positive(queue: &mut Section, key: &str) -> Result<Option<u32>, ScenarioError> {
    match queue.optional::<u32>(key)? {
        Some(0) => Err(queue.refuse(key, format!("`{key}` is 0"), "a whole number from 1")),
        value => Ok(value),
    }
}

fn at_least_one(queue: &mut Section, key: &str, default: u32) -> Result<u32, ScenarioError> {
    queue.or_where(key, default, |value| value > 0, "a whole number from 1")
}

/// Reads `low`, `high`, `probability` (0.1), `weight` (0.002), `gentle` (true), `ecn` (false),
/// `marks_only` (false), `packet_time` and `packet_bytes`.
fn read_red(queue: &mut Section, rate: u64) -> Result<RedSettings, ScenarioError> {
    let limit = limit(queue)?;
    let (low, high): (u32, u32) = (queue.required("low")?, queue.required("high")?);
    if low >= high || high >= 1 << 31 {
        let problem = format!("RED with the thresholds {low} and {high}");
        return Err(queue.refuse("high", problem, "more than `low`, and below 2^31"));
    }
    let above_zero = "a number above 0, up to 1";
    let probability = queue.or_where("probability", 0.1, |value| value > 0.0, above_zero)?;
    let weight = queue.or_where("weight", 0.002, |value| value > 0.0, above_zero)?;
    // At least a tick: RED divides by it.
    let usual = Time::ticks(RED_BYTES * 8 * Time::TICKS_PER_SECOND / rate).max(Time::TICK);
    let packet_time = queue.optional::<Time>("packet_time")?.unwrap_or(usual);
    if packet_time == Time::ZERO {
        return Err(queue.refuse("packet_time", "a packet that takes no time", "a time above 0"));
    }
    Ok(RedSettings {
        limit,
        low: low.into(),
        high: high.into(),
        probability: share(queue, "probability", probability)?,
        weight: share(queue, "weight", weight)?,
        is_gentle: queue.or("gentle", true)?,
        marks: queue.or("ecn", false)?,
        marks_only: queue.or("marks_only", false)?,
        packet_time,
        packet_bytes: positive(queue, "packet_bytes")?,
    })
}

/// Reads `target` ("5ms"), `interval` ("100ms"), `mtu` (1514), `ecn` and `ce_threshold`.
fn read_codel(queue: &mut Section, marks: bool) -> Result<CodelSettings, ScenarioError> {
    let (target, interval) = (queue.or("target", Time::millis(5))?, queue.or("interval", Time::millis(100))?);
    if interval == Time::ZERO || target > interval {
        let problem = format!("CoDel with a target of {target} in an interval of {interval}");
        return Err(queue.refuse("interval", problem, "a time above 0, and not below `target`"));
    }
    Ok(CodelSettings {
        target,
        interval,
        mtu: at_least_one(queue, "mtu", 1514)?,
        marks: queue.or("ecn", marks)?,
        ce_threshold: queue.optional("ce_threshold")?,
    })
}
