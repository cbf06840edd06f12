//! SimGrid's own results on its example platforms, if available: every row agrees to 1e-4.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_network::{FlowModel, Flows, Network, Platform, read};

/// The folder with platform files and SimGrid's times for them: in `$PACELINE_DATA`, else beside the project.
fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("PACELINE_DATA").map_or(beside, PathBuf::from).join("platforms");
    if !folder.is_dir() {
        eprintln!("skipped: there is no {}", folder.display());
        return None;
    }
    Some(folder)
}

struct Row {
    source: String,
    destination: String,
    bytes: f64,
    seconds: f64,
}

/// When each of some transfers ends if all start together.
fn ends(platform: &Platform, model: FlowModel, rows: &[&Row]) -> Vec<f64> {
    let mut network = Flows::new(platform, model);
    for row in rows {
        let host = |name: &str| platform.host(name).unwrap_or_else(|| panic!("a host {name}"));
        network.start(host(&row.source), host(&row.destination), row.bytes).expect("there is a route");
    }
    let mut ends = vec![f64::NAN; rows.len()];
    while let Some(at) = network.next() {
        for end in network.advance(at) {
            assert!(end.arrived);
            ends[end.transfer.0 as usize] = end.at;
        }
    }
    ends
}

#[test]
fn simgrids_times_are_reproduced() {
    let Some(folder) = folder() else { return };
    let table = fs::read_to_string(folder.join("expected_times.csv")).expect("a table of times");
    let mut groups: BTreeMap<[String; 3], Vec<Row>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [platform, model, mode, source, destination, bytes, seconds] = fields[..] else {
            panic!("seven columns: {line}")
        };
        groups.entry([platform, model, mode].map(str::to_owned)).or_default().push(Row {
            source: source.into(),
            destination: destination.into(),
            bytes: bytes.parse().expect("a number"),
            seconds: seconds.parse().expect("a number"),
        });
    }
    let (mut compared, mut worst, mut wrong) = (0, 0f64, Vec::new());
    for ([name, model, mode], rows) in &groups {
        let file = format!("{name}.xml");
        let text = fs::read_to_string(folder.join(&file)).expect("a platform file");
        let platform = read(&file, &text, &mut |_| Err("not at hand".into())).expect("a good file");
        let model = if model == "CM02" { FlowModel::CM02 } else { FlowModel::LV08 };
        let together: Vec<Vec<&Row>> = match mode.as_str() {
            "all" => vec![rows.iter().collect()],
            _ => rows.iter().map(|row| vec![row]).collect(),
        };
        for rows in together {
            for (row, found) in rows.iter().zip(ends(&platform, model, &rows)) {
                let error = (found - row.seconds).abs() / row.seconds;
                compared += 1;
                worst = worst.max(error);
                if error.is_nan() || error > 1e-4 {
                    let Row { source, destination, bytes, seconds } = row;
                    wrong.push(format!(
                        "{name} {mode} {source} {destination} {bytes}: {found}, not {seconds}"
                    ));
                }
            }
        }
    }
    eprintln!("{compared} rows, worst relative error {worst:e}");
    assert!(wrong.is_empty(), "{} of {compared} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
