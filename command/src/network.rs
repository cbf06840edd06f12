//! `paceline network`: looks at a platform file. Prints a summary of it, the links of its routes, or how long
//! transfers take on it.
//!
//! A mistake in a file is reported in one message with file and line (exit status 2).

pub mod arguments;
mod transfers;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use paceline_app::failure::CommandError;
use paceline_app::process_model::network::read_platform;
use paceline_app::stdout;
use paceline_app::text;
use paceline_network::{Constant, FlowModel, Flows, HostId, Network, Platform, Route, RouteError, Sharing};

use clap::ValueEnum;

use arguments::{Mode, Model, NetworkArguments};
use transfers::{Transfer, field};

/// The most hosts of a platform whose routes are shown without being named.
const MOST_HOSTS: usize = 100;
/// How long a transfer takes in the constant model: as SimGrid documents its own. What SimGrid 3.32 computes
/// is its latency factor, 13.01 s by default, since no default of that model replaces the one of LV08.
const CONSTANT_SECONDS: f64 = 1.0;
/// The most hosts that a note names.
const SHOWN: usize = 5;
/// The digits of times.
const DIGITS: usize = 9;

/// Reads the platform, and prints what is asked for.
pub fn network(arguments: &NetworkArguments) -> Result<(), CommandError> {
    let path = &arguments.platform;
    let platform = read_platform(path).map_err(CommandError::Input)?;
    platform.notices().iter().for_each(|notice| eprintln!("note: {notice}"));
    let Some(file) = &arguments.transfers else {
        return if arguments.routes { all_routes(&platform) } else { summary(path, &platform) };
    };
    let transfers = transfers::read(file, &platform)?;
    // A transfer without a route is a mistake in the file of transfers.
    let refuse = |transfer: &Transfer, error: RouteError| {
        let (file, line) = (file.display(), transfer.line);
        CommandError::Input(format!("{file}:{line}: {error}; allowed: hosts with a route between them"))
    };
    if arguments.routes {
        return routes_of(&platform, &transfers, refuse);
    }
    let model = choose(arguments.model, &platform)?;
    note_failing_hosts(&platform, &transfers);
    let groups: Vec<&[Transfer]> = match arguments.mode.unwrap_or_default() {
        Mode::All => vec![&transfers[..]],
        Mode::Single => transfers.chunks(1).collect(),
    };
    let mut ends = Vec::new();
    for group in groups {
        ends.extend(ends_of(&platform, model, group, refuse)?);
    }
    let mut out = "source,destination,bytes,seconds\n".to_owned();
    for (Transfer { from, to, bytes, .. }, end) in transfers.iter().zip(&ends) {
        let seconds = end.map_or(String::new(), rounded);
        out += &format!("{},{bytes},{seconds}\n", pair(&platform, *from, *to));
    }
    stdout::print(&out)?;
    let lost = ends.iter().filter(|end| end.is_none()).count();
    if lost > 0 {
        eprintln!("{lost} of {} transfers did not arrive: a link on their way was off", ends.len());
    }
    Ok(())
}

/// Says so where hosts of transfers may be off: only links end transfers here.
fn note_failing_hosts(platform: &Platform, transfers: &[Transfer]) {
    let ends: BTreeSet<HostId> = transfers.iter().flat_map(|transfer| [transfer.from, transfer.to]).collect();
    let hosts = ends.into_iter().map(|host| &platform.hosts()[host.0 as usize]);
    let failing: Vec<&str> =
        hosts.filter(|host| host.state_profile.is_some()).map(|host| host.name.as_str()).collect();
    if !failing.is_empty() {
        let names = failing[..failing.len().min(SHOWN)].join(", ");
        eprintln!("note: hosts count as on all the time, also those with a profile of their state: {names}");
    }
}

/// The model to compute with: of the option, else of the platform's `<config>`, else the default.
fn choose(option: Option<Model>, platform: &Platform) -> Result<Model, CommandError> {
    let Some((name, place)) = &platform.settings().model else { return Ok(option.unwrap_or_default()) };
    let of_file = Model::from_str(name, true).ok();
    match (option, of_file) {
        (Some(option), of_file) => {
            if of_file != Some(option) {
                eprintln!("note: {place}: the file's network/model is `{name}`; --model replaces it");
            }
            Ok(option)
        }
        (None, Some(model)) => Ok(model),
        (None, None) => Err(CommandError::Input(format!(
            "{place}: the network model `{name}` is not supported; allowed: LV08, CM02 or Constant there, or one of these \
             with --model instead"
        ))),
    }
}

/// The text of a file that an argument names.
fn read_text(path: &Path, allowed: &str) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|reason| {
        CommandError::Input(format!("{}: cannot be read: {reason}; allowed: {allowed}", path.display()))
    })
}

