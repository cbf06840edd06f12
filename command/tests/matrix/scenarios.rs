//! The scenarios that are run in all modes.

use std::env;
use std::path::{Path, PathBuf};

/// A scenario of the project, changed by settings.
pub struct Scenario {
    pub name: &'static str,
    file: &'static str,
    settings: &'static [&'static str],
    /// Files of a real city, by the key that names them.
    city: &'static [(&'static str, &'static str)],
    /// Horizons of the sample and of the whole matrix.
    until: [&'static str; 2],
    /// Whether the model takes its events back itself.
    pub undoes: bool,
}

const ANAHEIM: &[(&str, &str)] = &[("network", "Anaheim_net.tntp"), ("trips", "Anaheim_trips.tntp")];
const CHICAGO: &[(&str, &str)] =
    &[("network", "ChicagoSketch_net.tntp"), ("trips", "ChicagoSketch_trips.tntp")];

const fn scenario(
    name: &'static str,
    file: &'static str,
    settings: &'static [&'static str],
    city: &'static [(&'static str, &'static str)],
    until: [&'static str; 2],
) -> Scenario {
    Scenario { name, file, settings, city, until, undoes: true }
}

impl Scenario {
    /// The same of a model without `undo`.
    const fn without_undo(self) -> Self {
        Self { undoes: false, ..self }
    }
}

pub const SCENARIOS: [Scenario; 20] = [
    scenario("BLB", "blb", &[], &[], ["100s", "1000s"]),
    scenario("ULB", "ulb", &[], &[], ["100s", "1000s"]),
    scenario("HLB", "hlb", &[], &[], ["2.2s", "8s"]),
    scenario("PHOLD 2048 x 16", "phold", &["model.remote=0.25"], &[], ["20s", "150s"]),
    scenario(
        "PHOLD 65536 x 16",
        "phold",
        &["model.lps=65536", "model.messages_per_lp=16", "model.remote=0.25"],
        &[],
        ["2.1s", "4s"],
    ),
    scenario(
        "PHOLD 1048576 x 1",
        "phold",
        &["model.lps=1048576", "model.messages_per_lp=1", "model.remote=0.25"],
        &[],
        ["2.1s", "4s"],
    ),
    scenario("VSB", "vsb", &[], &[], ["5min", "40min"]),
    scenario("Anaheim", "anaheim", &[], ANAHEIM, ["5min", "2h"]),
    scenario(
        "Anaheim with lights and full roads",
        "anaheim",
        &["model.lights=true", "model.storage=true"],
        ANAHEIM,
        ["5min", "1h"],
    ),
    scenario("Chicago Sketch", "chicago-sketch", &["model.demand=0.2"], CHICAGO, ["5min", "4h"]),
    scenario("Wireless", "wireless", &["model.hosts=600", "model.computation=light"], &[], ["12.3s", "300s"])
        .without_undo(),
    scenario(
        "Wireless, pings singly",
        "wireless",
        &["model.hosts=400", "model.computation=light", "model.deliveries=singly", "model.deal=number"],
        &[],
        ["12.5s", "200s"],
    )
    .without_undo(),
    scenario(
        "Wireless with losses",
        "wireless-csma",
        &[
            "model.hosts=60",
            "model.side=600",
            "model.range=150",
            "model.request_every=20ms",
            "model.step=10ms",
        ],
        &[],
        ["30ms", "200ms"],
    )
    .without_undo(),
    scenario("Packets, TCP", "packets-dumbbell", &[], &[], ["3s", "60s"]).without_undo(),
    scenario(
        "Packets, collective",
        "packets-collective",
        &["model.applications.bytes=160kB"],
        &[],
        ["1ms", "50ms"],
    )
    .without_undo(),
    scenario("Packets, UDP", "packets-fat-tree", &["model.k=4"], &[], ["1ms", "20ms"]).without_undo(),
    scenario("Packets, PFC", "packets-incast", &[], &[], ["2ms", "30ms"]).without_undo(),
    scenario(
        "Packets, RDMA",
        "packets-incast",
        &["model.flows.transport=rdma", "model.flows.congestion=dcqcn"],
        &[],
        ["1ms", "30ms"],
    )
    .without_undo(),
    scenario("Packets, a link that fails", "packets-backbone", &[], &[], ["1300ms", "30s"]).without_undo(),
    scenario("Packets, web search", "packets-web-search", &["model.k=4"], &[], ["5ms", "20ms"])
        .without_undo(),
];

impl Scenario {
    /// The files of its city, as settings, or the file that is not there.
    pub fn city_settings(&self) -> Result<Vec<String>, PathBuf> {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let data = env::var_os("PACELINE_DATA").unwrap_or("../shared/data".into());
        let folder = project.join(data).join("tntp");
        let setting = |(key, file): &(&str, &str)| {
            let path = folder.join(file);
            if path.exists() { Ok(format!("model.{key}={}", path.display())) } else { Err(path) }
        };
        self.city.iter().map(setting).collect()
    }

    /// The program's arguments that do not depend on the mode.
    pub fn arguments(&self, city: Vec<String>, full: bool) -> Vec<String> {
        let file = format!("{}/../scenarios/{}.toml", env!("CARGO_MANIFEST_DIR"), self.file);
        let mut arguments = vec!["run".into(), file, "--json".into()];
        let until = format!("run.until={}", self.until[usize::from(full)]);
        let settings = self.settings.iter().map(|setting| (*setting).to_owned());
        arguments.extend(settings.chain(city).chain([until]).map(|setting| format!("--set={setting}")));
        arguments
    }
}
