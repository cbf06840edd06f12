//! The live page of a run-time infrastructure: where federates are in logical time, and who holds up whom.
//!
//! It asks as `paceline rti status` does, by the socket of this process, and only while somebody watches.
//! Invariant: the server's thread pays for what is asked, at most twice a second.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use paceline_app::live::{About, Course, Drawing, Now, Scene, Standing, Standings};
use paceline_app::text::count;
use paceline_fedpro::Stopper;
use paceline_report::Table;
use paceline_results::{Edge, Picture, Point};
use serde_json::{Value, json};

use super::status::{ask, hold_up, list, rows, seconds, text};

/// From one look at the federations to the next.
const LOOK: Duration = Duration::from_millis(500);

/// The longest wait for an answer: a server that is that busy has none for this look.
const PATIENCE: Duration = Duration::from_millis(400);

/// What the page shows of an infrastructure.
#[derive(Debug)]
pub struct RtiPage {
    places: Vec<String>,
    /// The socket of this process; without one nothing is known of federations.
    socket: Option<PathBuf>,
    stopper: Stopper,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    at: Option<Instant>,
    status: Value,
    is_stopping: bool,
}

impl RtiPage {
    /// Of the infrastructure that listens at these places.
    pub fn new(places: &[String], socket: Option<PathBuf>, stopper: Stopper) -> Arc<Self> {
        Arc::new(Self { places: places.to_vec(), socket, stopper, seen: Mutex::default() })
    }

    /// The state of the federations, at most [`LOOK`] old while it is served.
    fn status(&self) -> (Value, bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.at.is_none_or(|at| at.elapsed() >= LOOK) {
            let said = self.socket.as_ref().and_then(|socket| ask(socket, PATIENCE).ok());
            // Once it has ended, the last answer stays.
            if let Some(status) = said.and_then(|said| serde_json::from_str(&said).ok()) {
                seen.status = status;
            }
            seen.at = Some(Instant::now());
        }
        (seen.status.clone(), seen.is_stopping)
    }
}

impl Scene for RtiPage {
    fn about(&self) -> About {
        let kind = format!("a run-time infrastructure of HLA 4 at {}", self.places.join(", "));
        About { name: "HLA federations".into(), kind, ..About::default() }
    }

    fn requests(&self) -> &'static [&'static str] {
        &["stop"]
    }

    fn answer(&self, _: &str) -> Result<String, String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).is_stopping = true;
        let stopped = self.stopper.stop().map_err(|error| format!("it cannot be woken: {error}"));
        stopped.map(|()| "stops: all federates hear that the connection is lost".into())
    }

    fn now(&self) -> Now {
        let (status, is_stopping) = self.status();
        let federations = rows(&status["federations"]);
        let federates = || federations.iter().flat_map(|one| rows(&one["federates"]));
        let number = |number: usize| count(number as u64);
        let waiting = federates().filter(|federate| waits(federate)).count();
        let sessions = status["sessions"].as_u64().unwrap_or_default();
        let courses = vec![
            Course { name: "Federates", unit: "", value: federates().count() as f64, is_total: false },
            Course { name: "Federates that wait", unit: "", value: waiting as f64, is_total: false },
        ];
        let known = if self.socket.is_some() { number(federations.len()) } else { "not known".into() };
        Now {
            is_stopping,
            numbers: vec![
                ("Federations", known),
                ("Sessions", count(sessions)),
                ("Federates", number(federates().count())),
                ("Waiting", number(waiting)),
            ],
            courses,
            standings: standings(federations),
            ..Now::default()
        }
    }

    fn drawing(&self) -> Drawing {
        let (status, _) = self.status();
        let federations = rows(&status["federations"]);
        Drawing {
            picture: picture(federations),
            names: federations.iter().flat_map(|one| rows(&one["federates"])).map(name_of).collect(),
            tables: federations.iter().map(table).collect(),
            ..Drawing::default()
        }
    }
}

/// Whether a federate waits for a time that it has asked for.
fn waits(federate: &Value) -> bool {
    federate["asks_for"].is_string()
}

fn name_of(federate: &Value) -> String {
    text(&federate["name"]).to_owned()
}

/// A time as a number, if it has one.
fn time(value: &Value) -> Option<f64> {
    text(value).parse().ok()
}

