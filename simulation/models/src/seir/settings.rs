//! Reads an epidemic from a scenario's `[model]`.

use paceline_kernel::{Rng, Time};
use paceline_scenario::{ScenarioError, Section};

use super::Seir;
use super::graph::{Graph, PEOPLE_MAX};

/// The greatest value of each time: sums of times stay far below the largest time.
const LONGEST: Time = Time::secs(366 * 24 * 3600);
/// The most contacts of a person on average, each of which is a message.
const CONTACTS_MAX: f64 = 1000.0;
const DEGREE_MAX: u32 = 1000;
/// The stream of random numbers for who is exposed at the start; no LP uses it.
const START_STREAM: u64 = (1 << 40) + 1;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Complete,
    Regular,
    File,
}

impl Seir {
    /// Reads the keys `graph` ("complete", "regular", "file"), then `people`, with `degree` of a regular
    /// graph, or `path`, a file of edges; who is `exposed` (10) at the start; `between_contacts` ("2d"),
    /// `latent` ("3d") of which `least_latent` ("1d") at least, `infectious` ("5d"); `every` ("1d"). Defaults
    /// are in brackets. Graph and start are drawn from `seed`. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section, seed: u64) -> Result<Self, ScenarioError> {
        let graph = read_graph(section, seed)?;
        let people = graph.people();
        let allowed = format!("a whole number from 1 to {people}, the number of people");
        let count = section.or_where("exposed", 10, |count| (1..=people).contains(&count), allowed)?;
        let between_contacts = time(section, "between_contacts", Time::secs(2 * 24 * 3600), Time::secs(1))?;
        let least_latent = time(section, "least_latent", Time::secs(24 * 3600), Time::ZERO)?;
        let latent = time(section, "latent", Time::secs(3 * 24 * 3600), Time::secs(1))?;
        if latent <= least_latent {
            let problem = format!("a latent period of {latent}, and of at least {least_latent}");
            return Err(section.refuse("latent", problem, "a mean that is longer than `least_latent`"));
        }
        let infectious = time(section, "infectious", Time::secs(5 * 24 * 3600), Time::secs(1))?;
        let contacts = infectious.as_secs_f64() / between_contacts.as_secs_f64();
        if contacts > CONTACTS_MAX {
            let problem = format!("{contacts:.0} contacts of a person");
            let allowed = format!("at most {CONTACTS_MAX}: `infectious` by `between_contacts`");
            return Err(section.refuse("between_contacts", problem, allowed));
        }
        let every = time(section, "every", Time::secs(24 * 3600), Time::secs(1))?;
        let more_latent = latent - least_latent;
        let exposed = draw_exposed(people, count, seed);
        Ok(Self { graph, exposed, between_contacts, least_latent, more_latent, infectious, every })
    }
}

fn read_graph(section: &mut Section, seed: u64) -> Result<Graph, ScenarioError> {
    let kinds = [("complete", Kind::Complete), ("regular", Kind::Regular), ("file", Kind::File)];
    let kind = section.choice("graph", &kinds, Some(Kind::Complete))?;
    if kind == Kind::File {
        let Some(path) = section.file("path")? else {
            return Err(section.refuse("path", "a graph of a file needs one", "`path`, a file of edges"));
        };
        return Graph::load(&path);
    }
    let people = section.required("people")?;
    if !(2..=PEOPLE_MAX).contains(&people) {
        let allowed = format!("a whole number from 2 to {PEOPLE_MAX}");
        return Err(section.refuse("people", format!("`people` is {people}"), allowed));
    }
    if kind == Kind::Complete {
        return Ok(Graph::Complete { people });
    }
    let degree = section.required("degree")?;
    let most = DEGREE_MAX.min(people - 1);
    if !(1..=most).contains(&degree) || u64::from(people) * u64::from(degree) % 2 == 1 {
        let problem = format!("{people} people with {degree} neighbours each");
        let allowed = format!("a whole number from 1 to {most}, even where `people` is odd");
        return Err(section.refuse("degree", problem, allowed));
    }
    Graph::regular(people, degree, seed).ok_or_else(|| {
        let problem = format!("no graph was found in which {people} people have {degree} neighbours each");
        section.refuse("degree", problem, "a smaller one, or graph = \"complete\"")
    })
}

/// So many of all people, in the order of their numbers.
fn draw_exposed(people: u32, count: u32, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed, START_STREAM);
    let mut all: Vec<u32> = (0..people).collect();
    for place in 0..count {
        let other = place + rng.below(u64::from(people - place)) as u32;
        all.swap(place as usize, other as usize);
    }
    all.truncate(count as usize);
    all.sort_unstable();
    all
}

fn time(section: &mut Section, key: &str, default: Time, least: Time) -> Result<Time, ScenarioError> {
    let allowed = format!("a time from {least} to {LONGEST}");
    section.or_where(key, default, |value| (least..=LONGEST).contains(&value), allowed)
}
