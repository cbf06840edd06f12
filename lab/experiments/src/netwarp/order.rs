//! The order test of the NSX paper (section IV-A) between three guests: A sends to B and then to C, and B,
//! once it has that, sends to C. C must have A's message before B's. A round in which it has not is an error.

use std::net::Ipv4Addr;

use paceline_kernel::Time;
use paceline_packets::{LinkSpec, Packets, topology};

use super::bench::{US, cell, refused, unless_skipped, with_machines};
use super::guests::{Guests, machines};
use super::transfers::START;
use super::turns::{Host, run_alone, run_in_turns};
use crate::parameters::kinds::{count, micros};
use crate::prelude::*;

/// The latency of a link from a host to the switch, and how long the bridge of a host takes for a frame.
const LATENCY_US: u64 = 50;
const BRIDGE: Time = Time::micros(10);
/// Longer than any round takes.
const ROUND: Time = Time::millis(5);
/// What the console of C says at the end.
const DONE: &str = " wrong ";

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let rounds = parameters.one("rounds", &count(10..=100_000))?;
    let turns_us = parameters.points("turns_us", &micros(10..=100_000))?;
    let guests = Guests::new(&[]);
    let of = guests.clone();
    let mut cells = vec![cell(ordered(rounds), 1.0, move || {
        let ran = of.run(&network()?, &scripts(rounds), START, end(rounds))?;
        errors(&ran.consoles, rounds)
    })];
    for &turn_us in &turns_us {
        let of = guests.clone();
        cells.push(cell(in_turns(rounds, turn_us), 1.0, move || {
            let started = of.start(&places()?, &scripts(rounds), START)?;
            let host = Host { turn: Time::micros(turn_us), bridge: BRIDGE };
            errors(&run_in_turns(started, host, DONE, end(rounds))?, rounds)
        }));
    }
    let mut alone = cell(left_alone(rounds), 1.0, move || {
        errors(&run_alone(guests.start(&places()?, &scripts(rounds), START)?, ready(), DONE)?, rounds)
    });
    // It is a race on the real machine.
    alone.alone = true;
    cells.push(alone);
    Ok(Plan::new(cells, move |results| unless_skipped(judge(rounds, &turns_us, results))))
}

fn ordered(rounds: u64) -> String {
    format!("netwarp/order/time/{rounds}")
}

fn in_turns(rounds: u64, turn_us: u64) -> String {
    format!("netwarp/order/turns{turn_us}us/{rounds}")
}

fn left_alone(rounds: u64) -> String {
    format!("netwarp/order/alone/{rounds}")
}

/// When B and C wait for messages, and A for the time to begin.
fn ready() -> Time {
    START + Time::millis(100)
}

/// When all rounds are over, however long they take. On one core guests come to the start later than each
/// does by its own clock.
fn end(rounds: u64) -> Time {
    START + START + Time::ticks(ROUND.as_ticks() * rounds)
}

/// Three guests at a switch.
fn network() -> Found<Packets> {
    let network = topology::star(3, &LinkSpec::new(1_000_000_000, LATENCY_US * US)).map_err(refused)?;
    with_machines(network)
}

fn places() -> Found<Vec<(u32, Ipv4Addr)>> {
    machines(&network()?)
}

/// Of A, B and C. A begins when the others wait.
fn scripts(rounds: u64) -> Vec<String> {
    let to = "10.0.0.2 10.0.0.3";
    let script = |(rank, first): (u32, &str)| format!("{first}probe rounds {rank} {rounds} {to}");
    // B sends to C alone, which is the second of the two.
    [(0, "sleep 0.2; "), (1, ""), (2, "")].into_iter().map(script).collect()
}

/// The share of rounds in which C had B's message first.
fn errors(consoles: &[String], rounds: u64) -> Found<Measure> {
    let of_c = consoles.last().map_or("", String::as_str);
    let wrong = of_c.split(DONE).nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    let wrong =
        wrong.ok_or_else(|| CellError::Guests(format!("C has no result: {}", consoles.join("\n"))))?;
    Ok(Measure { values: [("error", 100.0 * wrong / rounds as f64)].into(), ..Measure::default() })
}

fn judge(rounds: u64, turns_us: &[u64], results: &Results) -> Found<Finding> {
    let mut table = Table::new("Rounds out of order", ["guests are run", "errors (%)"]);
    let mut claims = Claims::default();
    let ordered = results.value(&ordered(rounds), "error")?;
    table.row(["in the order of simulated time".to_owned(), format!("{ordered:.1}")]);
    claims.add(
        format!("errors of {rounds} rounds in the order of simulated time, in %"),
        "0 with turns of 30 ms, 4 with 30 us (figure 10, NSX)",
        "0",
        || Ok((format!("{ordered:.1}"), ordered == 0.0)),
    )?;
    let mut points = Vec::new();
    for &turn_us in turns_us {
        let errors = results.value(&in_turns(rounds, turn_us), "error")?;
        table.row([format!("in turns of {turn_us} us, a clock a machine"), format!("{errors:.1}")]);
        points.push((turn_us as f64, errors));
    }
    let most = points.iter().map(|(_, errors)| *errors).fold(0.0, f64::max);
    claims.add(
        "the most errors in turns with a clock a machine, in %",
        "3 to 56 (figure 10, CSX)",
        "above 0",
        || Ok((format!("{most:.1}"), most > 0.0)),
    )?;
    let alone = results.value(&left_alone(rounds), "error")?;
    table.row(["left alone".to_owned(), format!("{alone:.1}")]);
    let (first, last) =
        (turns_us.first().map_or(1.0, |turn| *turn as f64), turns_us.last().map_or(2.0, |turn| *turn as f64));
    let figure = plot(
        "Errors over the turns of guests",
        "In the order of simulated time guests have no turns: it is the same for all. Published: figure 10 of the paper, on Xen, with \
         two cores and turns (ticks) of 30 us and 30 ms.",
        [Axis::log("turn", "us"), Axis::linear("errors", "%")],
        vec![
            Series::ours("in turns, a clock a machine", Kind::Lines, points),
            Series::ours(
                "in the order of simulated time",
                Kind::Lines,
                vec![(first, ordered), (last, ordered)],
            ),
            Series::published("CSX", Kind::Points, vec![(30.0, 3.0), (30_000.0, 56.0)]),
            Series::published("NSX", Kind::Points, vec![(30.0, 4.0), (30_000.0, 0.0)]),
        ],
    );
    let finding = Finding {
        about: about(),
        figures: vec![figure],
        tables: vec![table],
        notes: notes(),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn about() -> Vec<String> {
    vec![
        "Three guests with Linux run the test of section IV-A over UDP: A sends to B and then to C, B sends to C once it has A's message, and C \
         tells A to go on. In the order of simulated time they are hosts at a switch with links of 50 us, and none runs ahead of what may still \
         reach it. In turns they share one core of a simulated host, with a fair scheduler and a bridge of 10 us; each has a clock of its own, \
         which stands while it waits for the core. Left alone they are three threads on this machine, which hand over frames at once."
            .into(),
    ]
}

fn notes() -> Vec<String> {
    vec![
        "What is real: the guests, their kernels and programs, everywhere; and the race of those that are left alone, which another run or another \
         load changes. What is simulated: the network, and the host on which guests take turns, so that these results repeat."
            .into(),
        "The paper's guests poll (Open MPI) and share two cores with the domain that forwards their messages, under Xen: its errors grow with the tick. \
         Ours sleep while they wait. A is cut off between its two messages only where a turn is about as short as what it does in a round, \
         and B is then first."
            .into(),
    ]
}
