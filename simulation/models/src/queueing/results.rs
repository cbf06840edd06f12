//! The results of a queueing network, beside what theory says of it, and its picture.

use std::io::{self, Write};

use paceline_kernel::{LpId, Time};
use paceline_results::{Chart, ChartKind, Column, Edge, Picture, Point, Results, RunFacts, Summary, arrange};

use super::output::{Cell, Output};
use super::theory::Theory;
use super::{Queueing, Source, Station};

/// A station at which so many wait is drawn as the busiest.
const WAITING_SHOWN: f64 = 10.0;
/// Networks with more stations are not drawn: places are sought for in a time that grows with the square.
const DRAWN_MAX: u32 = 1000;

impl Results for Queueing {
    fn results(&self, outputs: Vec<Output>, facts: &RunFacts) -> Result<Summary, String> {
        let all = Output::joined(&outputs, self.kinds.len(), self.classes.len());
        self.check_all_are_there(&all)?;
        // Theory is of a steady state, which a network that changes does not have.
        let theory = if self.changes.any() { None } else { Theory::of(self) };
        let mut summary = Summary::default();
        self.services(&all, theory.as_ref(), facts.end_time, &mut summary);
        self.waits(&all, theory.as_ref(), &mut summary);
        self.stays(&all, theory.as_ref(), &mut summary);
        let waits = all.waits.middles();
        summary.chart(Chart { name: "wait_s".into(), kind: ChartKind::Histogram, points: waits });
        summary.chart(Chart::course("customers_at_stations", all.present.levels()));
        let rows = self.rows(&all, theory.as_ref(), facts.end_time);
        summary.table("stations.csv", &STATIONS, move |to| write_rows(to, &rows));
        Ok(summary)
    }

    fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &Station)>) -> Option<Picture> {
        let stations = self.kinds.last().map_or(0, |kind| kind.first + kind.count);
        if stations > DRAWN_MAX {
            return None;
        }
        let (waiting, busy): (Vec<usize>, Vec<u32>) =
            states.map(|(_, station)| (station.waiting(), station.busy)).unzip();
        let mut ways = Vec::new();
        for (number, kind) in self.kinds.iter().enumerate() {
            for next in self.routes.next_of(number) {
                ways.extend(
                    kind.lps().flat_map(|from| self.kinds[next].lps().map(move |to| (from, to, 1.0))),
                );
            }
        }
        let places = arrange(stations, &ways);
        let point =
            |((x, y), waiting): ((f64, f64), &usize)| Point { x, y, load: *waiting as f64 / WAITING_SHOWN };
        let picture = Picture {
            title: "Stations, and routes between them".into(),
            load: format!("{WAITING_SHOWN} customers wait"),
            points: places.into_iter().zip(&waiting).map(point).collect(),
            edges: ways.iter().map(|(from, to, _)| Edge { from: *from, to: *to, load: 0.0 }).collect(),
            ..Picture::default()
        };
        let (waiting, busy): (usize, u64) =
            (waiting.iter().sum(), busy.iter().fold(0, |sum, busy| sum + u64::from(*busy)));
        Some(
            picture
                .field("customers waiting", waiting)
                .field("customers served", busy)
                .series("customers waiting", waiting as f64)
                .series("customers served", busy as f64),
        )
    }
}

impl Queueing {
    fn check_all_are_there(&self, all: &Output) -> Result<(), String> {
        for (number, class) in self.classes.iter().enumerate() {
            let at_stations = (0..self.kinds.len())
                .fold(0_i64, |sum, kind| sum.wrapping_add(self.cell(all, kind, number).present.last()));
            let flow = &all.flows[number];
            // Who is served now has its next arrival sent already, unless it leaves.
            let on_the_way = flow.to_arrive.wrapping_sub(flow.to_go_on) as i64;
            let there = at_stations.wrapping_add(on_the_way);
            let expected = match class.source {
                Source::Closed { population } => i64::from(population),
                Source::Open { .. } => flow.entered.wrapping_sub(flow.left) as i64,
            };
            if there != expected {
                let name = &class.name;
                return Err(format!(
                    "customers of class {name:?} got lost: {there} are there instead of {expected}"
                ));
            }
        }
        Ok(())
    }

