//! Movement commands of ns-2: the initial places of hosts, and when each host starts to move where and how
//! fast.
//!
//! Known commands: `$node_(N) set X_ V` (also Y_ and Z_), `$ns_ at T "$node_(N) setdest X Y SPEED"`, and
//! `$ns_ at T "$node_(N) set X_ V"`, which is a jump. The variables may have other names: scripts say `$ns`,
//! `$n(N)`, `$node(N)` too. What stands in quotes or braces may be several commands with `;` between them.
//! Lines may be in any order; commands of one host at one time are obeyed in the order of lines. `$god_`
//! lines, which hold path lengths, comments, and what says how hosts look or when they send ([`NO_MOVEMENT`])
//! are skipped.
//!
//! As in ns-2 and ns-3, a coordinate without an initial value is 0. Heights (Z_) would change distances: all
//! hosts must have the same at all times, and one without a Z_ is at 0.

use std::collections::BTreeMap;
use std::ops::Range;

use super::path::Walk;
use super::{FARTHEST, MOST_HOSTS, Movements, Waypoint, Word, nanoseconds};
use crate::input::Flaw;

/// A command to a host.
#[derive(Clone, Copy, Debug)]
enum Command {
    SetX(f64),
    SetY(f64),
    SetZ(f64),
    SetDestination { x: f64, y: f64, speed: f64 },
}

/// The commands for one host.
#[derive(Debug, Default)]
struct Orders {
    x: Option<f64>,
    y: Option<f64>,
    z: Option<f64>,
    /// Commands with their times in nanoseconds.
    timed: Vec<(u64, Command)>,
    /// Where the host is first named, for error messages.
    named: Range<usize>,
    /// Heights set later, and where.
    heights: Vec<(f64, Range<usize>)>,
}

impl Orders {
    /// Whether they say where the host is at first.
    fn are_placed(&self) -> bool {
        let at_once =
            |is: fn(&Command) -> bool| self.timed.iter().any(|(at_ns, command)| *at_ns == 0 && is(command));
        let x = self.x.is_some() || at_once(|command| matches!(command, Command::SetX(_)));
        x && (self.y.is_some() || at_once(|command| matches!(command, Command::SetY(_))))
    }
}

pub(super) fn read(text: &str) -> Result<Movements, Flaw> {
    let mut all = BTreeMap::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for command in commands(line, start)? {
            obey(command, &mut all)?;
        }
        start += line.len();
    }
    check_heights(&all)?;
    Ok(Movements {
        unplaced: all.values().filter(|orders| !orders.are_placed()).count() as u32,
        waypoints: all.values().map(waypoints).collect(),
        numbers: all.into_keys().collect(),
    })
}

const COMMANDS: &str =
    "`$node_(N) set X_ V` (or Y_, Z_), `$ns_ at T \"$node_(N) setdest X Y SPEED\"`, `$god_ ...`";

/// Commands to a node by which it does not move: what its colour and label are, when it begins and ends to
/// send.
const NO_MOVEMENT: [&str; 7] = ["start", "stop", "reset", "random-motion", "color", "label", "label-color"];

/// A command of a script: its words, and the commands in quotes or braces that end it.
#[derive(Debug, Default)]
struct Line<'t> {
    words: Vec<Word<'t>>,
    quoted: Option<Vec<Vec<Word<'t>>>>,
}

