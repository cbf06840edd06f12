//! The order test of the NSX paper (section IV-A) between three guests: A sends to B and then to C, and B,
//! once it has that, sends to C. C must have A's message before B's. A round in which it has not is an error.

use std::net::Ipv4Addr;

use paceline_kernel::Time;
use paceline_packets::{LinkSpec, Packets, topology};

use super::bench::{US, cell, refused, unless_skipped, with_machines};
use super::guests::{Guests, machines};
use super::transfers::START;
use super::turns::{Clocks, Host, run_alone, run_in_turns};
use crate::parameters::kinds::{count, micros};
use crate::prelude::*;

/// The latency of a link from a host to the switch, and how long the bridge of a host takes for a frame.
const LATENCY_US: u64 = 50;
const BRIDGE: Time = Time::micros(10);
/// Longer than any round takes.
const ROUND: Time = Time::millis(5);
/// What the console of C says at the end, before the rounds that were wrong.
const DONE: &str = " wrong ";
/// What the console of A says of its clock, before the first round and after the last one.
const CLOCK: &str = "clock ";

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let rounds = parameters.one("rounds", &count(10..=100_000))?;
    let turns_us = parameters.points("turns_us", &micros(10..=100_000))?;
    let factors = parameters.points("factors", &count(3..=10_000))?;
    let is_over = move |consoles: &[String]| measure(consoles, rounds).is_ok();
    let guests = Guests::new(&[]);
    let of = guests.clone();
    let mut cells = vec![cell(ordered(rounds), 1.0, move || {
        let ran = of.run(&network()?, &scripts(rounds), START, end(rounds))?;
        measure(&ran.consoles, rounds)
    })];
    let clocks: Vec<Clocks> =
        std::iter::once(Clocks::Apart).chain(factors.iter().map(|factor| Clocks::Dilated(*factor))).collect();
    for &clocks in &clocks {
        for &turn_us in &turns_us {
            let of = guests.clone();
            let host = Host { turn: Time::micros(turn_us), bridge: BRIDGE, clocks };
            cells.push(cell(in_turns(rounds, turn_us, clocks), 1.0, move || {
                let started = of.start(&places()?, &scripts(rounds), START)?;
                let turned = run_in_turns(started, host, is_over, end(rounds))?;
                let mut measure = measure(&turned.consoles, rounds)?;
                measure.values.insert("used", 100.0 * turned.used);
                Ok(measure)
            }));
        }
    }
    let mut alone = cell(left_alone(rounds), 1.0, move || {
        let started = guests.start(&places()?, &scripts(rounds), START)?;
        measure(&run_alone(started, ready(), is_over)?, rounds)
    });
    // It is a race on the real machine.
    alone.alone = true;
    cells.push(alone);
    Ok(Plan::new(cells, move |results| unless_skipped(judge(rounds, &turns_us, &clocks, results))))
}

fn ordered(rounds: u64) -> String {
    format!("netwarp/order/time/{rounds}")
}

fn in_turns(rounds: u64, turn_us: u64, clocks: Clocks) -> String {
    match clocks {
        Clocks::Apart => format!("netwarp/order/turns{turn_us}us/{rounds}"),
        Clocks::Dilated(factor) => format!("netwarp/order/dilated{factor}/ticks{turn_us}us/{rounds}"),
    }
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
    let script =
        |(rank, first, after): (u32, &str, &str)| format!("{first}probe rounds {rank} {rounds} {to}{after}");
    // B sends to C alone, which is the second of the two.
    let of_a = (0, "sleep 0.2; probe clock; ", "; probe clock");
    [of_a, (1, "", ""), (2, "", "")].into_iter().map(script).collect()
}

/// The share of rounds in which C had B's message first, and how long a round took by A's clock.
fn measure(consoles: &[String], rounds: u64) -> Found<Measure> {
    // The kernel writes to the console too: a number is what follows its words.
    let numbers = |console: Option<&String>, words: &str| -> Vec<f64> {
        let after = |rest: &str| rest.split_whitespace().next()?.parse().ok();
        console.map_or("", String::as_str).split(words).skip(1).filter_map(after).collect()
    };
    let (clock, wrong) = (numbers(consoles.first(), CLOCK), numbers(consoles.last(), DONE));
    let ([begin, end], [wrong]) = (&clock[..], &wrong[..]) else {
        return Err(CellError::Guests(format!("A or C has no result: {}", consoles.join("\n"))));
    };
    let rounds = rounds as f64;
    let values = [("error", 100.0 * wrong / rounds), ("round", 1e-3 * (end - begin) / rounds)];
    Ok(Measure { values: values.into(), ..Measure::default() })
}

