//! `paceline rti status`: how far federations are, who is waited for, and since when.
//!
//! Every infrastructure has a socket of its own, `rti-PID.sock` in the folder of those that runs have, which
//! only its user may enter. Whoever connects to it gets one JSON object. A socket without a listener was left
//! by a process that was killed, and is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use paceline_app::ctl::folder;
use paceline_app::failure::CommandError;
use paceline_app::stdout;
use paceline_fedpro::{HostStatus, Outside, Server};
use serde_json::{Value, json};

use super::arguments::StatusArguments;

/// The socket of this process; it is removed when this is dropped.
#[derive(Debug)]
pub struct Socket(PathBuf);

impl Socket {
    /// Where it is.
    #[cfg(feature = "live")]
    pub fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Without a socket there is nothing left to do.
        let _ = fs::remove_file(&self.0);
    }
}

/// Lets a server answer those who ask for its status.
pub fn offer<O: Outside>(server: &mut Server<O>) -> io::Result<Socket> {
    let path = folder::make()?.join(format!("rti-{}.sock", std::process::id()));
    // A process of the same number may have been killed.
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let socket = Socket(path);
    server.answer_status(listener, |status| format!("{}\n", object(status)))?;
    Ok(socket)
}

fn object(status: &HostStatus) -> Value {
    let federations = status.federations.iter().map(|federation| {
        let federates = federation.federates.iter().map(|federate| {
            let member = status.members.get(&federate.client);
            json!({
                "name": federate.name,
                "type": federate.kind,
                "at": federate.now,
                "asks_for": federate.asked,
                "lookahead": federate.lookahead,
                "constrained": federate.is_constrained,
                "galt": federate.galt,
                "waits_for": federate.waits_for,
                "waits_seconds": member.and_then(|member| member.waits).map(|time| time.as_secs_f64()),
                "last_call_seconds": member.map(|member| member.silence.as_secs_f64()),
                "connected": member.is_some_and(|member| member.is_connected),
            })
        });
        json!({
            "name": federation.name,
            "time": federation.time,
            "federates": federates.collect::<Vec<_>>(),
        })
    });
    json!({
        "pid": std::process::id(),
        "sessions": status.members.len(),
        "federations": federations.collect::<Vec<_>>(),
    })
}

/// Prints the status of all infrastructures, or of one.
pub fn status(arguments: &StatusArguments) -> Result<(), CommandError> {
    let failed = |error: io::Error| CommandError::Ctl(format!("cannot look for infrastructures: {error}"));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder::make().map_err(failed)?).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let pid = name.strip_prefix("rti-").and_then(|name| name.strip_suffix(".sock")?.parse().ok());
        let Some(pid) = pid.filter(|pid: &u32| arguments.pid.is_none_or(|wanted| wanted == *pid)) else {
            continue;
        };
        match ask(&path, folder::PATIENCE) {
            Ok(text) => found.push((pid, text)),
            // Whoever was there was killed, or has ended a moment ago.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => drop(fs::remove_file(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(CommandError::Ctl(format!("process {pid} does not answer: {error}"))),
        }
    }
    found.sort_unstable();
    if found.is_empty() {
        let which = arguments.pid.map_or(String::new(), |pid| format!(" in process {pid}"));
        return Err(CommandError::Ctl(format!("no run-time infrastructure is served{which}")));
    }
    for (pid, text) in found {
        let object: Value = serde_json::from_str(&text)
            .map_err(|error| CommandError::Ctl(format!("process {pid} does not answer: {error}")))?;
        stdout::print(&if arguments.json { text } else { page(&object) })?;
    }
    Ok(())
}

pub(super) fn ask(path: &Path, patience: Duration) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