    fn cell<'o>(&self, all: &'o Output, kind: usize, class: usize) -> &'o Cell {
        &all.cells[kind * self.classes.len() + class]
    }

    /// What all classes did at a kind of station.
    fn joined_cell(&self, all: &Output, kind: usize) -> Cell {
        let mut joined = Cell::default();
        (0..self.classes.len()).for_each(|class| joined.join(self.cell(all, kind, class)));
        joined
    }

    fn services(&self, all: &Output, theory: Option<&Theory>, end: Time, summary: &mut Summary) {
        let cells: Vec<Cell> = (0..self.kinds.len()).map(|kind| self.joined_cell(all, kind)).collect();
        let services = cells.iter().fold(0_u64, |sum, cell| sum.wrapping_add(cell.waits.count));
        summary.line("services", services);
        let measured_s = end.saturating_sub(self.warm_up).as_secs_f64();
        if measured_s > 0.0 {
            summary.line("services_per_second", services as f64 / measured_s);
        }
        // Of an open network it is what comes in, and says nothing.
        let is_closed = self.classes.iter().any(|class| matches!(class.source, Source::Closed { .. }));
        if let Some(theory) = theory.filter(|_| is_closed) {
            let services: f64 = theory.services_per_s.iter().flatten().sum();
            summary.line("services_per_second_by_theory", services);
        }
        let busy = |kind: usize| {
            let servers = self.kinds[kind].servers.max(1) * self.kinds[kind].count;
            Some((cells[kind].served.mean(self.warm_up, end)? / f64::from(servers), kind))
        };
        let with_lines = (0..self.kinds.len()).filter(|kind| self.kinds[*kind].servers > 0);
        // Of equal ones the first.
        let busiest = with_lines
            .filter_map(busy)
            .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        if let Some((share, kind)) = busiest {
            summary.line("busiest_station", self.kinds[kind].name.clone());
            summary.line("busiest_station_busy", share);
        }
    }

    /// The mean wait of all, and of each class where there are several.
    fn waits(&self, all: &Output, theory: Option<&Theory>, summary: &mut Summary) {
        let classes: Vec<Option<usize>> = match self.classes.len() {
            1 => vec![None],
            count => std::iter::once(None).chain((0..count).map(Some)).collect(),
        };
        for class in classes {
            let mut cell = Cell::default();
            for kind in 0..self.kinds.len() {
                match class {
                    None => cell.join(&self.joined_cell(all, kind)),
                    Some(class) => cell.join(self.cell(all, kind, class)),
                }
            }
            let name = class
                .map_or(String::new(), |class| format!("{}_", self.classes[class].name.replace('-', "_")));
            if let Some(mean) = cell.waits.mean_s() {
                summary.line(format!("{name}mean_wait_s"), mean);
            }
            if let Some(mean) = theory.and_then(|theory| theory.mean_wait_s(0..self.kinds.len(), class)) {
                summary.line(format!("{name}mean_wait_by_theory_s"), mean);
            }
        }
    }

    /// Who has left, and after how long.
    fn stays(&self, all: &Output, theory: Option<&Theory>, summary: &mut Summary) {
        for (number, class) in self.classes.iter().enumerate() {
            let Source::Open { .. } = class.source else { continue };
            let name = if self.classes.len() == 1 {
                String::new()
            } else {
                format!("{}_", class.name.replace('-', "_"))
            };
            summary.line(format!("{name}left"), all.flows[number].stays.count);
            if let Some(mean) = all.flows[number].stays.mean_s() {
                summary.line(format!("{name}mean_stay_s"), mean);
            }
            if let Some(mean) = theory.and_then(|theory| theory.mean_stay_s(self, number)) {
                summary.line(format!("{name}mean_stay_by_theory_s"), mean);
            }
        }
    }

    fn rows(&self, all: &Output, theory: Option<&Theory>, end: Time) -> Vec<Row> {
        let row = |(number, kind): (usize, &super::Kind)| {
            let cell = self.joined_cell(all, number);
            let count = f64::from(kind.count);
            let busy = cell
                .served
                .mean(self.warm_up, end)
                .map(|served| served / count / f64::from(kind.servers.max(1)));
            let wait = theory.and_then(|theory| theory.mean_wait_s(number..number + 1, None));
            Row {
                station: kind.name.clone(),
                stations: kind.count,
                servers: kind.servers,
                services: cell.waits.count,
                numbers: [
                    busy.filter(|_| kind.servers > 0),
                    cell.waits.mean_s(),
                    wait,
                    cell.present.mean(self.warm_up, end).map(|present| present / count),
                    theory.and_then(|theory| theory.mean_present(number, self)),
                ],
            }
        };
        self.kinds.iter().enumerate().map(row).collect()
    }
}

/// The columns of `stations.csv`: a row for each kind of station, means for one station of it.
const STATIONS: [Column; 9] = [
    Column::texts("station"),
    Column::integers("stations"),
    Column::integers("servers"),
    Column::integers("services"),
    Column::reals("busy"),
    Column::reals("mean_wait_s"),
    Column::reals("mean_wait_by_theory_s"),
    Column::reals("mean_present"),
    Column::reals("mean_present_by_theory"),
];

struct Row {
    station: String,
    stations: u32,
    servers: u32,
    services: u64,
    /// Empty where nothing is known.
    numbers: [Option<f64>; 5],
}

fn write_rows(to: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    for Row { station, stations, servers, services, numbers } in rows {
        let numbers = numbers.map(|number| number.map_or(String::new(), |number| number.to_string()));
        writeln!(to, "{station},{stations},{servers},{services},{}", numbers.join(","))?;
    }
    Ok(())
}
