//! Profiles: from files that hosts and links name, and from `<trace>` elements that `<trace_connect>`
//! connects.
//!
//! Invariants: a profile has only values that its host or link may have; a host or link has at most one
//! profile of each kind; a profile that several hosts or links name is read once for each kind.

use std::collections::BTreeMap;

use super::build::Builder;
use super::parts::{Connection, KINDS, Of, Source};
use super::xml::Element;
use crate::error::{ReadError, TextError};
use crate::platform::Kind;
use crate::profile::Profile;

impl<'t> Builder<'t, '_> {
    /// Records a `<trace>` or `<trace_connect>`.
    pub fn trace(&mut self, element: &'t Element) -> Result<(), TextError> {
        if element.name == "trace" {
            let id = element.id()?;
            if self.traces.insert(&id.value, element).is_some() {
                let problem = format!("a second trace with the name `{}`", id.value);
                return Err(id.refuse(problem, "names that no other trace has"));
            }
            return Ok(());
        }
        let kind = element.get("kind").map_or("HOST_AVAIL", |kind| &kind.value);
        let Some(&(_, of)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            let at = element.get("kind").map_or(element.at.clone(), |kind| kind.at.clone());
            let problem = format!("there is no kind of trace `{kind}`");
            return Err(TextError::new(at, problem, KINDS.map(|(name, _)| name).join(", ")));
        };
        let source = Source::Trace(element.need("trace")?);
        self.connections.push(Connection { of, target: element.need("element")?, source });
        Ok(())
    }

    /// Records the profile file that a host or link names.
    pub fn connect_file(
        &mut self,
        element: &'t Element,
        attribute: &str,
        kind: &str,
    ) -> Result<(), TextError> {
        let Some(file) = element.get(attribute) else { return Ok(()) };
        let of = KINDS.iter().find(|(name, _)| *name == kind).expect("the kinds are ours").1;
        self.connections.push(Connection { of, target: element.id()?, source: Source::File(file) });
        Ok(())
    }

    /// Reads all profiles, and assigns them to their hosts and links.
    pub fn read_traces(&mut self) -> Result<(), ReadError> {
        let mut known = BTreeMap::new();
        for connection in std::mem::take(&mut self.connections) {
            let key = (connection.source.key(), connection.of);
            let profile = match known.get(&key) {
                Some(profile) => Profile::clone(profile),
                None => self.profile(&connection)?,
            };
            known.entry(key).or_insert_with(|| profile.clone());
            self.give(&connection, &profile).map_err(|error| self.place(error))?;
        }
        Ok(())
    }

    fn profile(&mut self, connection: &Connection<'t>) -> Result<Profile, ReadError> {
        let (accepts, allowed) = connection.of.values();
        let (file, periodicity) = match connection.source {
            Source::File(file) => (file, -1.0),
            Source::Trace(id) => {
                let Some(&trace) = self.traces.get(id.value.as_str()) else {
                    let problem = format!("there is no trace `{}`", id.value);
                    return Err(self.place(id.refuse(problem, "the id of a <trace>")));
                };
                let periodicity = self.periodicity(trace)?;
                let Some(file) = trace.get("file") else {
                    return Profile::read(&trace.text, periodicity, accepts, allowed).map_err(|error| {
                        let at = match trace.text.is_empty() {
                            true => trace.at.clone(),
                            false => trace.text_at + error.at.start..trace.text_at + error.at.end,
                        };
                        self.place(TextError { at, ..error })
                    });
                };
                if !trace.text.is_empty() {
                    let at = trace.text_at..trace.text_at;
                    return Err(self.place(TextError::new(
                        at,
                        "a <trace> with a file and a text",
                        "one of the two",
                    )));
                }
                if periodicity > 0.0 {
                    let text = "`periodicity` has no effect on a <trace> with a file, as in SimGrid; a line PERIODICITY \
                                in the file has";
                    self.notice(
                        trace.get("periodicity").map_or(0..0, |attribute| attribute.at.clone()),
                        text,
                    );
                }
                (file, -1.0)
            }
        };
        let text = (self.other)(&file.value).map_err(|reason| {
            let problem = format!("the profile {} cannot be read: {reason}", file.value);
            self.place(file.refuse(problem, "a text file, sought beside the platform file"))
        })?;
        Profile::read(&text, periodicity, accepts, allowed).map_err(|error| error.place(&file.value, &text))
    }

    fn periodicity(&self, trace: &Element) -> Result<f64, ReadError> {
        let Some(attribute) = trace.get("periodicity") else { return Ok(-1.0) };
        let number = attribute.value.trim().parse().ok();
        number.filter(|number: &f64| number.abs() <= 1e10).ok_or_else(|| {
            let problem = format!("`periodicity` cannot be \"{}\"", attribute.value);
            self.place(attribute.refuse(problem, "seconds up to 1e10; none where it is not above 0"))
        })
    }

    fn give(&mut self, connection: &Connection<'t>, profile: &Profile) -> Result<(), TextError> {
        let Connection { of, target, .. } = connection;
        let mut places = Vec::new();
        if let Of::HostState | Of::Speed = of {
            let point = self.platform.point_names.get(&target.value);
            if let Some(Kind::Host(host)) = point.map(|point| self.platform.point(*point).kind) {
                let host = &mut self.platform.hosts[host.0 as usize];
                places.push(if *of == Of::Speed { &mut host.speed_profile } else { &mut host.state_profile });
            }
        } else {
            let links = &mut self.platform.links;
            if let Some((up, down)) = self.splits.get(&target.value) {
                // The halves of a split link have consecutive numbers.
                let halves = &mut links[up.0 as usize..=down.0 as usize];
                places.extend(halves.iter_mut().map(|half| of.of_link(half)));
            } else if let Some(link) = self.platform.link_names.get(&target.value) {
                places.push(of.of_link(&mut links[link.0 as usize]));
            }
        }
        if places.is_empty() {
            let what = if let Of::HostState | Of::Speed = of { "host" } else { "link" };
            let problem = format!("there is no {what} `{}`", target.value);
            return Err(target.refuse(problem, format!("the name of a {what}")));
        }
        for place in places {
            if place.replace(profile.clone()).is_some() {
                let problem = format!("a second profile of one kind for `{}`", target.value);
                return Err(target.refuse(problem, "at most one of each kind"));
            }
        }
        Ok(())
    }
}
