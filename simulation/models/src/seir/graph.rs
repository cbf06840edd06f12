//! Who meets whom.
//!
//! Invariant: nobody is its own neighbour, and nobody is a neighbour twice.

use std::collections::BTreeMap;
use std::path::Path;

use paceline_kernel::Rng;
use paceline_scenario::ScenarioError;

use crate::input::{Flaw, Input, shown};

/// The stream of random numbers for graphs; no LP uses it.
const GRAPH_STREAM: u64 = 1 << 40;
/// The most people.
pub(super) const PEOPLE_MAX: u32 = 1 << 24;
/// The most bytes of a file.
const FILE_MAX: u64 = 1 << 30;
/// A regular graph is given up after so many edges that cannot be exchanged, one after the other.
const TRIES_MAX: u32 = 100_000;

/// The graph of an epidemic.
#[derive(Clone, Debug)]
pub(super) enum Graph {
    /// Everybody meets everybody.
    Complete { people: u32 },
    /// Everybody has so many neighbours, which are drawn at random.
    Regular { degree: u32, neighbours: Vec<u32> },
    /// Of a file: the number that each person has there, and its neighbours.
    File(Edges),
}

/// The edges of a file, in both directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    /// The numbers of people in the file, in their order.
    pub numbers: Vec<u64>,
    /// Where the neighbours of each person begin; one more for the end.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    /// Edges from a person to itself, and those that were there before.
    pub left_out: u64,
}

impl Graph {
    pub fn people(&self) -> u32 {
        match self {
            Self::Complete { people } => *people,
            Self::Regular { degree, neighbours } => (neighbours.len() / *degree as usize) as u32,
            Self::File(edges) => edges.numbers.len() as u32,
        }
    }

    /// The number of a person in results.
    pub fn number(&self, person: u32) -> u64 {
        match self {
            Self::File(edges) => edges.numbers[person as usize],
            _ => u64::from(person),
        }
    }

    /// One of the neighbours of a person, all alike; nothing where it has none.
    pub fn draw_neighbour(&self, person: u32, rng: &mut Rng) -> Option<u32> {
        let neighbours = match self {
            Self::Complete { people } => {
                let other = rng.below(u64::from(*people).checked_sub(1).filter(|others| *others > 0)?) as u32;
                return Some(other + u32::from(other >= person));
            }
            Self::Regular { degree, neighbours } => &neighbours[place(person, *degree)..][..*degree as usize],
            Self::File(edges) => {
                &edges.neighbours[edges.starts[person as usize]..edges.starts[person as usize + 1]]
            }
        };
        (!neighbours.is_empty()).then(|| neighbours[rng.below(neighbours.len() as u64) as usize])
    }

    /// A random graph in which everybody has `degree` neighbours: ends of edges are paired at random; a pair
    /// that would be an edge twice, or from a person to itself, is exchanged with a random edge. Nothing
    /// where that fails, as it does where nearly everybody would be a neighbour of everybody.
    pub fn regular(people: u32, degree: u32, seed: u64) -> Option<Self> {
        let mut rng = Rng::new(seed, GRAPH_STREAM);
        let mut ends: Vec<u32> = (0..people).flat_map(|person| (0..degree).map(move |_| person)).collect();
        rng.shuffle(&mut ends);
        let mut lists: Vec<Vec<u32>> = vec![Vec::with_capacity(degree as usize); people as usize];
        let mut left = Vec::new();
        for pair in ends.chunks_exact(2) {
            let (one, other) = (pair[0], pair[1]);
            if can_be_edge(&lists, one, other) {
                join(&mut lists, one, other)
            } else {
                left.push((one, other))
            }
        }
        for (one, other) in left {
            let mut tries = 0;
            loop {
                tries += 1;
                if tries > TRIES_MAX {
                    return None;
                }
                let third = rng.below(u64::from(people)) as u32;
                if lists[third as usize].is_empty() {
                    continue;
                }
                let place = rng.below(lists[third as usize].len() as u64) as usize;
                let fourth = lists[third as usize][place];
                if can_be_edge(&lists, one, third) && can_be_edge(&lists, other, fourth) {
                    lists[third as usize].swap_remove(place);
                    lists[fourth as usize].retain(|neighbour| *neighbour != third);
                    join(&mut lists, one, third);
                    join(&mut lists, other, fourth);
                    break;
                }
            }
        }
        Some(Self::Regular { degree, neighbours: lists.concat() })
    }

    /// The graph of a file: a line for each edge, with the numbers of its ends; words behind them are not
    /// read. Comments begin with `#` or `%`.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let Input { name, text } = Input::load(path, FILE_MAX)?;
        let edges = Edges::read(&text).map_err(|flaw| flaw.in_file(&name, &text))?;
        Ok(Self::File(edges))
    }
}