/// The commands of a line, which starts at byte `start` of the text. They are separated by `;`; what follows
/// a `#` outside of quotes is a comment.
fn commands(line: &str, start: usize) -> Result<Vec<Line<'_>>, Flaw> {
    let mut all = vec![Line::default()];
    let mut place = 0;
    while let Some(c) = line[place..].chars().next() {
        let rest = &line[place..];
        match c {
            '#' => break,
            ';' => all.push(Line::default()),
            '"' | '{' => {
                let close = if c == '"' { '"' } else { '}' };
                let at = start + place..start + place + 1;
                let Some(length) = rest[1..].find(close) else {
                    let problem = format!("a `{c}` without a `{close}` on its line");
                    return Err(Flaw::new(at, problem, COMMANDS));
                };
                let command = all.last_mut().expect("there is one");
                if command.quoted.is_some() {
                    let allowed = "what is to happen at a time, all in one pair of quotes";
                    return Err(Flaw::new(at, "quotes after quotes", allowed));
                }
                let within = &rest[1..=length];
                command.quoted = Some(scripts(within, start + place + 1));
                place += length + 2;
                continue;
            }
            c if c.is_whitespace() => {}
            _ => {
                let length =
                    rest.find(|c: char| c.is_whitespace() || ";\"#".contains(c)).unwrap_or(rest.len());
                let word = Word { text: &rest[..length], at: start + place..start + place + length };
                let command = all.last_mut().expect("there is one");
                if command.quoted.is_some() {
                    return Err(word.refuse(format!("`{}` after the quotes", word.shown()), COMMANDS));
                }
                command.words.push(word);
                place += length;
                continue;
            }
        }
        place += c.len_utf8();
    }
    all.retain(|command| !command.words.is_empty() || command.quoted.is_some());
    Ok(all)
}

/// The commands in a quoted text, which starts at byte `start`.
fn scripts(text: &str, start: usize) -> Vec<Vec<Word<'_>>> {
    let words = |command: &'_ str| -> Vec<Range<usize>> {
        let from = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        command.split_whitespace().map(|word| from(word)..from(word) + word.len()).collect()
    };
    let word = |at: Range<usize>| Word { text: &text[at.clone()], at: start + at.start..start + at.end };
    let all = text.split(';').map(|command| words(command).into_iter().map(word).collect::<Vec<_>>());
    all.filter(|words| !words.is_empty()).collect()
}

/// Takes in a command, whatever it is.
fn obey(command: Line<'_>, all: &mut BTreeMap<u32, Orders>) -> Result<(), Flaw> {
    let Line { words, quoted } = command;
    match words.as_slice() {
        [simulator, place, ..] if is_variable(simulator) && place.text == "initial_node_pos" => Ok(()),
        [simulator, at, time, rest @ ..] if is_variable(simulator) && at.text == "at" => {
            let time_ns = Some(nanoseconds(time.seconds()?));
            match (rest, quoted) {
                ([], Some(scripts)) if !scripts.is_empty() => {
                    scripts.iter().try_for_each(|words| take(words, time_ns, all))
                }
                ([_, ..], None) => take(rest, time_ns, all),
                ([], _) => Err(time.refuse("nothing happens at this time", COMMANDS)),
                ([first, ..], Some(_)) => {
                    Err(first.refuse(format!("`{}` before the quotes", first.shown()), COMMANDS))
                }
            }
        }
        [] => {
            let first = quoted.iter().flatten().flatten().next();
            let at = first.map_or(0..0, |word| word.at.clone());
            Err(Flaw::new(at, "quotes without a time", COMMANDS))
        }
        words => take(words, None, all),
    }
}

/// Takes in a command to a host, at a time or from the start.
fn take(words: &[Word<'_>], time_ns: Option<u64>, all: &mut BTreeMap<u32, Orders>) -> Result<(), Flaw> {
    match words {
        [god, ..] if matches!(god.text, "$god_" | "$god") => return Ok(()),
        [node, command, ..] if host(node).is_ok() && NO_MOVEMENT.contains(&command.text) => return Ok(()),
        _ => {}
    }
    let number = host(&words[0])?;
    let command = command(words, time_ns.is_some())?;
    if all.len() == MOST_HOSTS as usize && !all.contains_key(&number) {
        return Err(words[0].refuse("too many hosts", format!("at most {MOST_HOSTS}")));
    }
    let orders = all.entry(number).or_default();
    if orders.named.is_empty() {
        orders.named = words[0].at.clone();
    }
    let value = words.last().expect("a command has words");
    let Some(time_ns) = time_ns else {
        let (place, new) = match command {
            Command::SetX(x) => (&mut orders.x, x),
            Command::SetY(y) => (&mut orders.y, y),
            Command::SetZ(z) => (&mut orders.z, z),
            Command::SetDestination { .. } => {
                unreachable!("`command` refuses a destination without a time")
            }
        };
        if let Some(old) = place.replace(new).filter(|old| *old != new) {
            let problem = format!("host {number} has another initial {}, {old}", words[2].shown());
            return Err(value.refuse(problem, "one initial place for each host"));
        }
        return Ok(());
    };
    if let Command::SetZ(z) = command {
        orders.heights.push((z, value.at.clone()));
    } else {
        orders.timed.push((time_ns, command));
    }
    Ok(())
}

/// Whether this is a Tcl variable that is no array.
fn is_variable(word: &Word<'_>) -> bool {
    word.text.strip_prefix('$').is_some_and(is_name)
}

/// Whether a Tcl variable can have this name.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The number of the host that a command is for: the index of the array `node_`, which may have another name.
fn host(word: &Word<'_>) -> Result<u32, Flaw> {
    let element = word.text.strip_prefix('$').and_then(|rest| rest.strip_suffix(')')?.split_once('('));
    let Some((_, number)) = element.filter(|(array, _)| is_name(array)) else {
        return Err(word.refuse(format!("`{}` in front", word.shown()), COMMANDS));
    };
    // No sign: `+3` is another element of the array than `3`.
    let known = number.parse::<u32>().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()));
    let problem = || format!("host `{}`", crate::input::shown(number));
    known.ok_or_else(|| word.refuse(problem(), format!("a whole number up to {}", u32::MAX)))
}

