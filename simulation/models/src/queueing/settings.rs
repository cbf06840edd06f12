//! Reads a queueing network from a scenario's `[model]`.

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::changes::Changes;
use super::routes::{ROUNDING, Route, Routes};
use super::{Class, Kind, LONGEST, Law, Queueing, Source};

const KINDS_MAX: usize = 1000;
const STATIONS_MAX: u32 = 1 << 20;
const CLASSES_MAX: usize = 100;
const SERVERS_MAX: u32 = 1 << 20;
const POPULATION_MAX: u32 = 10_000_000;

impl Queueing {
    /// Reads the keys `walk` ("1s") and `warm_up` ("0s"), and tables. Of `stations`: `name`, `count` (1),
    /// `servers` (1; 0 for as many as customers), `service`, `law` ("exponential", "constant"). Of `classes`:
    /// `name`, `start`, a station, either `population` or `between_arrivals`, and `priority` (0). Of
    /// `routes`: `from` and `to`, stations, `probability` (1) and `class`, without which the route is one of
    /// all classes. Defaults are in brackets. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let walk = time(section, "walk", Some(Time::secs(1)), Time::ZERO)?;
        let warm_up = section.or("warm_up", Time::ZERO)?;
        let kinds = read_kinds(section)?;
        let classes = read_classes(section, &kinds)?;
        let routes = read_routes(section, &kinds, &classes)?;
        let changes = Changes::new(&kinds, &classes);
        Ok(Self { kinds, classes, routes, walk, warm_up, changes })
    }
}

fn read_kinds(section: &mut Section) -> Result<Vec<Kind>, ScenarioError> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut first = 0;
    for mut table in some_tables(section, "stations", "station", KINDS_MAX)? {
        let name = name(&mut table, kinds.iter().map(|kind| &*kind.name))?;
        let most = STATIONS_MAX - first;
        let count = table.or("count", 1)?;
        if !(1..=most).contains(&count) {
            let allowed = format!("a whole number from 1 to {most}, with {STATIONS_MAX} stations in all");
            return Err(table.refuse("count", format!("`count` is {count}"), allowed));
        }
        let allowed = format!("a whole number from 1 to {SERVERS_MAX}, or 0: nobody waits");
        let servers = table.or_where("servers", 1, |servers| servers <= SERVERS_MAX, allowed)?;
        let service = time(&mut table, "service", None, Time::nanos(1))?;
        let laws = [("exponential", Law::Exponential), ("constant", Law::Constant)];
        let law = table.choice("law", &laws, Some(Law::Exponential))?;
        table.finish()?;
        kinds.push(Kind { name, first, count, servers, service, law });
        first += count;
    }
    Ok(kinds)
}

fn read_classes(section: &mut Section, kinds: &[Kind]) -> Result<Vec<Class>, ScenarioError> {
    let (mut classes, mut priorities): (Vec<Class>, Vec<u32>) = (Vec::new(), Vec::new());
    for mut table in some_tables(section, "classes", "class of customers", CLASSES_MAX)? {
        let name = name(&mut table, classes.iter().map(|class| &*class.name))?;
        let start = station(&mut table, "start", kinds)?;
        let population = table.optional::<u32>("population")?;
        let source = match (population, table.optional::<Time>("between_arrivals")?) {
            (Some(population), None) => Source::Closed { population },
            (None, Some(between_arrivals)) => Source::Open { between_arrivals },
            _ => {
                let problem = format!("class {name:?} needs one of `population` and `between_arrivals`");
                let allowed =
                    "`population` for customers who stay, or `between_arrivals` for such as come and leave";
                return Err(table.refuse("population", problem, allowed));
            }
        };
        match source {
            Source::Closed { population } if !(1..=POPULATION_MAX).contains(&population) => {
                let allowed = format!("a whole number from 1 to {POPULATION_MAX}");
                return Err(table.refuse("population", format!("`population` is {population}"), allowed));
            }
            Source::Open { between_arrivals } if !(Time::nanos(1)..=LONGEST).contains(&between_arrivals) => {
                let problem = format!("`between_arrivals` is {between_arrivals}");
                let allowed = format!("a time from {} to {LONGEST}", Time::nanos(1));
                return Err(table.refuse("between_arrivals", problem, allowed));
            }
            _ => {}
        }
        priorities.push(table.or("priority", 0)?);
        table.finish()?;
        classes.push(Class { name, start, source, level: 0 });
    }
    let mut levels = priorities.clone();
    levels.sort_unstable();
    levels.dedup();
    for (class, priority) in classes.iter_mut().zip(&priorities) {
        class.level = levels.partition_point(|level| level < priority);
    }
    Ok(classes)
}