/// All federates, those of each federation together, in logical time.
fn standings(federations: &[Value]) -> Option<Standings> {
    let is_one = federations.len() == 1;
    let parts = federations.iter().flat_map(|federation| {
        rows(&federation["federates"]).iter().map(move |federate| {
            let name = name_of(federate);
            let federation = text(&federation["name"]);
            Standing {
                name: if is_one { name } else { format!("{federation}: {name}") },
                at: time(&federate["at"]),
                front: time(&federate["asks_for"]),
                colour: (!waits(federate)).then_some(0),
                busy: if waits(federate) { 0.0 } else { 1.0 },
            }
        })
    });
    let parts: Vec<_> = parts.collect();
    let least = parts.iter().filter_map(|part| part.at).min_by(f64::total_cmp)?;
    let said = federations.iter().map(|federation| {
        format!("{}: {}", text(&federation["name"]), hold_up(rows(&federation["federates"])))
    });
    let said = said.collect::<Vec<_>>().join(". ");
    Some(Standings {
        title: "Federates in logical time",
        part: "federate",
        unit: "",
        origin: (least, "the least"),
        end: None,
        rows: parts,
        said: Some(format!("{said}. Grey ones wait; a tail ends at the time that one has asked for.")),
        colours: "",
    })
}

/// The federates on a ring, with a line from each that waits to those that it waits for; nothing without
/// federates.
fn picture(federations: &[Value]) -> Option<Picture> {
    let all: Vec<(usize, &Value)> = federations
        .iter()
        .enumerate()
        .flat_map(|(number, federation)| rows(&federation["federates"]).iter().map(move |one| (number, one)))
        .collect();
    let places: BTreeMap<(usize, &str), u32> =
        (0..).zip(&all).map(|(place, (number, one))| ((*number, text(&one["name"])), place)).collect();
    let mut held = vec![0; all.len()];
    let mut edges = Vec::new();
    for (from, (number, federate)) in (0..).zip(&all) {
        for other in rows(&federate["waits_for"]) {
            let Some(to) = places.get(&(*number, text(other))) else { continue };
            held[*to as usize] += 1;
            let since = federate["waits_seconds"].as_f64().unwrap_or_default();
            edges.push(Edge { from, to: *to, load: (since / 10.0).clamp(0.05, 1.0) });
        }
    }
    let most = held.iter().copied().max().filter(|_| !all.is_empty())?;
    let point = |(place, held): (usize, &u32)| {
        let angle = place as f64 / all.len() as f64 * std::f64::consts::TAU;
        Point { x: angle.sin(), y: angle.cos(), load: f64::from(*held) / f64::from(most.max(1)) }
    };
    let picture = Picture {
        title: "Who holds up whom".into(),
        load: "the most wait for it; lines: waits for 10 s".into(),
        points: held.iter().enumerate().map(point).collect(),
        edges,
        ..Picture::default()
    };
    Some(federations.iter().fold(picture, |picture, federation| {
        picture.field(text(&federation["name"]), hold_up(rows(&federation["federates"])))
    }))
}

/// The federates of a federation.
fn table(federation: &Value) -> Table {
    let title = format!("{}, {}", text(&federation["name"]), text(&federation["time"]));
    let columns = [
        "federate",
        "type",
        "at",
        "asks for",
        "waits for",
        "since",
        "lookahead",
        "GALT",
        "last call",
        "connected",
    ];
    let mut table = Table::new(title, columns);
    for federate in rows(&federation["federates"]) {
        let cell = |name: &str| federate[name].as_str().unwrap_or("-").to_owned();
        let span = |name: &str| if federate[name].is_null() { "-".into() } else { seconds(&federate[name]) };
        let others = rows(&federate["waits_for"]).iter().map(text).collect();
        table.row([
            cell("name"),
            cell("type"),
            cell("at"),
            cell("asks_for"),
            list(&others),
            span("waits_seconds"),
            cell("lookahead"),
            cell("galt"),
            format!("{} ago", seconds(&federate["last_call_seconds"])),
            (if federate["connected"] == json!(false) { "no" } else { "yes" }).to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_drawn_from_those_that_hold_it_up() {
        let federate = |name: &str, asks: Value, waits: &[&str]| {
            json!({ "name": name, "at": "3", "asks_for": asks, "waits_for": waits, "waits_seconds": 5.0,
                    "last_call_seconds": 0.1 })
        };
        let federates = [federate("a", Value::Null, &[]), federate("b", json!("7.5"), &["a"])];
        let federation = json!({ "name": "f", "time": "floats", "federates": federates });
        let drawn = picture(std::slice::from_ref(&federation)).expect("there are federates");
        assert_eq!(drawn.edges, [Edge { from: 1, to: 0, load: 0.5 }]);
        assert_eq!((drawn.points[0].load, drawn.points[1].load), (1.0, 0.0));
        let shown = standings(std::slice::from_ref(&federation)).expect("they have times");
        assert_eq!((shown.rows[1].front, shown.rows[1].colour), (Some(7.5), None));
        assert!(shown.said.is_some_and(|said| said.starts_with("f: a holds up b since 5.0 s")));
        assert!(picture(&[]).is_none() && standings(&[]).is_none());
        assert_eq!(table(&federation).rows()[1][4], "a");
    }
}