/// The command in `words`, of which the first is the host.
fn command(words: &[Word<'_>], timed: bool) -> Result<Command, Flaw> {
    match words {
        [_, set, axis, value] if set.text == "set" => {
            let value = value.coordinate()?;
            match axis.text {
                "X_" => Ok(Command::SetX(value)),
                "Y_" => Ok(Command::SetY(value)),
                "Z_" => Ok(Command::SetZ(value)),
                _ => Err(axis.refuse(format!("`{}` is set", axis.shown()), "X_, Y_ or Z_")),
            }
        }
        [_, setdest, x, y, speed] if setdest.text == "setdest" => {
            if !timed {
                let problem = "a destination without the time to set out";
                return Err(setdest.refuse(problem, "`$ns_ at T \"$node_(N) setdest X Y SPEED\"`"));
            }
            let speed = speed.number("a speed", 0.0, FARTHEST)?;
            Ok(Command::SetDestination { x: x.coordinate()?, y: y.coordinate()?, speed })
        }
        [_, setdest, _, _, _, fourth] if setdest.text == "setdest" => {
            let problem = "`setdest` with four numbers: BonnMotion writes `X Y Z SPEED` for three dimensions, and `X Y SPEED \
                           STATUS` for disaster areas";
            Err(fourth.refuse(problem, "`setdest X Y SPEED`: hosts move on a plane, and are always on"))
        }
        [host, ..] => Err(host.refuse("this command is not known", COMMANDS)),
        [] => unreachable!("the caller has read the host from the first word"),
    }
}

/// Refuses heights that differ: hosts move on a plane.
fn check_heights(all: &BTreeMap<u32, Orders>) -> Result<(), Flaw> {
    let Some((first, orders)) = all.first_key_value() else { return Ok(()) };
    let height = orders.z.unwrap_or(0.0);
    for (number, orders) in all {
        let initial = (orders.z.unwrap_or(0.0), orders.named.clone());
        let other = std::iter::once(&initial).chain(&orders.heights).find(|(z, _)| *z != height);
        if let Some((z, at)) = other {
            let problem =
                format!("host {number} at a height of {z}, host {first} at {height}: hosts move on a plane");
            let allowed = "the same Z_ for all hosts at all times; 0 where there is none";
            return Err(Flaw::new(at.clone(), problem, allowed));
        }
    }
    Ok(())
}

fn waypoints(orders: &Orders) -> Vec<Waypoint> {
    let mut commands = orders.timed.clone();
    commands.sort_by_key(|(time_ns, _)| *time_ns); // stable: at one time in the order of lines
    let mut walk = Walk::begin(orders.x.unwrap_or(0.0), orders.y.unwrap_or(0.0));
    for (now, command) in commands {
        walk.advance(now);
        match command {
            Command::SetX(x) => walk.put(Some(x), None),
            Command::SetY(y) => walk.put(None, Some(y)),
            Command::SetDestination { x, y, speed } => walk.set_out(x, y, speed),
            Command::SetZ(_) => unreachable!("heights are kept apart"),
        }
    }
    walk.finish()
}
