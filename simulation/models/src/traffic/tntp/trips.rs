//! Reads `*_trips.tntp`: after each `Origin`, pairs of a destination and a number of trips.
//!
//! `<DEMAND MULTIPLIER>` multiplies all numbers, as in the program tap-b, which brought it; `<TOTAL OD FLOW>`
//! is that of the numbers before. A pair of origin and destination that comes again can mean two things: the
//! numbers are to be added, or the last one counts, as in tap-b and the scripts of TransportationNetworks.
//! They are added where the origin comes again, too, and the file's total is that of all numbers; otherwise
//! the file is refused. Twice after one `Origin`, more likely a line is missing.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Range;

use super::text::{Header, Word, clip, lines, words};
use crate::input::Flaw;
use crate::traffic::demand::Trips;
use crate::traffic::network::Numbering;

/// Metadata that trips may have.
const KNOWN: [&str; 7] = [
    "NUMBER OF ZONES",
    "TOTAL OD FLOW",
    "DEMAND MULTIPLIER",
    "DISTANCE FACTOR",
    "TOLL FACTOR",
    "ORIGINAL HEADER",
    "SCENARIO",
];

/// Trips sorted by (origin, destination), and the position of each in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TripTable {
    pub trips: Vec<Trips>,
    pub places: Vec<Range<usize>>,
    /// What all numbers have been multiplied by, if the file says so.
    pub multiplier: Option<f64>,
    /// How many numbers were added to others of the same origin and destination.
    pub repeated: u32,
    /// The sum of all numbers before that.
    pub sum: f64,
    /// What the file says that the sum is, if it is less than the sum.
    pub stated: Option<f64>,
}

/// Trips, their position in the file, and after which `Origin` they come.
type Placed = (Trips, Range<usize>, u32);

/// A word, or a separator between words.
#[derive(Clone, Copy, Debug)]
enum Token<'a> {
    Word(Word<'a>),
    Colon(usize),
    Semicolon,
    LineEnd,
}

const GRAMMAR: &str = "\"Origin 1\" and after it pairs such as \"2 : 13.5;\"";

/// The nodes where trips may start and end.
#[derive(Clone, Copy)]
struct Zones<'n> {
    numbering: &'n Numbering,
    count: u32,
}

impl Zones<'_> {
    /// The node with the number in `word`.
    fn node(self, word: Word<'_>, what: &str) -> Result<u32, Flaw> {
        match self.numbering {
            Numbering::From(first) => Ok(word.count(what, *first, first + self.count - 1)? - first),
            Numbering::Listed(numbers) => {
                let number = word.count(what, 0, u32::MAX)?;
                let node = numbers.binary_search(&number).map(|node| node as u32);
                node.map_err(|_| word.refuse(format!("{what} is {number}"), "a node of the network"))
            }
        }
    }

    /// Refuses more zones than there are, where any node can be one.
    fn check(self, found: &[Placed]) -> Result<(), Flaw> {
        let Numbering::Listed(_) = self.numbering else { return Ok(()) };
        let mut seen = BTreeSet::new();
        for (trips, place, _) in found.iter().filter(|(trips, ..)| trips.number > 0.0) {
            seen.extend([trips.origin, trips.destination]);
            if seen.len() > self.count as usize {
                let problem = format!("more zones than <NUMBER OF ZONES>, which is {}", self.count);
                return Err(Flaw::new(place.clone(), problem, "trips between as many different nodes"));
            }
        }
        Ok(())
    }
}

/// Reads the trips between the `zones` zones of a network whose nodes are numbered so.
pub(crate) fn read_trips(text: &str, zones: u32, numbering: &Numbering) -> Result<TripTable, Flaw> {
    let header = Header::read(text, &KNOWN)?;
    header.no_factor("DISTANCE FACTOR", "lengths")?;
    header.no_factor("TOLL FACTOR", "tolls")?;
    let total = header.get("TOTAL OD FLOW")?;
    let multiplier = header.get("DEMAND MULTIPLIER")?;
    let multiplier = multiplier.map(|word| word.amount("<DEMAND MULTIPLIER>")).transpose()?;
    let count = header.count_or("NUMBER OF ZONES", zones, 1, zones)?;
    let zones = Zones { numbering, count };
    let found = read_pairs(text, header.end(), zones)?;
    zones.check(&found)?;
    let sum = found.iter().map(|(trips, ..)| trips.number).sum();
    let stated = total.map(|total| check_total(text, total, sum)).transpose()?;
    let is_sum = stated == Some(None);
    let mut table = sorted(found, is_sum, numbering)?;
    table.trips.iter_mut().for_each(|trips| trips.number *= multiplier.unwrap_or(1.0));
    Ok(TripTable { multiplier, sum, stated: stated.flatten(), ..table })
}