/// When each of some transfers ends that start together; `None` where a link that was off has ended it.
fn ends_of(
    platform: &Platform,
    model: Model,
    transfers: &[Transfer],
    refuse: impl Fn(&Transfer, RouteError) -> CommandError,
) -> Result<Vec<Option<f64>>, CommandError> {
    let mut network: Box<dyn Network + '_> = match model {
        Model::Cm02 => Box::new(Flows::new(platform, FlowModel::CM02)),
        Model::Lv08 => Box::new(Flows::new(platform, FlowModel::LV08)),
        Model::Constant => {
            Box::new(Constant::new(platform.settings().latency_factor.unwrap_or(CONSTANT_SECONDS)))
        }
    };
    for transfer in transfers {
        let started = network.start(transfer.from, transfer.to, transfer.bytes);
        started.map_err(|error| refuse(transfer, error))?;
    }
    let (mut ends, mut open) = (vec![None; transfers.len()], transfers.len());
    // Not until nothing happens any more: a profile that starts again has no end.
    while open > 0
        && let Some(at) = network.next()
    {
        for end in network.advance(at) {
            open -= 1;
            ends[end.transfer.0 as usize] = end.arrived.then_some(end.at);
        }
    }
    Ok(ends)
}

/// Prints the routes of transfers, each pair of hosts once.
fn routes_of(
    platform: &Platform,
    transfers: &[Transfer],
    refuse: impl Fn(&Transfer, RouteError) -> CommandError,
) -> Result<(), CommandError> {
    let (mut out, mut seen) = (ROUTE_COLUMNS.to_owned(), BTreeSet::new());
    for transfer in transfers.iter().filter(|transfer| seen.insert((transfer.from, transfer.to))) {
        let route = platform.route(transfer.from, transfer.to).map_err(|error| refuse(transfer, error))?;
        out += &line(platform, transfer.from, transfer.to, Some(&route));
    }
    stdout::print(&out)
}

/// Prints the routes of every host to every other.
fn all_routes(platform: &Platform) -> Result<(), CommandError> {
    let hosts = platform.hosts().len();
    if hosts > MOST_HOSTS {
        return Err(CommandError::Option(format!(
            "--routes on a platform of {hosts} hosts; allowed: at most {MOST_HOSTS} hosts, or the pairs of a file \
             with --transfers"
        )));
    }
    let (mut out, mut missing) = (ROUTE_COLUMNS.to_owned(), 0);
    let ids = || (0..hosts as u32).map(HostId);
    for (from, to) in ids().flat_map(|from| ids().map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let route = platform.route(from, to).ok();
        missing += u32::from(route.is_none());
        out += &line(platform, from, to, route.as_ref());
    }
    stdout::print(&out)?;
    if missing > 0 {
        eprintln!("{missing} of {} pairs of hosts have no route", hosts * (hosts - 1));
    }
    Ok(())
}

const ROUTE_COLUMNS: &str = "source,destination,latency_seconds,links\n";

/// A route as a line of CSV, its links with blanks between them.
fn line(platform: &Platform, from: HostId, to: HostId, route: Option<&Route>) -> String {
    let ends = pair(platform, from, to);
    let Some(Route { links, latency }) = route else { return format!("{ends},,\n") };
    let names: Vec<&str> = links.iter().map(|link| platform.links()[link.0 as usize].name.as_str()).collect();
    format!("{ends},{},{}\n", rounded(*latency), field(&names.join(" ")))
}

/// The names of two hosts as fields of CSV.
fn pair(platform: &Platform, from: HostId, to: HostId) -> String {
    let name = |host: HostId| field(&platform.hosts()[host.0 as usize].name);
    format!("{},{}", name(from), name(to))
}

/// A number with so many digits that count.
fn rounded(number: f64) -> String {
    let digits = format!("{number:.*e}", DIGITS - 1);
    digits.parse::<f64>().map_or(digits, |number| number.to_string())
}

/// Prints how many there are of what.
fn summary(path: &Path, platform: &Platform) -> Result<(), CommandError> {
    // The first link is the loopback, which stands in no file.
    let links = &platform.links()[1..];
    let sharing = |sharing: Sharing| links.iter().filter(|link| link.sharing == sharing).count();
    let of_links = links.iter().map(|link| {
        [&link.bandwidth_profile, &link.latency_profile, &link.state_profile].into_iter().flatten().count()
    });
    let of_hosts = platform
        .hosts()
        .iter()
        .map(|host| [&host.speed_profile, &host.state_profile].into_iter().flatten().count());
    let facts = [
        ("zones", platform.zones().count()),
        ("hosts", platform.hosts().len()),
        ("routers", platform.routers().count()),
        ("shared links", sharing(Sharing::Shared)),
        ("fat pipes", sharing(Sharing::FatPipe)),
        ("profiles", of_links.chain(of_hosts).sum()),
    ];
    // Few platforms have them, and no model uses them.
    let kept = [
        ("disks", platform.hosts().iter().map(|host| host.disks.len()).sum()),
        ("storages", platform.storages().len()),
    ];
    let facts = facts.into_iter().chain(kept.into_iter().filter(|(_, number)| *number > 0));
    let rows = facts.map(|(name, number)| (name.to_owned(), text::count(number as u64)));
    stdout::print(&text::groups(&[(&path.display().to_string(), rows.collect())]))
}
