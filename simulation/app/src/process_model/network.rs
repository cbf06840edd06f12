//! The network that a scenario names: the keys of `[network]`, and platform files.

use std::path::Path;

use paceline_kernel::Time;
use paceline_network::{FlowModel, Platform, decode, read};
use paceline_scenario::{ScenarioError, Section, inputs};

/// A network, with all that it needs.
#[derive(Debug)]
pub struct ChosenNetwork {
    /// The name of its model in scenario files.
    pub name: &'static str,
    /// What it is.
    pub kind: NetworkKind,
}

/// How messages travel.
#[derive(Debug)]
pub enum NetworkKind {
    /// Every message takes equally long.
    Constant {
        /// Seconds from sending a message to its arrival.
        seconds: f64,
        /// Hosts that processes are dealt to.
        hosts: u32,
    },
    /// Messages share the links of a platform.
    Flows {
        /// Hosts, links and routes.
        platform: Box<Platform>,
        /// The constants by which flows share links.
        model: FlowModel,
    },
}

impl ChosenNetwork {
    /// How many hosts there are.
    pub fn hosts(&self) -> u32 {
        match &self.kind {
            NetworkKind::Constant { hosts, .. } => *hosts,
            NetworkKind::Flows { platform, .. } => platform.hosts().len() as u32,
        }
    }

    /// The platform, if it has one.
    pub fn platform(&self) -> Option<&Platform> {
        match &self.kind {
            NetworkKind::Constant { .. } => None,
            NetworkKind::Flows { platform, .. } => Some(platform),
        }
    }
}

/// The section `[network]`, which a model reads early whose parameters name hosts, and which is read after
/// the model else.
#[derive(Debug)]
pub struct NetworkSection {
    section: Section,
    chosen: Option<ChosenNetwork>,
}

impl NetworkSection {
    /// Nothing of it has been read.
    pub(crate) fn new(section: Section) -> Self {
        Self { section, chosen: None }
    }

    /// The network; without a platform it has this many `hosts`. It is read once.
    pub fn read(&mut self, hosts: u32) -> Result<&ChosenNetwork, ScenarioError> {
        if self.chosen.is_none() {
            self.chosen = Some(choose(&mut self.section, hosts)?);
        }
        Ok(self.chosen.as_ref().expect("it was read"))
    }

    /// The same, read to the last key, with what is left of the section for messages.
    pub(crate) fn finish(
        mut self,
        hosts: u32,
        check: impl FnOnce(&Section, &ChosenNetwork) -> Result<(), ScenarioError>,
    ) -> Result<ChosenNetwork, ScenarioError> {
        self.read(hosts)?;
        let Self { section, chosen } = self;
        let chosen = chosen.expect("it was read");
        check(&section, &chosen)?;
        section.finish()?;
        Ok(chosen)
    }
}

fn choose(network: &mut Section, hosts: u32) -> Result<ChosenNetwork, ScenarioError> {
    let flows = [
        ("constant", ("constant", None)),
        ("cm02", ("cm02", Some(FlowModel::CM02))),
        ("lv08", ("lv08", Some(FlowModel::LV08))),
    ];
    let (name, model) = network.choice("model", &flows, Some(("constant", None)))?;
    let Some(model) = model else {
        let latency: Time = network.or("latency", Time::millis(100))?;
        let kind = NetworkKind::Constant { seconds: latency.as_secs_f64(), hosts };
        return Ok(ChosenNetwork { name, kind });
    };
    let Some(path) = network.file("platform")? else {
        let problem = format!("a network of model {name:?} has links, and no platform says which");
        return Err(network.refuse("platform", problem, "a platform file in SimGrid's XML format"));
    };
    let refuse = |problem: String| network.refuse("platform", problem, "a platform that can be read");
    let platform = read_platform(&path).map_err(refuse)?;
    platform.notices().iter().for_each(|notice| eprintln!("note: {notice}"));
    if let Some((of_file, place)) = &platform.settings().model
        && !of_file.eq_ignore_ascii_case(name)
    {
        eprintln!(
            "note: {place}: the file's network/model is `{of_file}`; network.model = {name:?} replaces it"
        );
    }
    if platform.hosts().is_empty() {
        return Err(refuse(format!("{} has no hosts", path.display())));
    }
    Ok(ChosenNetwork { name, kind: NetworkKind::Flows { platform: Box::new(platform), model } })
}

/// The platform of a file, or why it cannot be read.
pub fn read_platform(path: &Path) -> Result<Platform, String> {
    let name = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(""));
    let bytes = inputs::read(path).map_err(|reason| {
        format!("{name}: cannot be read: {reason}; allowed: a platform file in SimGrid's XML format")
    })?;
    let text = decode(&name, &bytes).map_err(|mistake| mistake.to_string())?;
    // Profiles are numbers; a comment in another encoding does not matter.
    let mut other = |file: &str| {
        let bytes = inputs::read(&folder.join(file)).map_err(|reason| reason.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read(&name, &text, &mut other).map_err(|mistake| mistake.to_string())
}
