//! The page of one run.

use paceline_report::{Chapter, Map, Series, Table, document_with_data};

use super::record::{Place, Record};
use crate::text::Row;

/// The page, one HTML document with its data.
pub fn page(record: &Record, maps: Vec<Map>) -> String {
    let data = serde_json::to_string(record).expect("a record has text for keys");
    let Record { scenario, model, program, ended, digest, .. } = record;
    let lead =
        [format!("A run of {scenario}, model {model}, by {program}. Ended: {ended}. Digest: {digest}.")];
    let mut chapters = vec![results(record)];
    chapters.extend(figures(record, Place::Model, "model", "The model", maps));
    chapters.extend(figures(record, Place::Run, "run", "How it went", Vec::new()));
    chapters.extend(figures(record, Place::Federates, "federates", "Federates", Vec::new()));
    chapters.extend([settings(record), again(record)]);
    document_with_data(&record.scenario, &lead, &chapters, &data)
}

/// Rows as a table.
pub fn table(title: &str, columns: [&str; 2], rows: &[Row]) -> Table {
    let mut table = Table::new(title, columns);
    for (name, value) in rows {
        table.row([name.as_str(), value.as_str()]);
    }
    table
}

fn results(record: &Record) -> Chapter {
    let mut chapter = Chapter { name: "results".into(), title: "Results".into(), ..Chapter::default() };
    if record.is_interrupted {
        chapter.about.push("The run was interrupted: these are its results until then.".into());
    }
    if !record.results.is_empty() {
        chapter.tables.push(table("Results", ["result", "value"], &record.results));
    }
    chapter.tables.push(table("The run", ["", "value"], &record.run));
    if let Some((title, rows)) = &record.more {
        chapter.tables.push(table(title, ["", "value"], rows));
    }
    chapter
}

/// The figures of a place, with maps; nothing where there are none.
fn figures(record: &Record, place: Place, name: &str, title: &str, maps: Vec<Map>) -> Option<Chapter> {
    let drawn = record.figures.iter().filter(|drawn| drawn.place == place);
    let figures: Vec<_> = drawn
        .map(|drawn| {
            let series = drawn.series.iter();
            let series =
                series.map(|(name, points)| Series::ours(name.as_str(), drawn.kind(), points.clone()));
            drawn.figure(series.collect())
        })
        .collect();
    let is_empty = figures.is_empty() && maps.is_empty();
    (!is_empty).then(|| Chapter {
        name: name.into(),
        title: title.into(),
        about: record.of_first(place).into_iter().collect(),
        maps,
        figures,
        ..Chapter::default()
    })
}

fn settings(record: &Record) -> Chapter {
    Chapter {
        name: "settings".into(),
        title: "Settings".into(),
        about: vec![
            "What the scenario says, with changes by --set. All other keys have their defaults.".into(),
        ],
        tables: vec![table("Keys of the scenario", ["key", "value"], &record.settings)],
        ..Chapter::default()
    }
}

fn again(record: &Record) -> Chapter {
    let digest = match record.is_interrupted {
        true => "The run was interrupted, so the digest of a whole one is not known here.".to_owned(),
        false => format!(
            "On any number of threads and under any protocol the digest is {}, unless the scenario or a file that it names \
             has changed.",
            record.digest
        ),
    };
    Chapter {
        name: "again".into(),
        title: "How to repeat it".into(),
        about: vec![format!("In the folder from which it was run, with {}. {digest}", record.program)],
        commands: vec![record.command.clone()],
        ..Chapter::default()
    }
}