/// How guests are run, in words.
fn in_words(clocks: Clocks) -> String {
    match clocks {
        Clocks::Apart => "in turns, a clock a machine".into(),
        Clocks::Dilated(factor) => format!("in ticks, dilated {factor} times"),
    }
}

fn judge(rounds: u64, turns_us: &[u64], clocks: &[Clocks], results: &Results) -> Found<Finding> {
    let columns = ["guests are run", "turn or tick (us)", "errors (%)", "a round (us)", "core used (%)"];
    let mut table = Table::new("Rounds out of order, and how long a round takes by A's clock", columns);
    let mut claims = Claims::default();
    let mut row = |how: String, turn: String, key: &str, used: Option<f64>| -> Found<f64> {
        let (errors, round) = (results.value(key, "error")?, results.value(key, "round")?);
        let used = used.map_or("-".into(), |used| format!("{used:.1}"));
        table.row([how, turn, format!("{errors:.1}"), format!("{round:.0}"), used]);
        Ok(errors)
    };
    let ordered_errors = row("in the order of simulated time".into(), "-".into(), &ordered(rounds), None)?;
    claims.add(format!("errors of {rounds} rounds in the order of simulated time"), || {
        let criterion = Criterion::invariant(Shape::exactly(0.0));
        let criterion = criterion.saying("0 % with turns of 30 ms, 4 % with 30 us (figure 10, NSX)");
        Ok((criterion, Ours::one(ordered_errors, "%")))
    })?;
    let mut series = Vec::new();
    for &clocks in clocks {
        let mut points = Vec::new();
        for &turn_us in turns_us {
            let key = in_turns(rounds, turn_us, clocks);
            let used = results.value(&key, "used")?;
            points.push((turn_us as f64, row(in_words(clocks), turn_us.to_string(), &key, Some(used))?));
        }
        let most = points.iter().map(|(_, errors)| *errors).fold(0.0, f64::max);
        claims.add(format!("the most errors {}", in_words(clocks)), || {
            let words = match clocks {
                Clocks::Apart => "3 to 56 % (figure 10, CSX)",
                Clocks::Dilated(_) => "figure 1b: virtual clocks, but no order",
            };
            Ok((Criterion::stated(Statement::Sign, words, Shape::Above(0.0)), Ours::one(most, "%")))
        })?;
        series.push(Series::ours(in_words(clocks), Kind::Lines, points));
    }
    row("left alone".into(), "-".into(), &left_alone(rounds), None)?;
    let ends = [turns_us.first(), turns_us.last()];
    let line = ends.into_iter().flatten().map(|turn| (*turn as f64, ordered_errors)).collect();
    series.extend([
        Series::ours("in the order of simulated time", Kind::Lines, line),
        Series::published("CSX", Kind::Points, vec![(30.0, 3.0), (30_000.0, 56.0)]),
        Series::published("NSX", Kind::Points, vec![(30.0, 4.0), (30_000.0, 0.0)]),
    ]);
    let figure = plot(
        "Errors over the turns of guests, or the ticks of their host",
        "In the order of simulated time guests have no turns: it is the same for all. Published: figure 10 of the paper, on Xen, with \
         two cores and turns (ticks) of 30 us and 30 ms.",
        [Axis::log("turn or tick", "us"), Axis::linear("errors", "%")],
        series,
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
        "Under time dilation (figure 1b of the paper) they share the same host, and their clocks read its time divided by a factor: at each tick of the \
         host a guest may run up to where its clock must be at the tick's end, at the core's full speed, and is then held until the next tick. The \
         bridge hands frames over at once, whatever clocks read."
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
        "Dilation keeps clocks together to a tick, and orders nothing within one: A can be held between its two messages when a tick is used up, \
         and B, whose clock is not as far, answers before the next one. Its price is paid by clocks that cannot leap: a second of a guest takes as \
         many seconds of the host as the factor says, whether anybody computes or not."
            .into(),
    ]
}
