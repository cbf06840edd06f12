//! What the readers of both kinds of TNTP file share: metadata in angle brackets, comments, words with their
//! positions.

use std::ops::Range;

use crate::input::Flaw;

/// A piece of the file and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub text: &'a str,
    pub start: usize,
}

impl Word<'_> {
    pub fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// The error that it is not allowed, at its place.
    pub fn refuse(self, problem: impl Into<String>, allowed: impl Into<String>) -> Flaw {
        Flaw::new(self.span(), problem, allowed)
    }

    /// A finite number that is not negative.
    pub fn amount(self, what: &str) -> Result<f64, Flaw> {
        match self.text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => {
                Err(self.refuse(format!("{what} is {:?}", clip(self.text)), "a finite number, zero or above"))
            }
        }
    }

    /// A whole number from `least` to `most`.
    pub fn count(self, what: &str, least: u32, most: u32) -> Result<u32, Flaw> {
        match self.text.parse::<u32>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(self.refuse(
                format!("{what} is {:?}", clip(self.text)),
                format!("a whole number from {least} to {most}"),
            )),
        }
    }
}

/// The beginning of a text, for messages.
pub(crate) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).collect();
    if clipped.len() < text.len() {
        clipped.push_str("...");
    }
    clipped
}

/// The words of a piece of text that starts at byte `start` of the file.
pub(crate) fn words(text: &str, start: usize) -> impl Iterator<Item = Word<'_>> {
    text.split_whitespace().map(move |word| {
        let place = word.as_ptr() as usize - text.as_ptr() as usize;
        Word { text: word, start: start + place }
    })
}

/// A line without its comment, and where it starts. `ended` says whether a line end follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub text: &'a str,
    pub start: usize,
    pub ended: bool,
}

/// The lines of `text` from byte `from` on.
pub(crate) fn lines(text: &str, from: usize) -> impl Iterator<Item = Line<'_>> {
    let mut start = from;
    text[from..].split_inclusive('\n').map(move |whole| {
        let line = Line { text: whole.split('~').next().unwrap_or(""), start, ended: whole.ends_with('\n') };
        start += whole.len();
        line
    })
}

/// The metadata of a file, and where its records start.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    entries: Vec<(String, Word<'a>)>,
    end: usize,
}

impl<'a> Header<'a> {
    /// Reads up to `<END OF METADATA>`. All names that may be given are in `known`.
    pub fn read(text: &'a str, known: &[&str]) -> Result<Self, Flaw> {
        let mut entries = Vec::new();
        for line in lines(text, 0) {
            let Some(open) = line.text.find(|c: char| !c.is_whitespace()) else { continue };
            let start = line.start + open;
            let whole = start..line.start + line.text.trim_end().len();
            let Some((name, value)) =
                line.text[open..].strip_prefix('<').and_then(|rest| rest.split_once('>'))
            else {
                let problem = format!("{:?} before <END OF METADATA>", clip(&text[whole.clone()]));
                return Err(Flaw::new(
                    whole,
                    problem,
                    "lines such as \"<NUMBER OF ZONES> 24\", and comments",
                ));
            };
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
            let behind = start + 1 + (value.as_ptr() as usize - line.text[open + 1..].as_ptr() as usize);
            if name == "END OF METADATA" {
                return Ok(Self { entries, end: behind });
            }
            if !known.contains(&name.as_str()) {
                let problem = format!("<{}> is not known here", clip(&name));
                let allowed =
                    format!("<{}>; a line that only informs can be a comment, after `~`", known.join(">, <"));
                return Err(Flaw::new(whole, problem, allowed));
            }
            let blank = value.len() - value.trim_start().len();
            entries.push((name, Word { text: value.trim(), start: behind + blank }));
        }
        let end = text.trim_end().len();
        Err(Flaw::new(
            end..end,
            "the file ends before <END OF METADATA>",
            "metadata, <END OF METADATA>, and records",
        ))
    }

    /// Where the records start.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The value of `name`, if it is given; giving it twice is a mistake.
    pub fn get(&self, name: &str) -> Result<Option<Word<'a>>, Flaw> {
        let mut found = self.entries.iter().filter(|(key, _)| key == name).map(|(_, value)| *value);
        let first = found.next();
        match found.next() {
            Some(second) => Err(second.refuse(format!("<{name}> is given twice"), "one value")),
            None => Ok(first),
        }
    }

    /// Refuses a factor by which something would count that does not count here.
    pub fn no_factor(&self, name: &str, of: &str) -> Result<(), Flaw> {
        let Some(value) = self.get(name)? else { return Ok(()) };
        if value.amount(&format!("<{name}>"))? == 0.0 {
            return Ok(());
        }
        let problem = format!("<{name}> is {:?}: routes would depend on {of}", clip(value.text));
        Err(value.refuse(problem, "0, or no such line: vehicles take the route of the least time"))
    }

    /// The whole number given for `name`, which is required.
    pub fn count(&self, name: &str, least: u32, most: u32) -> Result<u32, Flaw> {
        if self.get(name)?.is_none() {
            let problem = format!("the metadata does not give <{name}>");
            return Err(Flaw::new(0..self.end, problem, format!("a whole number from {least} to {most}")));
        }
        self.count_or(name, least, least, most)
    }

    /// The whole number given for `name`, or `default`.
    pub fn count_or(&self, name: &str, default: u32, least: u32, most: u32) -> Result<u32, Flaw> {
        match self.get(name)? {
            Some(value) => value.count(&format!("<{name}>"), least, most),
            None => Ok(default),
        }
    }
}