fn read_pairs(text: &str, from: usize, zones: Zones<'_>) -> Result<Vec<Placed>, Flaw> {
    let mut tokens = tokens(text, from).into_iter().peekable();
    let mut found = Vec::new();
    let (mut origin, mut block) = (None, 0);
    while let Some(token) = tokens.next() {
        match token {
            Token::LineEnd | Token::Semicolon => {}
            Token::Colon(at) => return Err(Flaw::new(at..at + 1, "a `:` without a destination", GRAMMAR)),
            Token::Word(word) if word.text.eq_ignore_ascii_case("origin") => {
                let number = operand(text, &mut tokens, word)?;
                if tokens.peek().is_none() {
                    return Err(cut(text));
                }
                origin = Some(zones.node(number, "the origin")?);
                block += 1;
            }
            Token::Word(word) => {
                let destination = zones.node(word, "the destination")?;
                let Some(origin) = origin else {
                    return Err(word.refuse("a destination before the first `Origin`", GRAMMAR));
                };
                skip_line_ends(&mut tokens);
                match tokens.next() {
                    Some(Token::Colon(_)) => {}
                    Some(_) => return Err(word.refuse("a destination without a `:`", GRAMMAR)),
                    None => return Err(cut(text)),
                }
                let value = operand(text, &mut tokens, word)?;
                closed(text, &mut tokens, value)?;
                let number = value.amount("the number of trips")?;
                found.push((Trips { origin, destination, number }, word.start..value.span().end, block));
            }
        }
    }
    Ok(found)
}

fn cut(text: &str) -> Flaw {
    let end = text.trim_end().len();
    Flaw::new(end..end, "the file ends inside a record", GRAMMAR)
}

fn skip_line_ends<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    while tokens.next_if(|token| matches!(token, Token::LineEnd)).is_some() {}
}

/// The word that must follow `before`.
fn operand<'a>(
    text: &str,
    tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>,
    before: Word,
) -> Result<Word<'a>, Flaw> {
    skip_line_ends(tokens);
    match tokens.next() {
        Some(Token::Word(word)) => Ok(word),
        Some(_) => Err(before.refuse(format!("nothing follows {:?}", clip(before.text)), GRAMMAR)),
        None => Err(cut(text)),
    }
}

/// A number must be followed by `;` or the end of the line; at the end of the file the number itself may be
/// truncated.
fn closed<'a>(
    text: &str,
    tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>,
    number: Word,
) -> Result<(), Flaw> {
    match tokens.peek() {
        Some(Token::Semicolon | Token::LineEnd) => Ok(()),
        Some(_) => Err(number.refuse(format!("no `;` after {:?}", clip(number.text)), GRAMMAR)),
        None => Err(cut(text)),
    }
}

fn tokens(text: &str, from: usize) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for line in lines(text, from) {
        let mut start = line.start;
        for piece in line.text.split_inclusive([':', ';']) {
            let bare = piece.trim_end_matches([':', ';']);
            tokens.extend(words(bare, start).map(Token::Word));
            start += piece.len();
            match &piece[bare.len()..] {
                ":" => tokens.push(Token::Colon(start - 1)),
                ";" => tokens.push(Token::Semicolon),
                _ => {}
            }
        }
        if line.ended {
            tokens.push(Token::LineEnd);
        }
    }
    tokens
}

/// Refuses fewer trips than the file's total: its end is missing. The total may be rounded to the digits
/// given. More trips are accepted, as totals of some files are out of date: then gives the total.
fn check_total(text: &str, total: Word, sum: f64) -> Result<Option<f64>, Flaw> {
    let stated = total.amount("<TOTAL OD FLOW>")?;
    let slack = last_digit(total.text) / 2.0 + stated * 1e-9;
    if sum >= stated - slack {
        return Ok((sum > stated + slack).then_some(stated));
    }
    let end = text.trim_end().len();
    let problem = format!("the file ends after {sum} of {} trips", total.text);
    Err(Flaw::new(end..end, problem, format!("as many trips as <TOTAL OD FLOW> says, {}", total.text)))
}

/// What one unit in the last digit of a decimal number is worth: 0.01 for "3.14", 100 for "3.14e4".
fn last_digit(number: &str) -> f64 {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    10f64.powi(exponent.saturating_sub(places).clamp(-300, 300))
}

/// Sorts the trips. Numbers of the same pair are added if the file's total is that of all numbers (`is_sum`).
fn sorted(mut found: Vec<Placed>, is_sum: bool, numbering: &Numbering) -> Result<TripTable, Flaw> {
    found.sort_by_key(|(trips, place, _)| (trips.origin, trips.destination, place.start));
    let mut table = TripTable {
        trips: Vec::with_capacity(found.len()),
        places: Vec::with_capacity(found.len()),
        multiplier: None,
        repeated: 0,
        sum: 0.0,
        stated: None,
    };
    let mut before = 0;
    for (trips, place, block) in found {
        let pair = |trips: &Trips| (trips.origin, trips.destination);
        match table.trips.last_mut().filter(|last| pair(last) == pair(&trips)) {
            None => {
                table.trips.push(trips);
                table.places.push(place);
            }
            Some(last) if is_sum && block != before => {
                last.number += trips.number;
                table.repeated += 1;
            }
            Some(_) => {
                let (from, to) = (numbering.number(trips.origin), numbering.number(trips.destination));
                let problem = format!("trips from zone {from} to zone {to} again");
                let allowed = "one number for each origin and destination; several, each after an `Origin` of \
                               its own, are added if <TOTAL OD FLOW> is given and is the sum of all";
                return Err(Flaw::new(place, problem, allowed));
            }
        }
        before = block;
    }
    Ok(table)
}
