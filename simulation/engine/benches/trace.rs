//! `cargo bench -p paceline-engine --bench trace`: what it costs to trace a run: PHOLD without a trace, with
//! records that are thrown away, and with a Perfetto trace written to a file; interleaved.

#[path = "common/mod.rs"]
mod common;

use std::path::PathBuf;
use std::sync::Arc;

use comfy_table::{Table, presets};
use common::{Candidate, Measured, interleave, rounds};
use paceline_engine::{Protocol, Record, RecordKind, Simulation, TraceSink};
use paceline_kernel::Time;
use paceline_models::phold::{Destination, Phold};
use paceline_report::{Activity, Mark, PerfettoTrace, Slice};

/// Throws records away.
struct Nowhere;

impl TraceSink for Nowhere {
    fn record(&self, records: &[Record]) {
        std::hint::black_box(records);
    }
}

/// Writes the records of a conservative run.
struct ToFile(PerfettoTrace);

impl TraceSink for ToFile {
    fn start(&self, workers: u32, federates: u32) {
        self.0.tracks(workers, federates);
    }

    fn record(&self, records: &[Record]) {
        self.0.write(records.iter().map(|record| {
            let Record { kind, worker, federate, start_ns, end_ns, time, count } = *record;
            let activity = match kind {
                RecordKind::Gvt => return Mark::Gvt { worker, at_ns: end_ns, time },
                RecordKind::Run => Activity::Run,
                _ => Activity::Wait,
            };
            let lvt = federate.map(|_| time);
            Mark::Slice(Slice { activity, worker, federate, start_ns, end_ns, lvt, events: count })
        }));
    }
}

/// How PHOLD (2048 LPs x 16 messages) is run.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    protocol: Protocol,
    federates: u32,
    threads: u32,
    lookahead: Time,
    until: Time,
}

impl Mode {
    fn run(self, sink: Option<Arc<dyn TraceSink>>) -> u64 {
        let model = Phold {
            lps: 2_048,
            messages_per_lp: 16.0,
            lookahead: self.lookahead,
            mean: Time::secs(1),
            work_ns: 0,
            destination: Destination::Any { remote: 0.25 },
        };
        let mut simulation = Simulation::new(model).protocol(self.protocol).until(self.until);
        simulation = simulation.federates(self.federates).threads(self.threads);
        if let Some(sink) = sink {
            simulation = simulation.trace(sink);
        }
        simulation.run().expect("PHOLD keeps the rules").events
    }
}

fn modes() -> [Mode; 4] {
    let second = Time::secs(1);
    let mode = |name, protocol, federates, threads, lookahead, until_s| Mode {
        name,
        protocol,
        federates,
        threads,
        lookahead,
        until: Time::secs(until_s),
    };
    [
        mode("window, 2 federates on 2 threads", Protocol::Window, 2, 2, second, 800),
        mode("window, 64 federates on 2 threads", Protocol::Window, 64, 2, second, 800),
        mode("window, 64 on 2, lookahead 0.1 s", Protocol::Window, 64, 2, Time::millis(100), 200),
        mode("null-message, 8 federates on 2 threads", Protocol::NullMessage, 8, 2, second, 400),
    ]
}

fn table(mode: Mode, measured: &[Measured], bytes: u64) {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([mode.name, "M events/s", "spread %", "cost %"]);
    for row in measured {
        let cost = (measured[0].median() / row.median() - 1.0) * 100.0;
        let rate = format!("{:.2}", row.median() / 1e6);
        table.add_row([row.name.clone(), rate, format!("{:.1}", row.spread_percent()), format!("{cost:.1}")]);
    }
    println!("\n{table}\n\nThe trace has {:.1} MB.", bytes as f64 / 1e6);
}

fn main() {
    let path: PathBuf =
        std::env::temp_dir().join(format!("paceline-bench-{}.perfetto-trace", std::process::id()));
    for mode in modes() {
        let to_file = || {
            let trace = PerfettoTrace::create(&path, "phold").expect("the temporary folder can be written");
            let sink = Arc::new(ToFile(trace));
            let events = mode.run(Some(sink.clone()));
            sink.0.finish().expect("there is room for a trace");
            events
        };
        let candidates = vec![
            Candidate { name: "no trace".into(), run: Box::new(|| mode.run(None)) },
            Candidate { name: "records only".into(), run: Box::new(|| mode.run(Some(Arc::new(Nowhere)))) },
            Candidate { name: "trace in a file".into(), run: Box::new(to_file) },
        ];
        let measured = interleave(candidates, rounds());
        let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
        table(mode, &measured, bytes);
    }
    // The file is of no use any more; one that cannot be removed does no harm.
    let _ = std::fs::remove_file(&path);
}
