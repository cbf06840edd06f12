//! The picture of a model as a map of the report.

use paceline_kernel::Time;
use paceline_report::{Map, MapMarks};
use paceline_results::Picture;

use crate::run_report::Recorded;
use crate::sampling::picture::{CELLS, Extent, grid, is_crowd};
use crate::text;

/// The maps of a run: when its model was busiest, and at the end.
pub fn maps(recorded: &Recorded) -> Vec<Map> {
    let Recorded { looks, busiest, latest, .. } = recorded;
    let mut maps = Vec::new();
    let is_same =
        |one: &Option<(Time, Picture)>| one.as_ref().map(|(at, _)| *at) == latest.as_ref().map(|(at, _)| *at);
    if let Some((at, picture)) = busiest.as_ref().filter(|_| !is_same(busiest)) {
        maps.push(map(*at, picture, &format!("the busiest of {looks} moments at which it was drawn")));
    }
    if let Some((at, picture)) = latest {
        maps.push(map(*at, picture, "when last drawn"));
    }
    // A model may say numbers alone.
    maps.retain(|map| !matches!(&map.marks, MapMarks::Points { points, .. } if points.is_empty()));
    maps
}

fn map(at: Time, picture: &Picture, when: &str) -> Map {
    let fields = picture.fields.iter().map(|(name, value)| format!("{name} {value}"));
    let extent = Extent::of(&picture.points);
    let title = if picture.title.is_empty() { "The model" } else { &picture.title };
    Map {
        title: format!("{title}: at {}, {when}", text::time(at)),
        caption: fields.collect::<Vec<_>>().join("; "),
        load: picture.load.clone(),
        ratio: extent.ratio(),
        marks: marks(picture, &extent),
    }
}

fn marks(picture: &Picture, extent: &Extent) -> MapMarks {
    if is_crowd(picture) {
        return MapMarks::Cells { side: CELLS, cells: grid(&picture.points, extent) };
    }
    let points = picture.points.iter().map(|point| {
        let (x, y) = extent.part(point);
        ([x, y], point.load)
    });
    let lines = picture.edges.iter().map(|edge| (edge.from, edge.to, edge.load));
    MapMarks::Points { points: points.collect(), lines: lines.collect() }
}
