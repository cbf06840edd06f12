//! The programs in `examples`: what they compute is right, and they are as short as the book says.

#![expect(dead_code, reason = "programs have a main function, which nobody calls here")]

use super::*;

#[path = "../../examples/bank.rs"]
mod bank;
#[path = "../../examples/car_wash.rs"]
mod car_wash;
#[path = "../../examples/ccu.rs"]
mod ccu;
#[path = "../../examples/gas_station.rs"]
mod gas_station;
#[path = "../../examples/machine_shop.rs"]
mod machine_shop;
#[path = "../../examples/movie_tickets.rs"]
mod movie_tickets;

#[test]
fn in_the_bank_all_are_served_or_leave_before_their_patience_ends() {
    let report = bank::run(1000, 42).unwrap();
    let counter = report.resource("counter").unwrap();
    assert_eq!((counter.counts.requested, counter.counts.granted + counter.counts.reneged), (1000, 1000));
    // More work comes than one counter does, so it is busy and many leave.
    assert!(counter.waits.greatest().unwrap() <= secs(3) && counter.utilisation.unwrap() > 0.5);
    assert!(counter.counts.reneged > 300);
}

#[test]
fn the_car_wash_serves_two_cars_in_five_minutes() {
    let report = car_wash::run(20, 42).unwrap();
    let machines = report.resource("machines").unwrap();
    assert_eq!((machines.span, machines.most_level), (secs(1200), 2.0));
    // Both machines wash two of the first four cars each.
    assert!(machines.utilisation.unwrap() >= 0.5 && machines.waits.greatest() >= Some(secs(300)));
    assert_eq!(machines.served.mean_s(), Some(300.0));
}

#[test]
fn machines_are_repaired_before_other_work_is_done() {
    let (report, parts) = machine_shop::run(4, 42).unwrap();
    let repairman = report.resource("repairman").unwrap();
    assert_eq!(repairman.utilisation, Some(1.0), "there is always other work");
    assert!(repairman.counts.preempted > 100);
    // A machine that never breaks makes 4032 parts; SimPy's program printed 3189 to 3300 for its ten.
    assert!((30_500..35_000).contains(&parts), "{parts}");
}

#[test]
fn the_gas_station_gives_cars_no_more_than_trucks_bring() {
    let report = gas_station::run(100_000, 42).unwrap();
    let (pumps, tank) = (report.resource("pumps").unwrap(), report.resource("tank").unwrap());
    assert!(tank.most_level <= 200.0 && tank.mean_level.unwrap() > 50.0);
    assert!(pumps.most_level <= 2.0 && tank.waits.greatest().unwrap() <= secs(311), "a truck comes in time");
    assert!((500..700).contains(&pumps.counts.granted), "a car in 165 s");
}

#[test]
fn no_film_is_sold_twice_and_who_waits_for_it_leaves() {
    let report = movie_tickets::run(120, 42).unwrap();
    let counter = report.resource("counter").unwrap();
    // 150 tickets, at most six a visitor, and half a minute for those who come too late.
    assert!((25..150).contains(&counter.counts.granted) && counter.counts.reneged > 10);
}

#[test]
fn a_critical_care_unit_comes_to_the_published_results() {
    const REPLICATIONS: u64 = 60;
    for beds in [23, 25, 28] {
        let rows: Vec<[f64; 3]> = (0..REPLICATIONS).map(|seed| ccu::run(beds, seed).unwrap()).collect();
        for (column, (right, deviation)) in ccu::PUBLISHED[beds as usize - 23].into_iter().enumerate() {
            let mean = rows.iter().map(|row| row[column]).sum::<f64>() / REPLICATIONS as f64;
            // Both are means of samples, with a confidence of 99.9 %.
            let most = 3.29 * deviation * (1.0 / REPLICATIONS as f64 + 1.0 / 100.0).sqrt();
            assert!(
                (mean - right).abs() < most,
                "{beds} beds, {column}: {mean} beside {right}, allowed {most}"
            );
        }
    }
}

/// Lines with code, as the book counts them.
fn lines(example: &str) -> usize {
    let path = format!("{}/examples/{example}.rs", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn programs_are_as_short_as_the_book_says() {
    let path = format!("{}/../../docs/coming-from-simpy.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    for example in ["bank", "car_wash", "machine_shop", "gas_station", "movie_tickets"] {
        let row = page.lines().find(|line| line.contains(&format!("`{example}`"))).unwrap();
        let last = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap().trim();
        assert_eq!(last.parse(), Ok(lines(example)), "{row}");
    }
}
