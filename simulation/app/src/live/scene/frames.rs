//! Frames of a scene: what changed, as JSON and HTML.
//!
//! Invariants: nothing is put together that nobody watches; what takes long is put together the less often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_report::{Axis, Figure, Kind, Series, Table};
use serde_json::{Map, Value, json};

use super::{About, Course, Drawing, Lanes, Messages, Now, Scene, Standing, Standings};
use crate::live::frame::{Frame, Frames, PARTS, Part, part};
use crate::live::sample::{counted, html};
use crate::live::{MOMENT, picture};
use crate::memory;
use crate::sampling::history::History;
use crate::text;

/// The least time between two drawings; a drawing takes at most one part in [`SHARE`] of the time.
const DRAWING: Duration = Duration::from_secs(1);
const SHARE: u32 = 100;
/// Rows of a table that are shown.
const ROWS_MAX: usize = 200;
/// Curves over real time.
const COURSES_MAX: usize = 6;
/// Parts that are shown one by one.
const PARTS_MAX: usize = 256;
/// The places along a lane.
const PLACES: f64 = 4000.0;

/// Makes the frames of a scene for all clients.
pub(in crate::live) struct SceneFrames {
    scene: Arc<dyn Scene>,
    about: About,
    start: Instant,
    parts: [Part; PARTS.len()],
    is_watched: bool,
    courses: History<COURSES_MAX>,
    next_moment: Duration,
    next_drawing: Duration,
}

impl SceneFrames {
    pub(in crate::live) fn new(scene: Arc<dyn Scene>) -> Self {
        Self {
            about: scene.about(),
            scene,
            start: Instant::now(),
            parts: Default::default(),
            is_watched: false,
            courses: History::default(),
            next_moment: Duration::ZERO,
            next_drawing: Duration::ZERO,
        }
    }

    fn show(&mut self, real: Duration, is_last: bool) {
        let now = self.scene.now();
        if real >= self.next_moment || is_last {
            self.next_moment = real + MOMENT;
            let mut numbers = [0.0; COURSES_MAX];
            numbers.iter_mut().zip(&now.courses).for_each(|(number, course)| *number = course.value);
            self.courses.push(real.as_secs_f64(), numbers);
        }
        self.parts[part::NOW].set(self.now(real, &now, is_last).to_string());
        if let Some(lanes) = &now.lanes {
            self.parts[part::LANES].set(of_lanes(lanes).to_string());
        }
        if real >= self.next_drawing || is_last {
            let start = Instant::now();
            self.draw(&now.courses);
            self.next_drawing = real + (SHARE * start.elapsed()).max(DRAWING);
        }
    }

    fn draw(&mut self, courses: &[Course]) {
        let Drawing { picture, names, messages, tables, mut figures } = self.scene.drawing();
        if let Some(picture) = picture {
            let (layout, loads) = picture::named_texts(&picture, &names);
            self.parts[part::LAYOUT].set(layout);
            self.parts[part::LOADS].set(loads);
        }
        if let Some(Messages { part: what, side, counts }) = messages.filter(|messages| messages.side > 1) {
            let matrix = json!({ "part": what, "side": side, "counts": counts });
            self.parts[part::MATRIX].set(matrix.to_string());
        }
        if !tables.is_empty() {
            self.parts[part::TABLES].set(tables.iter().map(of_table).collect::<Value>().to_string());
        }
        figures.extend(courses.iter().take(COURSES_MAX).enumerate().filter_map(|one| self.curve(one)));
        let html = html(&figures);
        if !html.is_empty() {
            self.parts[part::CURVES].set(html);
        }
    }

    /// The course of a number over real time, once there are two moments.
    fn curve(&self, (number, course): (usize, &Course)) -> Option<Figure> {
        let points = if course.is_total { self.courses.rates_of(number) } else { self.courses.of(number) };
        let points: Vec<_> = points.into_iter().filter(|(_, value)| value.is_finite()).collect();
        (points.len() > 1).then(|| Figure {
            title: course.name.into(),
            x: Axis::linear("real time", "s"),
            y: Axis::linear(course.name, course.unit),
            series: vec![Series::ours(course.name, Kind::Lines, points)],
            ..Figure::default()
        })
    }

