//! The output of an epidemic, its course beside what the equations say, and its picture.

use std::io::{self, Write};

use paceline_kernel::{LpId, Time};
use paceline_results::{Chart, Column, Picture, Point, Results, RunFacts, Summary};
use serde::{Deserialize, Serialize};

use super::graph::Graph;
use super::theory::Course;
use super::{Person, Seir};

/// More people are not drawn one by one.
const DRAWN_MAX: u32 = 10_000;
/// The most rows of the course of an epidemic; with more, rows are further apart.
const ROWS_MAX: u64 = 100_000;

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Contacts with infectious people, and what exposed people at the start.
    pub(super) contacts: u64,
    /// Who has been exposed.
    pub(super) exposed: Vec<(u32, Person)>,
}

/// How many people are what at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    exposed: u64,
    infectious: u64,
    recovered: u64,
}

impl Person {
    /// Adds it to the counts at `at`.
    fn count(&self, at: Time, counts: &mut Counts) {
        if self.recovered <= at {
            counts.recovered += 1;
        } else if self.infectious <= at {
            counts.infectious += 1;
        } else if self.exposed <= at {
            counts.exposed += 1;
        }
    }
}

impl Results for Seir {
    fn results(&self, outputs: Vec<Output>, facts: &RunFacts) -> Result<Summary, String> {
        let (mut all, mut contacts) = (Vec::new(), 0_u64);
        for output in outputs {
            contacts = contacts.wrapping_add(output.contacts);
            all.extend(output.exposed);
        }
        all.sort_unstable();
        let end = facts.end_time;
        let people = f64::from(self.graph.people());
        let course = Course::of(self, end);
        let mut summary = Summary::default();
        summary.line("people", self.graph.people());
        if let Graph::File(edges) = &self.graph {
            summary.line("edges_left_out", edges.left_out);
        }
        summary.line("contacts", contacts);
        summary.line("infected", all.len());
        summary.line("infected_share", all.len() as f64 / people);
        if let Some(course) = &course {
            summary.line("infected_share_by_theory", 1.0 - course.at(end).susceptible);
        }
        let (most, at) = peak(&all, end);
        summary.line("most_infectious", most);
        if let Some(course) = &course {
            summary.line("most_infectious_by_theory", course.peak().0 * people);
        }
        summary.line("most_infectious_at_s", at.as_secs_f64());
        if let Some(course) = &course {
            summary.line("most_infectious_at_by_theory_s", course.peak().1);
        }
        let rows = self.rows(&all, course.as_ref(), end);
        let points = rows.iter().map(|row| (row.at.as_secs_f64(), row.counts.infectious as f64)).collect();
        summary.chart(Chart::course("infectious", points));
        let total = u64::from(self.graph.people());
        summary.table("course.csv", &COURSE, move |to| write_course(to, &rows, total));
        let numbered: Vec<_> =
            all.into_iter().map(|(person, times)| (self.graph.number(person), times)).collect();
        summary.table("people.csv", &PEOPLE, move |to| write_people(to, &numbered, end));
        Ok(summary)
    }

    fn picture(&self, at: Time, states: &mut dyn Iterator<Item = (LpId, &Person)>) -> Option<Picture> {
        let people = self.graph.people();
        let side = f64::from(people).sqrt().ceil().max(1.0) as u32;
        let (mut counts, mut points) = (Counts::default(), Vec::new());
        for (lp, person) in states {
            person.count(at, &mut counts);
            if people <= DRAWN_MAX {
                let is_infectious = person.infectious <= at && at < person.recovered;
                let load =
                    f64::from(u8::from(is_infectious)) + f64::from(u8::from(person.recovered <= at)) / 4.0;
                points.push(Point { x: f64::from(lp.0 % side), y: f64::from(lp.0 / side), load });
            }
        }
        let picture =
            Picture { title: "People".into(), load: "infectious".into(), points, ..Picture::default() };
        let susceptible = u64::from(people) - counts.exposed - counts.infectious - counts.recovered;
        let all = [
            ("susceptible", susceptible),
            ("exposed", counts.exposed),
            ("infectious", counts.infectious),
            ("recovered", counts.recovered),
        ];
        Some(
            all.into_iter().fold(picture, |picture, (name, count)| {
                picture.field(name, count).series(name, count as f64)
            }),
        )
    }
}

