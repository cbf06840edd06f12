//! BonnMotion's own format (`.movements`): one line per host, with repeated `time x y`. The host is at (x, y)
//! at that time; while it rests, the place is repeated. What follows a `#` is a comment; lines without values
//! are no hosts.
//!
//! A comment line `#3D` before the first host, as BonnMotion writes it, announces `time x y z`; `#2D` says
//! that there are no heights. Files of disaster areas have `time x y status` and say so nowhere. So the times
//! of a host are to increase (the same time again only with the same place), and a file whose numbers make as
//! much sense by fours or fives is refused.

use super::{MOST_HOSTS, Movements, Waypoint, Word, nanoseconds};
use crate::input::Flaw;

/// What values by threes may be mistaken for: how many there are of each waypoint, and what they are.
const OTHERS: [(usize, &str); 2] = [
    (4, "`time x y z`, whose file begins with the line `#3D`, or `time x y status` of a disaster area"),
    (5, "`time x y z status` of a disaster area"),
];
/// What a status can be.
const STATUS: [f64; 3] = [0.0, 1.0, 2.0];

/// How the values of a line are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// By threes, as nothing says otherwise.
    Assumed,
    /// By threes, as the file says.
    Flat,
    /// By fours, as the file says.
    Spatial,
}

impl Width {
    fn values(self) -> usize {
        if self == Self::Spatial { 4 } else { 3 }
    }

    fn shape(self) -> &'static str {
        if self == Self::Spatial { "values by fours, `time x y z`" } else { "values by threes, `time x y`" }
    }
}

struct Reader {
    width: Width,
    hosts: Vec<Vec<Waypoint>>,
    /// The first height, which all others are to equal.
    height: Option<f64>,
    /// Whether all lines so far could have values by as many as in [`OTHERS`], and what is last of each
    /// waypoint then.
    others: [Option<Last>; OTHERS.len()],
}

/// The last value of each waypoint, if values are divided in another way.
#[derive(Clone, Copy, Debug)]
struct Last {
    first: f64,
    is_constant: bool,
    is_status: bool,
}

pub(super) fn read(text: &str) -> Result<Movements, Flaw> {
    let mut reader = Reader { width: Width::Assumed, hosts: Vec::new(), height: None, others: [None; 2] };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        reader.line(line, start)?;
        start += line.len();
    }
    reader.check_width(text)?;
    let numbers = (0..reader.hosts.len() as u32).collect();
    Ok(Movements { numbers, waypoints: reader.hosts, unplaced: 0 })
}

impl Reader {
    /// Reads a line that starts at byte `start` of the file.
    fn line(&mut self, line: &str, start: usize) -> Result<(), Flaw> {
        let (values, comment) = line.split_once('#').unwrap_or((line, ""));
        if values.trim().is_empty() {
            return self.announcement(comment, start..start + line.trim_end().len());
        }
        let words: Vec<Word<'_>> = values
            .split_whitespace()
            .map(|text| {
                let from = start + (text.as_ptr() as usize - line.as_ptr() as usize);
                Word { text, at: from..from + text.len() }
            })
            .collect();
        if self.hosts.len() == MOST_HOSTS as usize {
            return Err(words[0].refuse("too many hosts", format!("at most {MOST_HOSTS} lines")));
        }
        let numbers = words.iter().map(Word::finite).collect::<Result<Vec<f64>, Flaw>>()?;
        let width = self.width.values();
        if !words.len().is_multiple_of(width) {
            let problem = format!("the line has {} values", words.len());
            return Err(words[0].refuse(problem, self.allowed(&numbers)));
        }
        let mut waypoints: Vec<Waypoint> = Vec::with_capacity(words.len() / width);
        let mut before: Option<f64> = None;
        for waypoint in words.chunks_exact(width) {
            let [time, x, y, height @ ..] = waypoint else { unreachable!("there are three or four") };
            let (seconds, x, y) = (time.seconds()?, x.coordinate()?, y.coordinate()?);
            let last = waypoints.last().map(|last| (last.x, last.y));
            if before.is_some_and(|before| before > seconds) {
                let problem = format!("time goes back to {} s", time.shown());
                return Err(time.refuse(problem, self.allowed(&numbers)));
            }
            if before == Some(seconds) && last != Some((x, y)) {
                let problem = format!("two places at {} s", time.shown());
                return Err(time.refuse(problem, self.allowed(&numbers)));
            }
            if let [height] = height {
                self.check_height(height)?;
            }
            before = Some(seconds);
            waypoints.push(Waypoint { at_ns: nanoseconds(seconds), x, y });
        }
        self.look_for_others(&numbers);
        self.hosts.push(waypoints);
        Ok(())
    }