    fn now(&self, real: Duration, now: &Now, is_last: bool) -> Value {
        let memory = memory::resident_bytes().map(|bytes| ("Memory", text::bytes(bytes)));
        let real = ("Real time", text::seconds(real.as_secs_f64()));
        let numbers = now.numbers.iter().cloned().chain([real]).chain(memory);
        let mut shown = Map::new();
        let mut put = |name: &str, value: Value| shown.insert(name.into(), value);
        put("scenario", self.about.name.clone().into());
        put("about", self.about.kind.clone().into());
        put("step", self.about.step.into());
        put("can", self.scene.requests().into());
        put("done", now.done.map(|done| done.clamp(0.0, 1.0)).into());
        put("paused", now.is_paused.into());
        put("pace", now.pace.into());
        put("stopping", now.is_stopping.into());
        put("ended", is_last.into());
        put("numbers", numbers.map(|(name, value)| json!([name, value])).collect());
        put("herd", now.standings.as_ref().map_or_else(|| json!({}), of_standings));
        Value::Object(shown)
    }
}

impl Frames for SceneFrames {
    fn is_watched(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    fn sample(&mut self, is_last: bool) -> Frame {
        if self.is_watched || is_last {
            self.show(self.start.elapsed(), is_last);
        }
        Frame { parts: self.parts.clone(), is_last }
    }
}

/// Parts in simulated time, as the herd of federates is sent.
fn of_standings(standings: &Standings) -> Value {
    let Standings { title, part, unit, origin: (origin, origin_name), end, rows, said, colours } = standings;
    let since = |time: Option<f64>| time.filter(|time| time.is_finite()).map(|time| time - origin);
    let mut herd = json!({
        "federates": rows.len(),
        "title": title,
        "part": part,
        "unit": unit,
        "origin": origin,
        "origin_name": origin_name,
        "span": since(*end),
        "said": said,
        "colours": colours,
    });
    if rows.len() > PARTS_MAX {
        let places: Vec<f64> = rows.iter().filter_map(|row| since(row.at)).collect();
        let (width, counts) = counted(&places);
        (herd["width"], herd["counts"]) = (width.into(), counts.into());
        return herd;
    }
    let list = |value: &dyn Fn(&Standing) -> Value| rows.iter().map(value).collect::<Value>();
    herd["names"] = list(&|row| row.name.clone().into());
    herd["lvt"] = list(&|row| since(row.at).into());
    herd["front"] = list(&|row| since(row.front).into());
    herd["worker"] = list(&|row| row.colour.into());
    herd["busy"] = list(&|row| ((row.busy.clamp(0.0, 1.0) * 100.0) as u32).into());
    herd
}

/// Spans as small whole numbers in one list.
fn of_lanes(shown: &Lanes) -> Value {
    let Lanes { title, lanes, names, from, to, spans, said } = shown;
    let place = |time: f64| ((time - from) / (to - from).max(1e-12) * PLACES).clamp(0.0, PLACES) as u32;
    let numbers = spans.iter().flat_map(|&(lane, name, from, to)| [lane, name, place(from), place(to)]);
    json!({
        "title": title,
        "lanes": lanes,
        "names": names,
        "from": from,
        "to": to,
        "spans": numbers.collect::<Vec<_>>(),
        "said": said,
    })
}

fn of_table(table: &Table) -> Value {
    let rows = &table.rows()[..table.rows().len().min(ROWS_MAX)];
    let is_numeric: Vec<bool> = (0..table.columns().len()).map(|column| table.is_numeric(column)).collect();
    json!({
        "title": table.title(),
        "columns": table.columns(),
        "numeric": is_numeric,
        "rows": rows,
        "more": table.rows().len() - rows.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_relative_to_the_origin_and_many_are_counted() {
        let row = |at: f64| Standing { name: format!("d{at}"), at: Some(at), ..Standing::default() };
        let standings =
            |rows| Standings { origin: (2.0, "GVT"), end: Some(6.0), rows, ..Standings::default() };
        let few = of_standings(&standings(vec![row(3.0), row(2.0), row(f64::INFINITY)]));
        assert_eq!((&few["lvt"], &few["span"]), (&json!([1.0, 0.0, null]), &json!(4.0)));
        assert_eq!(few["names"][1], "d2");
        let many = of_standings(&standings((0..10_000).map(|number| row(f64::from(number))).collect()));
        assert!(many["names"].is_null() && many.to_string().len() < 2000, "{many}");
    }

    #[test]
    fn spans_stay_within_what_is_shown() {
        let shown = Lanes { from: 1.0, to: 2.0, spans: vec![(0, 1, 0.5, 1.5)], ..Lanes::default() };
        assert_eq!(of_lanes(&shown)["spans"], json!([0, 1, 0, 2000]));
    }

    #[test]
    fn a_long_table_says_how_many_rows_are_left_out() {
        let mut table = Table::new("Many", ["number"]);
        (0..1000).for_each(|number: u32| table.row([number.to_string()]));
        let shown = of_table(&table);
        assert_eq!((shown["rows"].as_array().map(Vec::len), &shown["more"]), (Some(200), &json!(800)));
    }
}
