//! Movement commands of ns-2: the initial places of hosts, and when each host starts to move where and how fast.
//!
//! Known commands: `$node_(N) set X_ V` (also Y_, and Z_, which is ignored), `$ns_ at T "$node_(N) setdest X Y SPEED"`, and `$ns_
//! at T "$node_(N) set X_ V"`, which is a jump. The variables may have other names: scripts say `$ns`, `$n(N)`, `$node(N)` too.
//! `$god_` lines, which hold path lengths, comments, and what says how hosts look or when they send ([`NO_MOVEMENT`]) are skipped.
//! A moving host that gets a new destination turns at its current place; one with a speed of zero stops there.

use super::{FARTHEST, Flaw, MOST_HOSTS, Waypoint, Word, between, commands};

/// A command to a host.
#[derive(Clone, Copy, Debug)]
enum Command {
    SetX(f64),
    SetY(f64),
    SetDestination { x: f64, y: f64, speed: f64 },
}

/// The commands for one host.
#[derive(Debug, Default)]
struct Orders {
    x: Option<f64>,
    y: Option<f64>,
    /// Commands with their times in nanoseconds.
    timed: Vec<(u64, Command)>,
    /// Where the host is first named, for error messages.
    named: std::ops::Range<usize>,
}

pub(super) fn read(text: &str) -> Result<Vec<Vec<Waypoint>>, Flaw> {
    let mut all: Vec<Orders> = Vec::new();
    for words in commands(text) {
        let mut time_ns = None;
        let mut words = match words.as_slice() {
            [simulator, place, ..] if is_variable(simulator) && place.text == "initial_node_pos" => continue,
            words => words,
        };
        if let [simulator, at, time, rest @ ..] = words
            && is_variable(simulator)
            && at.text == "at"
        {
            if rest.is_empty() {
                return Err(time.refuse("nothing happens at this time", COMMANDS));
            }
            (time_ns, words) = (Some(time.time_ns()?), rest);
        }
        match words {
            [god, ..] if matches!(god.text, "$god_" | "$god") => continue,
            [node, command, ..] if host(node).is_ok() && NO_MOVEMENT.contains(&command.text) => continue,
            _ => {}
        }
        let number = host(&words[0])?;
        let command = command(words, time_ns.is_some())?;
        if all.len() <= number {
            all.resize_with(number + 1, Orders::default);
        }
        let orders = &mut all[number];
        if orders.named.is_empty() {
            orders.named = words[0].at.clone();
        }
        match (time_ns, command) {
            (_, None) => {}
            (Some(time_ns), Some(command)) => orders.timed.push((time_ns, command)),
            (None, Some(Command::SetX(x))) => orders.x = Some(x),
            (None, Some(Command::SetY(y))) => orders.y = Some(y),
            (None, Some(Command::SetDestination { .. })) => {
                unreachable!("`command` refuses a destination without a time")
            }
        }
    }
    let hosts = all.iter().enumerate().map(|(number, orders)| waypoints(number, orders));
    hosts.collect()
}

const COMMANDS: &str =
    "`$node_(N) set X_ V` (or Y_, Z_), `$ns_ at T \"$node_(N) setdest X Y SPEED\"`, `$god_ ...`";

/// Commands to a node by which it does not move: what its colour and label are, when it begins and ends to send.
const NO_MOVEMENT: [&str; 7] = ["start", "stop", "reset", "random-motion", "color", "label", "label-color"];

/// Whether this is a Tcl variable that is no array.
fn is_variable(word: &Word<'_>) -> bool {
    word.text.strip_prefix('$').is_some_and(is_name)
}

/// Whether a Tcl variable can have this name.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The number of the host that a command is for: the index of the array `node_`, which may have another name.
fn host(word: &Word<'_>) -> Result<usize, Flaw> {
    let element = word.text.strip_prefix('$').and_then(|rest| rest.strip_suffix(')')?.split_once('('));
    let Some((_, number)) = element.filter(|(array, _)| is_name(array)) else {
        return Err(word.refuse(format!("`{}` in front", word.text), COMMANDS));
    };
    let known = number.parse::<u32>().ok().filter(|number| *number < MOST_HOSTS);
    let allowed = || format!("a whole number below {MOST_HOSTS}");
    known.map(|number| number as usize).ok_or_else(|| word.refuse(format!("host `{number}`"), allowed()))
}

/// The command in `words`, of which the first is the host; `None` for a height.
fn command(words: &[Word<'_>], timed: bool) -> Result<Option<Command>, Flaw> {
    match words {
        [_, set, axis, value] if set.text == "set" => {
            let value = value.coordinate()?;
            match axis.text {
                "X_" => Ok(Some(Command::SetX(value))),
                "Y_" => Ok(Some(Command::SetY(value))),
                "Z_" => Ok(None),
                other => Err(axis.refuse(format!("`{other}` is set"), "X_, Y_ or Z_")),
            }
        }
        [_, setdest, x, y, speed] if setdest.text == "setdest" => {
            if !timed {
                let problem = "a destination without the time to set out";
                return Err(setdest.refuse(problem, "`$ns_ at T \"$node_(N) setdest X Y SPEED\"`"));
            }
            let speed = speed.number("a speed", 0.0, FARTHEST)?;
            Ok(Some(Command::SetDestination { x: x.coordinate()?, y: y.coordinate()?, speed }))
        }
        [host, ..] => Err(host.refuse("this command is not known", COMMANDS)),
        [] => unreachable!("the caller has read the host from the first word"),
    }
}

/// The waypoints of a host with these commands.
fn waypoints(number: usize, orders: &Orders) -> Result<Vec<Waypoint>, Flaw> {
    let (Some(x), Some(y)) = (orders.x, orders.y) else {
        let problem = format!("host {number} has no place at first");
        let allowed =
            format!("`$node_({number}) set X_ V` and the same for Y_, and host numbers without gaps");
        return Err(Flaw { at: orders.named.clone(), problem, allowed });
    };
    let mut commands = orders.timed.clone();
    commands.sort_by_key(|(time_ns, _)| *time_ns);
    let mut here = Waypoint { at_ns: 0, x, y };
    let mut waypoints = vec![here];
    // The host's destination and when it arrives there.
    let mut target: Option<Waypoint> = None;
    for (now, command) in commands {
        if let Some(there) = target {
            if there.at_ns <= now {
                here = there;
                waypoints.push(here);
                target = None;
            } else {
                let (x, y) = between(here, there, now);
                here = Waypoint { at_ns: now, x, y };
            }
        }
        if here.at_ns < now || target.is_some() {
            here.at_ns = now;
            waypoints.push(here);
        }
        match command {
            // After a jump on the way, the host still reaches its destination at the same time as before.
            Command::SetX(x) => here.x = x,
            Command::SetY(y) => here.y = y,
            Command::SetDestination { x, y, speed } => {
                let length = libm::sqrt((x - here.x) * (x - here.x) + (y - here.y) * (y - here.y));
                let travel_ns = length / speed * 1e9;
                target = (speed > 0.0 && length > 0.0).then(|| Waypoint {
                    at_ns: now.saturating_add(travel_ns as u64).max(now + 1),
                    x,
                    y,
                });
            }
        }
        if waypoints.last() != Some(&here) {
            waypoints.push(here);
        }
    }
    waypoints.extend(target);
    Ok(waypoints)
}
