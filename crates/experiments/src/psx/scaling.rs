//! Figure 12: a high load on a growing number of guests.

use paceline_machine::Wait;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};

use super::claims::{faster, same_digests};
use super::unstated::Sweeps;
use super::{Case, Gear, Load, Scheduler};
use crate::plan::{CellError, Plan, Results, Setup};

const DOMAINS: [u32; 5] = [16, 24, 32, 48, 64];

/// The gain that is wanted at the most domains. "Over 20" is published.
pub(super) const WANTED: f64 = 15.0;

const NOTE: &str = "OPT gains less than CONS, as published, because CSX is better with OPT: a guest that gets its turn runs some lookaheads ahead.";

/// Plans figure 12.
pub fn fig12(setup: &Setup) -> Plan {
    // The paper has 100 s. A federate has some 5,000 events in each of them: all windows are alike, and the run time grows with their number.
    let until_s = if setup.quick { 6 } else { 30 };
    let load = Load { lps: 100, messages: 100.0, local: 90, until_s };
    let mut cells = Vec::new();
    for domains in DOMAINS {
        for gear in Gear::ALL {
            cells.extend(
                Scheduler::COMPARED.map(|scheduler| case(load, domains, gear, scheduler).cell(setup)),
            );
        }
    }
    let sweeps = Sweeps::new(load, setup);
    cells.extend(sweeps.cells(setup));
    let judge = move |results: &Results| {
        let mut finding = judge(results, load)?;
        sweeps.add(&mut finding, results)?;
        Ok(finding)
    };
    Plan { cells, judge: Box::new(judge) }
}

/// The domains at which the gain is published as a number.
pub(super) const fn most() -> u32 {
    DOMAINS[DOMAINS.len() - 1]
}

/// What the check of the gain at the most domains is called.
pub(super) fn gain_at_most(gear: Gear) -> String {
    format!("gain of {} at {} domains", gear.name(), most())
}

pub(super) fn case(load: Load, domains: u32, gear: Gear, scheduler: Scheduler) -> Case {
    Case { load, domains, gear, scheduler, wait: Wait::Poll }
}

fn judge(results: &Results, load: Load) -> Result<Finding, CellError> {
    let time = |domains, gear, scheduler| results.seconds(&case(load, domains, gear, scheduler).key());
    let mut table = Table::new(
        "Run times in seconds",
        ["domains", "synchronization", "CSX-32x", "PSX", "PSX+", "gain of PSX", "gain of PSX+"],
    );
    let (mut gains, mut pairs, mut digests) = (Vec::new(), Vec::new(), Vec::new());
    for gear in Gear::ALL {
        for domains in DOMAINS {
            let [csx, psx, plus] = Scheduler::COMPARED.map(|scheduler| time(domains, gear, scheduler));
            let (csx, psx, plus) = (csx?, psx?, plus?);
            let numbers = [csx, psx, plus].map(|time| format!("{time:.2}"));
            let [one, two, three] = numbers;
            let (gain, own) = (format!("{:.2}", csx / psx), format!("{:.2}", csx / plus));
            table.row([domains.to_string(), gear.name().into(), one, two, three, gain, own]);
            gains.push((gear, domains, csx / psx));
            pairs.push((format!("{domains} domains, {}", gear.name()), psx, plus));
        }
    }
    for domains in DOMAINS {
        let keys = Gear::ALL.iter().flat_map(|gear| {
            Scheduler::COMPARED.map(|scheduler| case(load, domains, *gear, scheduler).key())
        });
        digests.push(keys.collect());
    }
    let gain = |gear, domains| {
        let found = gains.iter().find(|(own, at, _)| (*own, *at) == (gear, domains));
        found.expect("every gain is there").2
    };
    let mut checks = Vec::new();
    for gear in Gear::ALL {
        let grows = DOMAINS.windows(2).all(|pair| gain(gear, pair[1]) >= gain(gear, pair[0]) * 0.98);
        let told: Vec<_> = DOMAINS.iter().map(|domains| format!("{:.2}", gain(gear, *domains))).collect();
        checks.push(Check {
            what: format!("gain of {} over 16, 24, 32, 48, 64 domains", gear.name()),
            published: "below 1, slightly above 1, ..., over 20".into(),
            ours: told.join(", "),
            must: "grows with the domains".into(),
            holds: grows && gain(gear, 64) > gain(gear, 16),
        });
        checks.push(Check {
            what: gain_at_most(gear),
            published: "over 20".into(),
            ours: format!("{:.1}", gain(gear, most())),
            must: format!("at least {WANTED}"),
            holds: gain(gear, most()) >= WANTED,
        });
    }
    let (cons, opt) = (time(64, Gear::Cons, Scheduler::Csx(32))?, time(64, Gear::Opt, Scheduler::Csx(32))?);
    checks.push(Check {
        what: "run times under CSX at 64 domains: CONS, OPT".into(),
        published: "OPT better".into(),
        ours: format!("{cons:.1} s, {opt:.1} s"),
        must: "OPT below CONS".into(),
        holds: opt < cons,
    });
    checks.push(faster(pairs));
    checks.push(same_digests(results, digests)?);
    let mut series = Vec::new();
    for gear in Gear::ALL {
        for scheduler in Scheduler::COMPARED {
            let point = |domains: &u32| Ok((f64::from(*domains), time(*domains, gear, scheduler)?));
            let points = DOMAINS.iter().map(point).collect::<Result<Vec<_>, CellError>>()?;
            series.push(Series::ours(format!("{}, {}", scheduler.name(), gear.name()), Kind::Lines, points));
        }
    }
    let times = Figure {
        title: "Run time over the number of domains".into(),
        caption: "Weak scaling: the load of a federate stays the same.".into(),
        x: Axis::linear("domains", ""),
        y: Axis::log("run time", "s"),
        series,
    };
    let mut curves: Vec<_> = Gear::ALL
        .iter()
        .map(|gear| {
            let points = DOMAINS.iter().map(|domains| (f64::from(*domains), gain(*gear, *domains))).collect();
            Series::ours(gear.name(), Kind::Lines, points)
        })
        .collect();
    curves.push(Series::published("CONS", Kind::Points, vec![(64.0, 20.0)]));
    let gains = Figure {
        title: "Gain of PSX over CSX".into(),
        caption: "The text states a gain of over 20 at 64 domains.".into(),
        x: Axis::linear("domains", ""),
        y: Axis::linear("gain", "times"),
        series: curves,
    };
    let about = format!(
        "PHOLD with 100 LPs a federate and 100 messages an LP, 90 % local, lookahead 1 s, {} s of simulated time (the paper: 100 s); 16 to 64 \
         guests on 24 PCPUs.",
        load.until_s
    );
    Ok(Finding {
        about: vec![about],
        checks,
        figures: vec![times, gains],
        tables: vec![table],
        notes: vec![NOTE.into()],
        ..Finding::default()
    })
}