pub(super) fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn seconds(value: &Value) -> String {
    format!("{:.1} s", Duration::from_secs_f64(value.as_f64().unwrap_or_default()).as_secs_f64())
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What people read: a line for the process, one for each federation, and one for each federate.
fn page(object: &Value) -> String {
    let federations = rows(&object["federations"]);
    let sessions = object["sessions"].as_u64().unwrap_or_default() as usize;
    let mut page = format!(
        "process {}: {}, {}\n",
        object["pid"],
        counted(sessions, "session"),
        counted(federations.len(), "federation")
    );
    for federation in federations {
        let federates = rows(&federation["federates"]);
        page += &format!(
            "{}: {}, {}; {}\n",
            text(&federation["name"]),
            text(&federation["time"]),
            counted(federates.len(), "federate"),
            hold_up(federates)
        );
        federates.iter().for_each(|federate| page += &format!("  {}\n", line(federate)));
    }
    page
}

/// Names in a list; beyond so many, only how many more there are.
const LISTED: usize = 6;

pub(super) fn list(names: &BTreeSet<&str>) -> String {
    let mut listed: Vec<String> = names.iter().take(LISTED).map(|name| (*name).to_owned()).collect();
    if names.len() > LISTED {
        listed.push(format!("and {}", counted(names.len() - LISTED, "other")));
    }
    listed.join(", ")
}

/// Who holds up whom, and since when: each that others wait for, over however many, and that waits for
/// nobody.
pub(super) fn hold_up(federates: &[Value]) -> String {
    let mut waiters: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut since: BTreeMap<&str, f64> = BTreeMap::new();
    for federate in federates {
        for other in rows(&federate["waits_for"]).iter().map(text) {
            let name = text(&federate["name"]);
            waiters.entry(other).or_default().insert(name);
            since.insert(name, federate["waits_seconds"].as_f64().unwrap_or_default());
        }
    }
    if since.is_empty() {
        return "nobody waits".to_owned();
    }
    let longest =
        |held: &BTreeSet<&str>| seconds(&json!(held.iter().map(|name| since[name]).fold(0.0, f64::max)));
    // Those that hold up the same others stand together.
    let mut groups: BTreeMap<BTreeSet<&str>, BTreeSet<&str>> = BTreeMap::new();
    for blocking in waiters.keys().filter(|name| !since.contains_key(*name)) {
        let (mut held, mut looked_at) = (BTreeSet::new(), vec![*blocking]);
        while let Some(name) = looked_at.pop() {
            let more = waiters.get(name).into_iter().flatten();
            looked_at.extend(more.filter(|name| held.insert(**name)));
        }
        groups.entry(held).or_default().insert(blocking);
    }
    let held: BTreeSet<&str> = groups.keys().flatten().copied().collect();
    let others: BTreeSet<&str> = since.keys().copied().filter(|name| !held.contains(name)).collect();
    let text = |(held, blocking): (&BTreeSet<&str>, &BTreeSet<&str>)| {
        let verb = if blocking.len() == 1 { "holds up" } else { "hold up" };
        format!("{} {verb} {} since {}", list(blocking), list(held), longest(held))
    };
    let mut texts: Vec<String> = groups.iter().map(text).collect();
    // Each of them waits for a message that another one may still send.
    if !others.is_empty() {
        texts.push(format!("{} wait for each other since {}", list(&others), longest(&others)));
    }
    texts.join("; ")
}

fn line(federate: &Value) -> String {
    let mut line = format!("{}: at {}", text(&federate["name"]), text(&federate["at"]));
    if let Some(asked) = federate["asks_for"].as_str() {
        line += &format!(", asks for {asked}");
    }
    let others: BTreeSet<&str> = rows(&federate["waits_for"]).iter().map(text).collect();
    if !others.is_empty() {
        line += &format!(", waits for {} since {}", list(&others), seconds(&federate["waits_seconds"]));
    }
    if let Some(lookahead) = federate["lookahead"].as_str() {
        line += &format!(", lookahead {lookahead}");
    }
    if let Some(galt) = federate["galt"].as_str() {
        line += &format!(", GALT {galt}");
    }
    line += &format!(", last call {} ago", seconds(&federate["last_call_seconds"]));
    if federate["connected"] == json!(false) {
        line += ", connection lost";
    }
    line
}
