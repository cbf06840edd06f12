//! `cargo bench -p paceline-engine --bench memory`: whether memory budgets of optimistic runs hold, and what
//! a round of GVT, a commit and a rollback cost.
//!
//! - Budgets: the most bytes counted in the logs, by the budget, and the most bytes allocated beyond what a
//!   sequential run of the model allocates. A row over 110 % of its budget by what is counted is marked.
//! - Costs: minima taken for a round of GVT, batches and LPs' parts of batches looked at for each commit and
//!   each event committed, and for each rollback beside the events it undoes, with 2, 8 and 64 federates and
//!   10 times the LPs. What is proportional to what changed stays the same down a column, but for the depth
//!   of GVT's tree of minima.
//!
//! Everything is counted, so that a row runs once, however busy the machine is.

#[path = "memory/allocated.rs"]
mod allocated;
#[path = "limits/hard.rs"]
mod hard;

use comfy_table::{Table, presets};
use hard::{Hard, Kind};
use paceline_engine::{Protocol, Report, Simulation, Speculation};
use paceline_kernel::{Model, Rollbacks, Saving, Time};
use paceline_models::phold::{Destination, Phold};

/// Sizes that the hard models share with the bench `limits`.
mod groups {
    pub const LPS: u32 = 2_048;
    pub const MESSAGES: u32 = 16;
}

#[global_allocator]
static ALLOCATED: allocated::Allocated = allocated::Allocated;

const FEDERATES: u32 = 8;
const THREADS: u32 = 2;
const EVENTS: f64 = 1e6;
/// By how much what is counted may exceed a budget.
const MOST_OVER: f64 = 1.1;

fn phold(lps: u32, lookahead_s: f64) -> Phold {
    Phold {
        lps,
        messages_per_lp: f64::from(groups::MESSAGES),
        lookahead: Time::from_secs_f64(lookahead_s),
        mean: Time::secs(1),
        work_ns: 0,
        destination: Destination::Any { remote: 0.25 },
    }
}

fn simulation<M: Model>(model: M, until: Time) -> Simulation<M> {
    Simulation::new(model).until(until)
}

/// A model's rows: two ways to save states and three budgets.
fn budgets<M: Model + Clone>(table: &mut Table, name: &str, model: &M, until_s: f64) {
    let until = Time::from_secs_f64(until_s);
    let plain = allocated::most_during(|| {
        simulation(model.clone(), until)
            .protocol(Protocol::Sequential)
            .run()
            .expect("the model keeps the rules")
            .digest
    });
    for (saving, saved) in [(Saving::Periodic, "periodic"), (Saving::Undo, "undo")] {
        for kib in [256, 1_024, 4_096] {
            let bytes = kib << 10;
            let speculation = Speculation { saving, memory_bytes: Some(bytes), ..Speculation::default() };
            let run =
                simulation(model.clone(), until).protocol(Protocol::Optimistic).speculation(speculation);
            let run = run.federates(FEDERATES).threads(THREADS);
            let (report, most) = allocated::most_during(|| run.run().expect("the model keeps the rules"));
            assert_eq!(report.digest, plain.0, "a budget does not change the result");
            let rollbacks = report.rollbacks.unwrap_or_default();
            let counted = rollbacks.most_log_bytes as f64 / bytes as f64;
            table.add_row([
                name.to_owned(),
                saved.to_owned(),
                format!("{kib}"),
                format!("{:.0}", rollbacks.most_log_bytes as f64 / 1024.0),
                format!("{:.1}{}", 100.0 * counted, if counted > MOST_OVER { " OVER" } else { "" }),
                format!("{:.0}", most.saturating_sub(plain.1) as f64 / 1024.0),
                format!("{:.1}", 100.0 * rollbacks.efficiency()),
            ]);
        }
    }
}

fn by(part: u64, whole: u64) -> String {
    format!("{:.2}", part as f64 / whole.max(1) as f64)
}

fn costs(table: &mut Table, name: &str, report: &Report<impl Sized>) {
    let Rollbacks { primary, secondary, undone, commits, commit_visits, rollback_visits, safe, .. } =
        report.rollbacks.clone().unwrap_or_default();
    let logged = report.events.saturating_sub(safe);
    let rollbacks = primary + secondary;
    table.add_row([
        name.to_owned(),
        report.groups.to_string(),
        by(report.gvt_steps, report.gvt_rounds),
        by(report.events, report.gvt_rounds),
        by(commit_visits, commits),
        by(commit_visits, logged),
        by(undone, rollbacks),
        by(rollback_visits, rollbacks),
    ]);
}

fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(columns);
    table
}

fn main() {
    let mut held =
        table(&["", "saving", "budget KiB", "counted KiB", "% of budget", "allocated KiB", "efficiency %"]);
    for lookahead_s in [0.0, 0.001, 1.0] {
        let until_s = EVENTS / f64::from(groups::LPS * groups::MESSAGES) * (1.0 + lookahead_s);
        budgets(&mut held, &format!("lookahead {lookahead_s}"), &phold(groups::LPS, lookahead_s), until_s);
    }
    let hundredth = Time::millis(10);
    for (name, kind, lookahead, until_s) in [
        ("burst, lookahead 1", Kind::Burst, Time::secs(1), 10.0),
        ("burst, lookahead 0", Kind::Burst, Time::ZERO, 6.0),
        ("zero-delay chains", Kind::Chains, Time::ZERO, 3.0),
        ("uneven load", Kind::Tenth, hundredth, 30.0),
        ("all to all", Kind::AllToAll, hundredth, 30.0),
        ("1 in 1000 without delay", Kind::RareZero, Time::ZERO, 60.0),
        ("uneven work", Kind::Heavy, hundredth, 10.0),
    ] {
        budgets(&mut held, name, &Hard { kind, lookahead }, until_s);
    }
    println!("\nBudgets, {FEDERATES} federates on {THREADS} threads\n\n{held}");
    let mut spent = table(&[
        "",
        "groups",
        "minima/round",
        "events/round",
        "looked at/commit",
        "looked at/event",
        "undone/rollback",
        "looked at/rollback",
    ]);
    for lookahead_s in [0.0, 0.01] {
        for (lps, federates) in
            [(1, 2), (1, 8), (1, 64), (10, 8), (10, 64)].map(|(times, n)| (times * groups::LPS, n))
        {
            let until_s = EVENTS / f64::from(lps * groups::MESSAGES);
            let run = simulation(phold(lps, lookahead_s), Time::from_secs_f64(until_s))
                .protocol(Protocol::Optimistic);
            let run = run.federates(federates).groups(federates).threads(THREADS);
            let report = run.run().expect("PHOLD keeps the rules");
            costs(&mut spent, &format!("lookahead {lookahead_s}, {lps} LPs"), &report);
        }
    }
    println!("\nCosts\n\n{spent}");
}
