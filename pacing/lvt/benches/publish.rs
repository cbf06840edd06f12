//! `cargo bench -p paceline-lvt --bench publish`: what a simulation pays to publish its LVT.
//!
//! An *update* is written; a *thinned* one lies within the lookahead and is not; an *absent* publisher has no
//! page. Beside them the same loop without a publisher, and a bare relaxed store to memory that is not
//! shared. The sides take turns in every round; medians over the rounds, with half the distance of the
//! quartiles. `PACELINE_ROUNDS` sets how many rounds.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use comfy_table::{Table, presets};
use paceline_lvt::{Page, Publisher};

/// Updates that are measured together.
const BATCH: u64 = 1_000_000;

/// Nanoseconds for each call of `update`, with an LVT that grows.
fn time(mut update: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for lvt_ns in 1..=BATCH {
        update(black_box(lvt_ns));
    }
    start.elapsed().as_nanos() as f64 / BATCH as f64
}

/// The median, and half the distance of the quartiles.
fn summary(mut rounds: Vec<f64>) -> (f64, f64) {
    rounds.sort_by(f64::total_cmp);
    let at = |part: usize| rounds[(rounds.len() - 1) * part / 4];
    (at(2), (at(3) - at(1)) / 2.0)
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(41);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = Page::create(folder.path().join("page"), 1_024).expect("a page can be made");
    let sealed = Page::create_sealed(1_024).expect("a page can be made");
    let other = Page::create_sealed(1_024).expect("a page can be made");
    let mut absent = black_box(Publisher::absent());
    let mut in_file = Publisher::claim(&file, "bench").expect("there is a slot");
    let mut in_memory = Publisher::claim(&sealed, "bench").expect("there is a slot");
    let mut thinned = Publisher::claim(&other, "bench").expect("there is a slot").with_lookahead(u64::MAX);
    let bare = AtomicU64::new(0);
    let names = ["loop alone", "bare store", "absent", "thinned", "update, file", "update, sealed"];
    let mut times = vec![Vec::new(); names.len()];
    // A first round warms up.
    for round in 0..=rounds {
        let taken = [
            time(|lvt_ns| {
                black_box(lvt_ns);
            }),
            time(|lvt_ns| bare.store(lvt_ns, Ordering::Relaxed)),
            time(|lvt_ns| absent.publish(lvt_ns)),
            time(|lvt_ns| thinned.publish(lvt_ns)),
            time(|lvt_ns| in_file.publish(lvt_ns)),
            time(|lvt_ns| in_memory.publish(lvt_ns)),
        ];
        if round > 0 {
            times.iter_mut().zip(taken).for_each(|(all, one)| all.push(one));
        }
    }
    assert_eq!(sealed.slots().expect("the page is in order")[0].lvt_ns, BATCH, "updates have been written");
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["", "ns", "+-", "ns beyond the loop"]);
    let alone = summary(times[0].clone()).0;
    for (name, rounds) in names.iter().zip(times) {
        let (median, spread) = summary(rounds);
        let cells = [median, spread, median - alone].map(|ns| format!("{ns:.2}"));
        table.add_row([(*name).to_owned()].into_iter().chain(cells));
    }
    println!("{table}");
}
