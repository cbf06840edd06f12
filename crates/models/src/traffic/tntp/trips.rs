//! Reads `*_trips.tntp`: after each `Origin`, pairs of a destination and a number of trips.

use std::iter::Peekable;
use std::ops::Range;

use super::Flaw;
use super::text::{Header, Word, clip, lines, words};
use crate::traffic::demand::Trips;

/// Trips sorted by (origin, destination), and the position of each in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TripTable {
    pub trips: Vec<Trips>,
    pub places: Vec<Range<usize>>,
}

/// Trips and their position in the file.
type Placed = (Trips, Range<usize>);

/// A word, or a separator between words.
#[derive(Clone, Copy, Debug)]
enum Token<'a> {
    Word(Word<'a>),
    Colon(usize),
    Semicolon,
    LineEnd,
}

const GRAMMAR: &str = "\"Origin 1\" and after it pairs such as \"2 : 13.5;\"";

/// Reads the trips between `zones` zones.
pub(crate) fn read_trips(text: &str, zones: u32) -> Result<TripTable, Flaw> {
    let header = Header::read(text)?;
    let total = header.get("TOTAL OD FLOW")?;
    let zones = match header.get("NUMBER OF ZONES")? {
        Some(own) => own.count("<NUMBER OF ZONES>", 1, u32::MAX)?.min(zones),
        None => zones,
    };
    let found = read_pairs(text, header.end(), zones)?;
    if let Some(total) = total {
        check_total(text, total, found.iter().map(|(trips, _)| trips.number).sum())?;
    }
    sorted(found)
}

fn read_pairs(text: &str, from: usize, zones: u32) -> Result<Vec<Placed>, Flaw> {
    let mut tokens = tokens(text, from).into_iter().peekable();
    let mut found = Vec::new();
    let mut origin = None;
    while let Some(token) = tokens.next() {
        match token {
            Token::LineEnd | Token::Semicolon => {}
            Token::Colon(at) => return Err(Flaw::new(at..at + 1, "a `:` without a destination", GRAMMAR)),
            Token::Word(word) if word.text.eq_ignore_ascii_case("origin") => {
                let number = operand(text, &mut tokens, word)?;
                if tokens.peek().is_none() {
                    return Err(cut(text));
                }
                origin = Some(number.count("the origin", 1, zones)? - 1);
            }
            Token::Word(word) => {
                let destination = word.count("the destination", 1, zones)? - 1;
                let Some(origin) = origin else {
                    return Err(Flaw::new(word.span(), "a destination before the first `Origin`", GRAMMAR));
                };
                skip_line_ends(&mut tokens);
                match tokens.next() {
                    Some(Token::Colon(_)) => {}
                    Some(_) => return Err(Flaw::new(word.span(), "a destination without a `:`", GRAMMAR)),
                    None => return Err(cut(text)),
                }
                let value = operand(text, &mut tokens, word)?;
                closed(text, &mut tokens, value)?;
                let number = value.amount("the number of trips")?;
                found.push((Trips { origin, destination, number }, word.start..value.span().end));
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
        Some(_) => Err(Flaw::new(before.span(), format!("nothing follows {:?}", clip(before.text)), GRAMMAR)),
        None => Err(cut(text)),
    }
}

/// A number must be followed by `;` or the end of the line; at the end of the file the number itself may be truncated.
fn closed<'a>(
    text: &str,
    tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>,
    number: Word,
) -> Result<(), Flaw> {
    match tokens.peek() {
        Some(Token::Semicolon | Token::LineEnd) => Ok(()),
        Some(_) => Err(Flaw::new(number.span(), format!("no `;` after {:?}", clip(number.text)), GRAMMAR)),
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

/// Refuses fewer trips than the file's total: its end is missing. The total may be rounded to the digits given. More trips are
/// accepted: some published totals are out of date.
fn check_total(text: &str, total: Word, sum: f64) -> Result<(), Flaw> {
    let stated = total.amount("<TOTAL OD FLOW>")?;
    let slack = last_digit(total.text) / 2.0 + stated * 1e-9;
    if sum >= stated - slack {
        return Ok(());
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

/// Sorts the trips; the same pair twice is a mistake.
fn sorted(mut found: Vec<Placed>) -> Result<TripTable, Flaw> {
    found.sort_by_key(|(trips, place)| (trips.origin, trips.destination, place.start));
    let twice = found
        .windows(2)
        .find(|two| (two[0].0.origin, two[0].0.destination) == (two[1].0.origin, two[1].0.destination));
    if let Some([_, (trips, place)]) = twice {
        let problem = format!("trips from zone {} to zone {} again", trips.origin + 1, trips.destination + 1);
        return Err(Flaw::new(place.clone(), problem, "one number for each origin and destination"));
    }
    let (trips, places) = found.into_iter().unzip();
    Ok(TripTable { trips, places })
}
