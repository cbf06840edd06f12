//! Figures 1 to 3: run time over the number of LPs, for the three runtimes, with hyper-threading on and off.

use super::about;
use super::curves::{
    ALLOWED, ALWAYS, Curve, EQUAL, FEW, MANY, MORE, Runs, TWO, best_lps, best_times, beyond, hyper_threading,
    name, runtimes,
};
use super::lp::Runtime;
use super::runs::{CPUS, Case, Dealing, Scheduler, Size};
use super::threading::Sweeps;
use crate::parameters::kinds::count;
use crate::prelude::*;

pub fn plan(setup: &Setup, parameters: &mut Parameters, figure: usize) -> Result<Plan, ScenarioError> {
    let lps = parameters.points("lps", &count(1..=64))?;
    let hosts = parameters.one("hosts", &super::hosts())?;
    let steps = parameters.one("steps", &super::steps())?;
    let runs = Runs { lps, size: Size { hosts, steps } };
    let all = runtimes(setup.calibration.get("artis.timed_wait"));
    let mut cells = Vec::new();
    for runtime in all {
        for dealing in Dealing::ALL {
            for scheduler in Scheduler::ALL {
                for smt in [false, true] {
                    let case = |lps| Case { runtime, lps, smt, scheduler, dealing, size: runs.size };
                    cells.extend(runs.lps.iter().map(|lps| case(*lps).cell(setup)));
                }
            }
        }
    }
    let sweeps = Sweeps::read(runs.clone(), figure, setup, parameters)?;
    cells.extend(sweeps.cells(setup, all));
    Ok(Plan::new(cells, move |results| {
        let mut finding = judge(results, &runs, all, figure)?;
        sweeps.add(&mut finding, results, all)?;
        Ok(finding)
    }))
}