fn read_routes(section: &mut Section, kinds: &[Kind], classes: &[Class]) -> Result<Routes, ScenarioError> {
    let is_closed: Vec<bool> =
        classes.iter().map(|class| matches!(class.source, Source::Closed { .. })).collect();
    let mut routes = Routes::new(is_closed.clone(), kinds.len());
    for mut table in section.tables("routes")? {
        let (from, to) = (station(&mut table, "from", kinds)?, station(&mut table, "to", kinds)?);
        let is_probability = |value: f64| (0.0..=1.0).contains(&value);
        let probability = table.or_where("probability", 1.0, is_probability, "a number from 0 to 1")?;
        let of = match table.optional::<String>("class")? {
            None => 0..classes.len(),
            Some(name) => {
                let class = classes.iter().position(|class| class.name == name).ok_or_else(|| {
                    let names = classes.iter().map(|class| format!("{:?}", class.name));
                    let allowed = names.collect::<Vec<_>>().join(", ");
                    table.refuse("class", format!("there is no class {name:?}"), allowed)
                })?;
                class..class + 1
            }
        };
        for class in of {
            routes.add(class, from, Route { to, probability });
            let sum = routes.sum(class, from);
            if sum > 1.0 + ROUNDING {
                let (class, from) = (&classes[class].name, &kinds[from].name);
                let problem = format!("probabilities of class {class:?} from {from:?} sum up to {sum}");
                return Err(table.refuse("probability", problem, "at most 1 in all: the rest leaves"));
            }
        }
        table.finish()?;
    }
    for (number, class) in classes.iter().enumerate() {
        check_ways(section, &routes, number, class, kinds)?;
    }
    Ok(routes)
}

/// Customers of a closed class come back to their start for ever, those of an open one leave some day.
fn check_ways(
    section: &Section,
    routes: &Routes,
    number: usize,
    class: &Class,
    kinds: &[Kind],
) -> Result<(), ScenarioError> {
    let (name, start) = (&class.name, &kinds[class.start].name);
    let stays = |from: usize| routes.sum(number, from) >= 1.0 - ROUNDING;
    let is_closed = matches!(class.source, Source::Closed { .. });
    let ends = routes.lead_to(number, |kind| if is_closed { kind == class.start } else { !stays(kind) });
    for from in routes.reached(number, class.start) {
        let place = &kinds[from].name;
        if is_closed && !stays(from) {
            let sum = routes.sum(number, from);
            let problem =
                format!("customers of class {name:?} would leave from {place:?}: its routes sum up to {sum}");
            return Err(section.refuse(
                "routes",
                problem,
                "probabilities of 1 in all, as the class has a population",
            ));
        }
        if !ends[from] {
            let (what, allowed) = if is_closed {
                (format!("come back to {start:?}"), format!("routes that lead back to {start:?}"))
            } else {
                ("leave".to_owned(), "routes that leave a rest to those who leave".to_owned())
            };
            let problem = format!("customers of class {name:?} never {what} from {place:?}");
            return Err(section.refuse("routes", problem, allowed));
        }
    }
    Ok(())
}

/// The tables at `key`, at least one and not too many.
fn some_tables(
    section: &mut Section,
    key: &str,
    what: &str,
    most: usize,
) -> Result<Vec<Section>, ScenarioError> {
    let tables = section.tables(key)?;
    if (1..=most).contains(&tables.len()) {
        return Ok(tables);
    }
    let allowed = format!("from 1 to {most} tables [[model.{key}]]");
    let problem =
        if tables.is_empty() { format!("there is no {what}") } else { format!("{} tables", tables.len()) };
    Err(section.refuse(key, problem, allowed))
}

/// A name of lower-case letters, digits, `-` and `_`, since it becomes part of the names of results.
fn name<'n>(table: &mut Section, mut others: impl Iterator<Item = &'n str>) -> Result<String, ScenarioError> {
    let name = table.required::<String>("name")?;
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if name.is_empty() || !name.chars().all(is_plain) {
        let allowed = "lower-case letters, digits, `-` and `_`";
        return Err(table.refuse("name", format!("the name {name:?}"), allowed));
    }
    if others.any(|other| other == name) {
        return Err(table.refuse("name", format!("{name:?} is there twice"), "another name"));
    }
    Ok(name)
}

/// The kind of station that a key names.
fn station(table: &mut Section, key: &str, kinds: &[Kind]) -> Result<usize, ScenarioError> {
    let name = table.required::<String>(key)?;
    kinds.iter().position(|kind| kind.name == name).ok_or_else(|| {
        let names = kinds.iter().map(|kind| format!("{:?}", kind.name)).collect::<Vec<_>>().join(", ");
        table.refuse(key, format!("there is no station {name:?}"), names)
    })
}

fn time(section: &mut Section, key: &str, default: Option<Time>, least: Time) -> Result<Time, ScenarioError> {
    let value = match default {
        Some(default) => section.or(key, default)?,
        None => section.required(key)?,
    };
    if (least..=LONGEST).contains(&value) {
        return Ok(value);
    }
    Err(section.refuse(key, format!("`{key}` is {value}"), format!("a time from {least} to {LONGEST}")))
}
