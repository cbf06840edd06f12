//! Sums over the rounds of a run, by the number of their processes.

use std::collections::BTreeMap;

/// Sums over rounds: how many there were, the processes in them, seconds of code, seconds of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    pub rounds: u64,
    pub processes: u64,
    pub code_s: f64,
    pub answers_s: f64,
}

impl Sums {
    pub fn add(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.processes += other.processes;
        self.code_s += other.code_s;
        self.answers_s += other.answers_s;
    }
}

/// The rounds of a run by the number of their processes.
pub type Sizes = BTreeMap<usize, Sums>;

/// Rounds grouped by powers of two of their sizes: mean size with number of rounds, seconds of code, seconds
/// of answers.
pub fn classes(sizes: &Sizes) -> [Vec<(f64, f64)>; 3] {
    let mut classes: BTreeMap<u32, Sums> = BTreeMap::new();
    for (size, sums) in sizes {
        classes.entry(class(*size)).or_default().add(*sums);
    }
    let of = |of: fn(&Sums) -> f64| {
        classes.values().map(|sums| (sums.processes as f64 / sums.rounds as f64, of(sums))).collect()
    };
    [of(|sums| sums.rounds as f64), of(|sums| sums.code_s), of(|sums| sums.answers_s)]
}

/// 1, 2, 3 to 4, 5 to 8, and so on.
pub fn class(size: usize) -> u32 {
    size.next_power_of_two().ilog2()
}

pub fn class_name(class: u32) -> String {
    match class {
        0 | 1 => (class + 1).to_string(),
        _ => format!("{} - {}", (1u64 << (class - 1)) + 1, 1u64 << class),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn classes_hold_all_rounds_and_their_names_say_which() {
        let names = [1, 2, 3, 4, 5, 8, 9].map(|size| class_name(class(size)));
        assert_eq!(names, ["1", "2", "3 - 4", "3 - 4", "5 - 8", "5 - 8", "9 - 16"]);
        let sums = |size: u64, rounds, code_s, answers_s| {
            (size as usize, Sums { rounds, processes: rounds * size, code_s, answers_s })
        };
        let sizes = Sizes::from([sums(1, 10, 1.0, 0.1), sums(3, 2, 0.5, 0.2), sums(4, 2, 0.7, 0.4)]);
        let [rounds, code, answers] = classes(&sizes);
        assert_eq!((rounds, code[1].1), (vec![(1.0, 10.0), (3.5, 4.0)], 1.2));
        assert!((answers.iter().map(|(_, seconds)| seconds).sum::<f64>() - 0.7).abs() < 1e-12);
    }
}