/// The most who are infectious at once until `end`, and when that is first so.
fn peak(all: &[(u32, Person)], end: Time) -> (u64, Time) {
    let change = |(_, person): &(u32, Person)| [(person.recovered, -1_i64), (person.infectious, 1)];
    let mut changes: Vec<(Time, i64)> = all.iter().flat_map(change).filter(|(at, _)| *at <= end).collect();
    // Of one instant those come first who recover.
    changes.sort_unstable();
    let (mut now, mut most) = (0, (0, Time::ZERO));
    for (at, by) in changes {
        now += by;
        if now > most.0 {
            most = (now, at);
        }
    }
    (most.0 as u64, most.1)
}

/// A row of `course.csv`.
struct Row {
    at: Time,
    counts: Counts,
    /// People who are susceptible and infectious by theory.
    theory: Option<(f64, f64)>,
}

impl Seir {
    fn rows(&self, all: &[(u32, Person)], course: Option<&Course>, end: Time) -> Vec<Row> {
        let ticks = self.every.as_ticks().max(end.as_ticks() / ROWS_MAX).max(1);
        let rows = (end.as_ticks() / ticks) as usize + 1;
        // By how much each number changes at the first row that sees it.
        let mut changes = vec![[0_i64; 3]; rows];
        for (_, person) in all {
            for (what, at) in [person.exposed, person.infectious, person.recovered].into_iter().enumerate() {
                if let Some(row) = changes.get_mut(at.as_ticks().div_ceil(ticks) as usize) {
                    row[what] += 1;
                }
            }
        }
        let people = f64::from(self.graph.people());
        let mut sums = [0_i64; 3];
        let row = |(number, change): (u64, &[i64; 3])| {
            sums.iter_mut().zip(change).for_each(|(sum, change)| *sum += change);
            let at = Time::ticks(number * ticks);
            let [exposed, infectious, recovered] = sums.map(|sum| sum as u64);
            let counts = Counts {
                exposed: exposed.saturating_sub(infectious),
                infectious: infectious.saturating_sub(recovered),
                recovered,
            };
            let shares = course.map(|course| course.at(at));
            let theory = shares.map(|shares| (shares.susceptible * people, shares.infectious * people));
            Row { at, counts, theory }
        };
        (0..).zip(&changes).map(row).collect()
    }
}

/// The columns of `course.csv`.
const COURSE: [Column; 7] = [
    Column::reals("time_s"),
    Column::integers("susceptible"),
    Column::integers("exposed"),
    Column::integers("infectious"),
    Column::integers("recovered"),
    Column::reals("susceptible_by_theory"),
    Column::reals("infectious_by_theory"),
];

/// The columns of `people.csv`: those who were exposed, and what has come by the end of the run.
const PEOPLE: [Column; 4] = [
    Column::integers("person"),
    Column::reals("exposed_s"),
    Column::reals("infectious_s"),
    Column::reals("recovered_s"),
];

fn write_course(to: &mut dyn Write, rows: &[Row], people: u64) -> io::Result<()> {
    for Row { at, counts: Counts { exposed, infectious, recovered }, theory } in rows {
        let susceptible = people.saturating_sub(exposed + infectious + recovered);
        let theory =
            theory.map_or(",".to_owned(), |(susceptible, infectious)| format!("{susceptible},{infectious}"));
        writeln!(to, "{},{susceptible},{exposed},{infectious},{recovered},{theory}", at.as_secs_f64())?;
    }
    Ok(())
}

fn write_people(to: &mut dyn Write, all: &[(u64, Person)], end: Time) -> io::Result<()> {
    let cell = |at: Time| if at <= end { at.as_secs_f64().to_string() } else { String::new() };
    for (number, person) in all {
        let [exposed, infectious, recovered] =
            [person.exposed, person.infectious, person.recovered].map(cell);
        writeln!(to, "{number},{exposed},{infectious},{recovered}")?;
    }
    Ok(())
}
