//! Reads deployments in SimGrid's XML format: the function of each actor, its host, and its start time.
//!
//! Older files write `<process>` for `<actor>`. Times are in seconds; a negative time means "none".
//! Invariants: no text makes the reader panic; every host in a deployment exists in the platform, and no
//! actor ends before it starts.

use super::parts::properties;
use super::words;
use super::xml::{self, Attribute, Element};
use crate::error::{ReadError, TextError};
use crate::ids::{HostId, Properties};
use crate::platform::Platform;

/// What an actor does when its host fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It ends with its host.
    Die,
    /// It starts again when its host is on again.
    Restart,
}

/// An actor: a function that runs on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Actor {
    /// The line and the column of its element in the file, both from 1.
    pub place: (usize, usize),
    /// Where it runs.
    pub host: HostId,
    /// The name of its function.
    pub function: String,
    /// The arguments of its function, without the function's name.
    pub arguments: Vec<String>,
    /// When it starts, in seconds.
    pub start: f64,
    /// The time when it is ended if it still runs, in seconds; after the start.
    pub kill: Option<f64>,
    /// What it does when its host fails.
    pub on_failure: OnFailure,
    /// What the file says with `<prop>`.
    pub properties: Properties,
}

/// The actors of a simulation, in the order of the file.
///
/// ```
/// use paceline_network::{Deployment, OnFailure, read};
///
/// let text = r#"<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone></platform>"#;
/// let platform = read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let text = r#"<platform version="4.1">
///     <actor host="a" function="master" on_failure="RESTART"> <argument value="20"/> </actor>
///     <actor host="a" function="worker" start_time="1.5"/>
/// </platform>"#;
/// let deployment = Deployment::read("deployment.xml", text, &platform)?;
/// let [master, worker] = &deployment.actors[..] else { panic!("there are two actors") };
/// assert_eq!((&master.arguments[..], master.on_failure), (&["20".to_owned()][..], OnFailure::Restart));
/// assert_eq!((worker.host, worker.start, worker.kill), (platform.host("a").unwrap(), 1.5, None));
/// assert_eq!(worker.place, (3, 5));
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deployment {
    /// In the order of the file.
    pub actors: Vec<Actor>,
}

/// The latest time of a start or an end, in seconds: 300 years.
const MOST_SECONDS: f64 = 1e10;
/// The number of hosts that a message suggests.
const SHOWN: usize = 5;

impl Deployment {
    /// Reads a deployment for a platform: `name` is the file's name for messages.
    pub fn read(name: &str, text: &str, platform: &Platform) -> Result<Self, ReadError> {
        let read = || -> Result<Self, TextError> {
            let root = xml::parse(text)?;
            words::check(&root, &words::DEPLOYMENT)?;
            words::check_version(&root)?;
            let newlines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
            let place = |element: &Element| {
                let before = newlines.partition_point(|at| *at < element.at.start);
                let start = before.checked_sub(1).map_or(0, |last| newlines[last] + 1);
                (before + 1, text[start..element.at.start].chars().count() + 1)
            };
            let actors = root.children.iter().map(|element| actor(element, place(element), platform));
            Ok(Self { actors: actors.collect::<Result<_, _>>()? })
        };
        read().map_err(|error| error.place(name, text))
    }
}

fn actor(element: &Element, place: (usize, usize), platform: &Platform) -> Result<Actor, TextError> {
    let host = element.need("host")?;
    let function = element.need("function")?;
    if function.value.is_empty() {
        return Err(function.refuse("an empty name of a function", "a name"));
    }
    let start = element.get("start_time");
    let kill = element.get("kill_time");
    let [begin, end] = [start.map_or(Ok(None), seconds)?, kill.map_or(Ok(None), seconds)?];
    let begin = begin.unwrap_or(0.0);
    if let (Some(end), Some(kill)) = (end, kill)
        && end <= begin
    {
        let problem = format!("an actor that is ended at {end} s and starts at {begin} s");
        let allowed = "a kill_time after the start_time, or -1 for none";
        return Err(kill.refuse(problem, allowed));
    }
    let on_failure = match element.get("on_failure") {
        None => OnFailure::Die,
        Some(choice) => match choice.value.as_str() {
            "DIE" => OnFailure::Die,
            "RESTART" => OnFailure::Restart,
            other => {
                let problem = format!("`on_failure` cannot be \"{other}\"");
                return Err(choice.refuse(problem, "DIE or RESTART"));
            }
        },
    };
    let arguments = element.children.iter().filter(|child| child.name == "argument");
    let arguments = arguments.map(|argument| Ok(argument.need("value")?.value.clone()));
    let arguments: Result<Vec<String>, TextError> = arguments.collect();
    Ok(Actor {
        place,
        host: host_of(host, platform)?,
        function: function.value.clone(),
        arguments: arguments?,
        start: begin,
        kill: end,
        on_failure,
        properties: properties(element)?,
    })
}

fn host_of(name: &Attribute, platform: &Platform) -> Result<HostId, TextError> {
    platform.host(&name.value).ok_or_else(|| {
        let shown: Vec<&str> = platform.hosts().iter().take(SHOWN).map(|host| host.name.as_str()).collect();
        let allowed = match shown[..] {
            [] => "none: the platform has no hosts".to_owned(),
            _ => format!("a host of the platform, such as {}", shown.join(", ")),
        };
        name.refuse(format!("there is no host `{}`", name.value), allowed)
    })
}

/// A time; `None` if negative.
fn seconds(attribute: &Attribute) -> Result<Option<f64>, TextError> {
    let number = attribute.value.trim().parse().ok().filter(|number: &f64| number.abs() <= MOST_SECONDS);
    let number = number.ok_or_else(|| {
        let problem = format!("`{}` cannot be \"{}\"", attribute.name, attribute.value);
        attribute.refuse(problem, "seconds from 0 to 1e10, or -1 for none")
    })?;
    Ok((number >= 0.0).then_some(number))
}