    /// A line without values: it may say how many values each waypoint has.
    fn announcement(&mut self, comment: &str, at: std::ops::Range<usize>) -> Result<(), Flaw> {
        let width = match comment.trim() {
            word if word.eq_ignore_ascii_case("3d") => Width::Spatial,
            word if word.eq_ignore_ascii_case("2d") => Width::Flat,
            _ => return Ok(()),
        };
        if !self.hosts.is_empty() && width.values() != self.width.values() {
            let problem = format!("`#{}` after lines of another kind", comment.trim());
            return Err(Flaw::new(at, problem, "one of `#2D` and `#3D`, as the first line"));
        }
        self.width = width;
        Ok(())
    }

    /// Hosts move on a plane: heights would change distances if they differed.
    fn check_height(&mut self, word: &Word<'_>) -> Result<(), Flaw> {
        let height = word.coordinate()?;
        let first = *self.height.get_or_insert(height);
        if height == first {
            return Ok(());
        }
        let problem =
            format!("a height of {} where there was one of {first}: hosts move on a plane", word.shown());
        Err(word.refuse(problem, "one height for all hosts at all times"))
    }

    /// What is allowed where these numbers do not fit, and what they seem to be.
    fn allowed(&self, numbers: &[f64]) -> String {
        let mut allowed = format!("{}, at times that increase", self.width.shape());
        let other = OTHERS.iter().find(|(width, _)| last_of_each(numbers, *width).is_some());
        if let Some((width, what)) = other.filter(|(width, _)| *width != self.width.values()) {
            allowed.push_str(&format!("; these fit by {width}: {what}, which are not read"));
        }
        allowed
    }

    /// Notes whether these numbers could have come in another way.
    fn look_for_others(&mut self, numbers: &[f64]) {
        for (known, (width, _)) in self.others.iter_mut().zip(OTHERS) {
            let merged = match (last_of_each(numbers, width), &*known) {
                (Some(here), None) if self.hosts.is_empty() => Some(here),
                (Some(here), Some(before)) => Some(Last {
                    first: before.first,
                    is_constant: here.is_constant && before.is_constant && here.first == before.first,
                    is_status: here.is_status && before.is_status,
                }),
                _ => None,
            };
            *known = merged;
        }
    }

    /// Refuses a file that nothing says to have values by threes and that makes sense in another way.
    fn check_width(&self, text: &str) -> Result<(), Flaw> {
        if self.width != Width::Assumed {
            return Ok(());
        }
        let other = self.others.iter().zip(OTHERS).find_map(|(last, other)| {
            last.as_ref().filter(|last| last.is_constant || last.is_status).map(|_| other)
        });
        let Some((width, what)) = other else { return Ok(()) };
        let end = text.lines().next().map_or(0, str::len);
        let problem = format!("the values could come by threes or by {width}: {what}");
        let allowed = "a first line `#2D` if they are `time x y`; `#3D` if they are `time x y z`";
        Err(Flaw::new(0..end, problem, allowed))
    }
}

/// What is last of each waypoint if the numbers come by `width`; `None` if they do not: if they cannot be
/// divided so, or times do not increase, or there is only one.
fn last_of_each(numbers: &[f64], width: usize) -> Option<Last> {
    let whole = numbers.len().is_multiple_of(width) && numbers.len() > width;
    let increase =
        || numbers.chunks(width).zip(numbers[width..].chunks(width)).all(|(one, next)| one[0] < next[0]);
    if !whole || numbers[0] < 0.0 || !increase() {
        return None;
    }
    let mut last = numbers.chunks(width).map(|waypoint| waypoint[width - 1]);
    let first = numbers[width - 1];
    Some(Last {
        first,
        is_constant: last.clone().all(|value| value == first),
        is_status: last.all(|value| STATUS.contains(&value)),
    })
}