fn place(person: u32, degree: u32) -> usize {
    person as usize * degree as usize
}

fn can_be_edge(lists: &[Vec<u32>], one: u32, other: u32) -> bool {
    one != other && !lists[one as usize].contains(&other)
}

fn join(lists: &mut [Vec<u32>], one: u32, other: u32) {
    lists[one as usize].push(other);
    lists[other as usize].push(one);
}

impl Edges {
    fn read(text: &str) -> Result<Self, Flaw> {
        let (mut pairs, mut at) = (Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            let begins = at;
            at += line.len();
            let words = line.trim();
            if words.is_empty() || words.starts_with(['#', '%']) {
                continue;
            }
            let mut ends = words.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty());
            let mut end = || {
                let word = ends.next().unwrap_or_default();
                word.parse::<u64>().map_err(|_| {
                    let problem = format!("`{}` is no number of a person", shown(word));
                    Flaw::new(
                        begins..begins + line.trim_end().len(),
                        problem,
                        "two whole numbers a line, the ends of an edge",
                    )
                })
            };
            pairs.push((end()?, end()?));
            // A weight and a time may follow. A list of neighbours begins as an edge does, and would be read
            // as one.
            let (behind, is_list) =
                ends.fold((0, true), |(count, all), word| (count + 1, all && word.parse::<u64>().is_ok()));
            if behind > 2 && is_list {
                return Err(Flaw::new(
                    begins..begins + line.trim_end().len(),
                    format!("{} whole numbers, as a list of neighbours has", behind + 2),
                    "an edge a line: its two ends, and at most two numbers behind them",
                ));
            }
        }
        let mut numbers: Vec<u64> = pairs.iter().flat_map(|(one, other)| [*one, *other]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() || numbers.len() > PEOPLE_MAX as usize {
            let problem = format!("a graph of {} people", numbers.len());
            return Err(Flaw::new(
                0..0,
                problem,
                format!("edges between at most {PEOPLE_MAX} people, at least one"),
            ));
        }
        Ok(Self::of(numbers, &pairs))
    }

    fn of(numbers: Vec<u64>, pairs: &[(u64, u64)]) -> Self {
        let places: BTreeMap<u64, u32> = numbers.iter().copied().zip(0..).collect();
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); numbers.len()];
        let mut left_out = 0;
        for (one, other) in pairs {
            if one == other {
                left_out += 1;
                continue;
            }
            join(&mut lists, places[one], places[other]);
        }
        let (mut starts, mut neighbours, mut twice) = (vec![0], Vec::new(), 0);
        for mut list in lists {
            let before = list.len();
            list.sort_unstable();
            list.dedup();
            twice += (before - list.len()) as u64;
            neighbours.extend(list);
            starts.push(neighbours.len());
        }
        Self { numbers, starts, neighbours, left_out: left_out + twice / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_graph_is_one() {
        for (people, degree, seed) in [(10, 4, 1), (1000, 3, 2), (501, 8, 3), (8, 6, 4)] {
            let graph = Graph::regular(people, degree, seed).expect("there is one");
            assert_eq!(graph.people(), people);
            let Graph::Regular { neighbours, .. } = graph else { unreachable!("it is regular") };
            let of = |person: u32| &neighbours[place(person, degree)..][..degree as usize];
            for person in 0..people {
                let mut all = of(person).to_vec();
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len(), degree as usize, "{person}: {all:?}");
                assert!(all.iter().all(|other| *other != person && of(*other).contains(&person)));
            }
        }
    }

    #[test]
    fn a_file_has_its_edges_once_in_both_directions() {
        let edges = Edges::read("# graph\n7 3\n3,7,0.5\n\n% more\n3 12\n5\t5\n").expect("a graph");
        assert_eq!((&*edges.numbers, edges.left_out), (&[3, 5, 7, 12][..], 2));
        assert!(Edges::read("7 3 1 1082040961\n7 5 0.5 2 x y\n").is_ok(), "weights, times and words");
        assert!(Edges::read("7 3 5\n3 5 6 7 12\n").is_err(), "the second line is a list of neighbours");
        assert_eq!((&*edges.starts, &*edges.neighbours), (&[0, 2, 2, 3, 4][..], &[2, 3, 0, 0][..]));
        for (text, problem) in
            [("1 a\n", "`a` is no number"), ("1\n", "`` is no number"), ("#\n", "0 people")]
        {
            let flaw = Edges::read(text).expect_err(problem);
            assert!(flaw.problem.contains(problem), "{}", flaw.problem);
        }
    }
}
