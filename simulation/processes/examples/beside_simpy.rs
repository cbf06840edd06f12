//! Runs one of the other examples so many times, with another seed each time, and prints the result of each
//! run on a line. `scripts/beside-simpy` runs SimPy's programs beside it.
//!
//! `beside_simpy NAME SIZE SEED TIMES`
#![expect(dead_code, reason = "the other examples have a main function, which nobody calls here")]
use paceline_processes::RunError;

#[path = "bank.rs"]
mod bank;
#[path = "car_wash.rs"]
mod car_wash;
#[path = "gas_station.rs"]
mod gas_station;
#[path = "machine_shop.rs"]
mod machine_shop;
#[path = "movie_tickets.rs"]
mod movie_tickets;

/// What a run comes to that SimPy's program reports as well.
fn result(name: &str, size: u64, seed: u64) -> Result<u64, RunError> {
    let of = |report: paceline_processes::Report, resource| {
        report.resource(resource).expect("the example names it so").clone()
    };
    Ok(match name {
        "bank" => of(bank::run(size as u32, seed)?, "counter").counts.reneged,
        "car_wash" => of(car_wash::run(size, seed)?, "machines").served.count(),
        "machine_shop" => machine_shop::run(size, seed)?.1,
        "gas_station" => of(gas_station::run(size, seed)?, "pumps").served.count(),
        "movie_tickets" => of(movie_tickets::run(size, seed)?, "counter").counts.reneged,
        _ => panic!("there is no example `{name}`"),
    })
}

fn main() -> Result<(), RunError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, numbers @ ..] = &arguments[..] else { panic!("NAME SIZE SEED TIMES are needed") };
    let numbers: Vec<u64> = numbers.iter().map(|number| number.parse().expect("a whole number")).collect();
    let [size, seed, times] = numbers[..] else { panic!("SIZE SEED TIMES are needed") };
    for seed in seed * times..(seed + 1) * times {
        println!("{}", result(name, size, seed)?);
    }
    Ok(())
}