/// Numbers in words: those that follow each other as a range.
fn listed(numbers: &[u32]) -> String {
    match numbers {
        [first, .., last] if (last - first) as usize + 1 == numbers.len() => format!("{first} to {last}"),
        _ => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn judge(results: &Results, runs: &Runs, all: [Runtime; 3], figure: usize) -> Found<Finding> {
    let runtime = all[figure - 1];
    let (mut finding, mut claims) =
        (Finding { about: vec![about()], ..Finding::default() }, Claims::default());
    let (off, on) = (runs.published(results, runtime, false)?, runs.published(results, runtime, true)?);
    for (smt, curve) in [(false, &off), (true, &on)] {
        claims.add(best_lps(runtime, smt), || {
            several(&runs.lps)?;
            among(&runs.lps, &CPUS)?;
            let criterion = Criterion::published(f64::from(CPUS), Tolerance::Exact).saying("as many as CPUs");
            let detail = format!("{} s with {}", curve.text(), listed(&runs.lps));
            Ok((criterion, Ours::one(f64::from(curve.best().0), "LPs").with(detail)))
        })?;
    }
    hyper_threading_claims(&mut claims, figure, &off, &on)?;
    if figure == 2 {
        best_times_claims(&mut claims, results, runs, all)?;
    }
    work_claim(&mut claims, results, runs, runtime)?;
    let mut columns = vec!["dealing".to_owned(), "scheduler".into(), "HT".into()];
    columns.extend(runs.lps.iter().enumerate().map(|(place, lps)| match place {
        0 => format!("{lps} LP"),
        _ => lps.to_string(),
    }));
    let mut table = Table::new(format!("Run times of 1000 steps, {}, in seconds", name(runtime)), columns);
    for dealing in Dealing::ALL {
        let mut series = Vec::new();
        for scheduler in Scheduler::ALL {
            for smt in [false, true] {
                let curve = runs.curve(results, (runtime, smt, scheduler, dealing))?;
                let mut row = vec![dealing.name().to_owned(), scheduler.name().into()];
                row.push(if smt { "on" } else { "off" }.into());
                row.extend(curve.0.iter().map(|(_, seconds)| format!("{seconds:.1}")));
                table.row(row);
                let title = format!("{}, {}", scheduler.name(), hyper_threading(smt));
                series.push(Series::ours(title, Kind::Lines, curve.points()));
                if scheduler == Scheduler::LeastLvt {
                    claims.add(beyond(dealing, smt), || curve.excess(smt).map(allowed))?;
                }
            }
        }
        finding.figures.push(plot(format!("Figure {figure}: {}, hosts {}", name(runtime), dealing.name()), format!(
                "Wall-clock time of 1000 steps with {} hosts; the paper's curves are plots, of which its text gives no numbers.",
                runs.size.hosts
            ), [Axis::linear("LPs", ""), Axis::linear("run time", "s")], series));
    }
    finding.tables.push(table);
    finding.notes = notes();
    finding.notes.extend(claims.if_planned("what more LPs than CPUs cost", || cost(results, runs, runtime))?);
    Ok(claims.put_into(finding))
}

/// That signals are the best of the runtimes.
fn best_times_claims(claims: &mut Claims, results: &Results, runs: &Runs, all: [Runtime; 3]) -> Found<()> {
    for smt in [false, true] {
        claims.add(best_times(smt), || {
            let best = |runtime| -> Found<f64> { Ok(runs.published(results, runtime, smt)?.best().1) };
            let times = all.map(best).into_iter().collect::<Found<Vec<_>>>()?;
            let criterion =
                Criterion::stated(Statement::Order, "signals give the best results", Shape::Least(1));
            Ok((criterion, Ours::all(times, "s")))
        })?;
    }
    Ok(())
}

/// That more LPs than CPUs cost no more than their work does.
fn work_claim(claims: &mut Claims, results: &Results, runs: &Runs, runtime: Runtime) -> Found<()> {
    let what =
        format!("least LVT, scattered, HT off: LPs beyond {CPUS} CPUs, times what their work takes at least");
    claims.add(what, || {
        let mut most: Option<f64> = None;
        for lps in runs.lps.iter().copied().filter(|lps| *lps > CPUS) {
            let case = runs.case(runtime, lps, false, Scheduler::LeastLvt, Dealing::Scattered);
            let least = results.value(&case.key(), "work")? / f64::from(CPUS);
            most = Some(most.unwrap_or(0.0).max(case.seconds(results)? / least));
        }
        let most = most.ok_or_else(|| CellError::NotRun(format!("more than {CPUS} LPs")))?;
        Ok(allowed(most))
    })
}

/// What the paper says of hyper-threading in this figure.
fn hyper_threading_claims(claims: &mut Claims, figure: usize, off: &Curve, on: &Curve) -> Found<()> {
    let mut add = |(what, lps): (&str, &[u32]), words: &str, gain: Shape| {
        claims.add(what, || {
            let percent = |lps: &u32| Ok(100.0 * (off.at(*lps)? / on.at(*lps)? - 1.0));
            let percents = lps.iter().map(percent).collect::<Found<Vec<_>>>()?;
            let ours = Ours::all(percents, "%").with(format!("with {} LPs", listed(lps)));
            Ok((Criterion::stated(Statement::Sign, words, gain), ours))
        })
    };
    let percent = 100.0 * EQUAL;
    match figure {
        1 => {
            // Intel's best is a gain of 30 %.
            add(TWO, "slightly better", Shape::within(0.0, 30.0))?;
            add(MORE, "additional overheads", Shape::Below(0.0))
        }
        2 => add(ALWAYS, "always better", Shape::at_least(0.0)),
        _ => {
            add(FEW, "not influential; a strange slowdown at 4", Shape::within(-percent, percent))?;
            add(MANY, "an overhead", Shape::Below(0.0))
        }
    }
}

fn notes() -> Vec<String> {
    vec![
        "\"Scattered\": LPs have hosts wherever these are, so that nearly every ping goes to every other LP; this is how the paper's \
         text reads, and its \"overheads under the synchronization and data distribution management viewpoints\". \"Strips\": an LP \
         has a strip of the torus, and only pings near its borders leave it."
            .into(),
        "Two siblings do 1.2 times the work of a core whatever they run, and nothing is lost in their common cache: hyper-threading adds \
         wherever more than two threads have work. The paper gives no cause for the losses that it found. To have these, a sibling would have \
         to take more than it adds, as the sweeps show: a constant made for the figure."
            .into(),
        "Assumed, since the paper does not say: in the single-threaded runtime messages go through sockets, for `select` waits for \
         descriptors only. Without these system calls it would be the fastest runtime: nothing is handed from thread to thread."
            .into(),
    ]
}

/// What LPs beyond the CPUs cost under least LVT first, in both dealings.
fn cost(results: &Results, runs: &Runs, runtime: Runtime) -> Found<String> {
    let excess = |dealing| -> Found<f64> {
        runs.curve(results, (runtime, false, Scheduler::LeastLvt, dealing))?.excess(false)
    };
    Ok(format!(
        "Under least LVT first the worst of more LPs than CPUs takes {:.2} times the best run time where hosts are scattered, and {:.2} times in \
         strips. Scattered, more LPs bring work that no scheduler can take away: messages to every other LP. The comparison with what \
         that work takes at least leaves it out.",
        excess(Dealing::Scattered)?,
        excess(Dealing::Strips)?
    ))
}

/// A run time that is `most` times as long as something, which may be [`ALLOWED`].
fn allowed(most: f64) -> Compared {
    (Criterion::goal(Shape::at_most(ALLOWED)), Ours::one(most, "times").with("the worst"))
}
