//! `cargo bench -p paceline-engine --bench balance`: what it brings that LPs move while a run goes on. A tenth of the LPs gets
//! most of the messages, with loads evened out and without; groups whose LPs are scattered over the federates, brought together
//! and not; and what a federate pays for LPs without consecutive numbers.
//!
//! Everything in one table is measured in one go, interleaved. Runs take some seconds: the first look is after one.

#[path = "common/mod.rs"]
mod common;

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use comfy_table::{Table, presets};
use common::{Candidate, interleave, rounds};
use paceline_engine::{Report, Simulation, Sync};
use paceline_kernel::{Balance, Context, LpId, Model, Partition, Time};

const LPS: u32 = 2_048;
const MESSAGES: u32 = 16;
const THREADS: u32 = 2;

/// Where messages go.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Anywhere.
    Any,
    /// With this probability to the first tenth of the LPs, else anywhere.
    Tenth(f64),
    /// With this probability to the sender's group of 32 LPs, else anywhere.
    Group(f64),
}

/// PHOLD with a law of its own, its LPs in runs or scattered over the federates.
#[derive(Clone, Copy, Debug)]
struct Passing {
    law: Law,
    /// Steps of a multiplication chain in each event, about one nanosecond each.
    work_ns: u64,
    scattered: bool,
}

impl Model for Passing {
    type State = u64;
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        LPS
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn partition(&self, federates: u32) -> Partition {
        if !self.scattered {
            return Partition::runs(LPS, federates);
        }
        Partition::table(&(0..LPS).map(|lp| lp % federates).collect::<Vec<u32>>())
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
        for _ in 0..MESSAGES {
            let delay = Time::from_secs_f64(1.0 + cx.rng().exponential(1.0));
            cx.schedule(delay, ());
        }
        0
    }
    #[inline(always)]
    fn handle(&self, received: &mut u64, (): &(), cx: &mut Context<Self>) {
        *received += 1;
        let mut chain = *received;
        for _ in 0..self.work_ns {
            chain = black_box(chain.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        let (first, size) = match self.law {
            Law::Tenth(share) if cx.rng().chance(share) => (0, LPS / 10),
            Law::Group(share) if cx.rng().chance(share) => (cx.lp().0 / 32 * 32, 32),
            _ => (0, LPS),
        };
        let to = LpId(first + cx.rng().below(u64::from(size)) as u32);
        let delay = Time::from_secs_f64(1.0 + cx.rng().exponential(1.0));
        cx.send(to, delay, ());
    }
    fn has_undo(&self) -> bool {
        true
    }
    fn undo(&self, received: &mut u64, (): &(), _: &mut paceline_kernel::Kept<'_>) {
        *received -= 1;
    }
}

/// What a run came to besides its speed.
fn notes(report: &Report<()>) -> String {
    let Some(found) = report.balancing else { return String::new() };
    let percent = |share: Option<f64>| share.map_or("?".into(), |share| format!("{:.0} %", 100.0 * share));
    format!(
        "{} looks, {} LPs in {} moves, {:.0} ms; largest {:.2} to {:.2} of the mean; remote {} to {}",
        found.looks,
        found.moved,
        found.moves,
        1e3 * found.wall.as_secs_f64(),
        found.imbalance_before,
        found.imbalance_after,
        percent(found.remote_before),
        percent(found.remote_after),
    )
}

type Case = (&'static str, Passing, Sync, Balance, u32);

fn table(title: &str, cases: Vec<Case>, until_s: u64) {
    let mut came_to = Vec::new();
    let mut candidates = Vec::new();
    for (what, model, sync, balance, federates) in cases {
        let note = Rc::new(RefCell::new(String::new()));
        came_to.push(Rc::clone(&note));
        let name = format!("{}, {federates} federates, {what}", sync.name());
        let run = move || {
            let run = Simulation::new(model).sync(sync).federates(federates).threads(THREADS);
            let report =
                run.balance(balance).until(Time::secs(until_s)).run().expect("the model keeps the rules");
            *note.borrow_mut() = notes(&report);
            report.events
        };
        candidates.push(Candidate { name, run: Box::new(run) });
    }
    let measured = interleave(candidates, rounds());
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["", "M events/s", "spread %", "came to"]);
    for (row, note) in measured.iter().zip(&came_to) {
        let (rate, spread) = (row.median() / 1e6, row.spread_percent());
        table.add_row([
            row.name.clone(),
            format!("{rate:.2}"),
            format!("{spread:.1}"),
            note.borrow().clone(),
        ]);
    }
    println!("\n{title}\n\n{table}");
}

fn main() {
    let (any, tenth, group) = (Law::Any, Law::Tenth(0.9), Law::Group(0.9));
    let law = |law, scattered| Passing { law, work_ns: 0, scattered };
    let kinds = |sync, federates| {
        [
            ("runs", law(any, false), sync, Balance::Off, federates),
            ("scattered", law(any, true), sync, Balance::Off, federates),
        ]
    };
    let all = |make: &dyn Fn(Sync, u32) -> Vec<Case>| -> Vec<Case> {
        let modes = [(Sync::Window, 2), (Sync::Window, 8), (Sync::Optimistic, 2)];
        modes.into_iter().flat_map(|(sync, federates)| make(sync, federates)).collect()
    };
    table(
        "LPs with and without consecutive numbers",
        all(&|sync, federates| kinds(sync, federates).into()),
        1_000,
    );
    for (work_ns, until_s) in [(0, 3_000), (500, 500)] {
        let loads = |sync, federates| {
            let model = Passing { work_ns, ..law(tenth, false) };
            let case = |what, balance| (what, model, sync, balance, federates);
            vec![
                case("off", Balance::Off),
                case("load", Balance::Load),
                case("load+communication", Balance::LoadAndCommunication),
            ]
        };
        let title =
            format!("A tenth of the LPs gets nine of ten messages; {work_ns} ns of work in each event");
        table(&title, all(&loads), until_s);
    }
    let groups = |sync, federates| {
        let case = |what, scattered, balance| (what, law(group, scattered), sync, balance, federates);
        vec![
            case("off", true, Balance::Off),
            case("load+communication", true, Balance::LoadAndCommunication),
            case("in runs from the start", false, Balance::Off),
        ]
    };
    table("Groups of 32 LPs scattered over the federates", all(&groups), 3_000);
}
