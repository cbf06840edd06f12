//! What an error shows of a file of another format: the line that it points into and its neighbours, whatever
//! is in them.
//!
//! Such a file may be one line of megabytes, or hold anything. Invariants: an excerpt has at most three lines
//! that are not empty, each of at most [`SHOWN`] characters, and none that do something to a terminal; line
//! and column are those of the file.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, NamedSource, SourceCode, SourceSpan, SpanContents};

/// Characters of a line that are shown.
const SHOWN: usize = 120;
/// Of these, characters before the place.
const BEFORE: usize = 60;

/// A piece of a file.
#[derive(Debug)]
pub(crate) struct Excerpt {
    /// Empty lines in place of those in front.
    source: NamedSource<String>,
    /// The place as `file:line:column`, both counted from 1.
    place: String,
    /// Characters left out at the start of the line.
    cut: usize,
}

impl Excerpt {
    /// What to show for the bytes `span` of `text`, and where they are in what is shown. A span that goes
    /// over several lines ends with its first one.
    pub fn of(name: &str, text: &str, span: Range<usize>) -> (Self, Range<usize>) {
        let boundary = (0..=span.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let span = boundary..span.end;
        let before = &text.as_bytes()[..span.start];
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let end = |from: usize| text[from..].find('\n').map_or(text.len(), |length| from + length);
        let whole = &text[start..end(start)];
        let column = text[start..span.start].chars().count();
        let mut shown = "\n".repeat(line.saturating_sub(1));
        if line > 0 {
            let above = text[..start - 1].rfind('\n').map_or(0, |newline| newline + 1);
            shown.extend(text[above..start - 1].chars().take(SHOWN).map(harmless));
            shown.push('\n');
        }
        let cut = if whole.chars().count() > SHOWN { column.saturating_sub(BEFORE) } else { 0 };
        let (mut from, mut to) = (None, None);
        for (at, c) in whole.char_indices().skip(cut).take(SHOWN) {
            if start + at >= span.start {
                from.get_or_insert(shown.len());
            }
            if start + at >= span.end {
                to.get_or_insert(shown.len());
            }
            shown.push(harmless(c));
        }
        let from = from.unwrap_or(shown.len());
        let to = to.unwrap_or(shown.len());
        if let Some(below) = text.get(end(start) + 1..).filter(|below| !below.is_empty()) {
            shown.push('\n');
            let line = below.split('\n').next().unwrap_or("");
            shown.extend(line.chars().take(SHOWN).map(harmless));
        }
        let place = format!("{name}:{}:{}", line + 1, column + 1);
        (Self { source: NamedSource::new(name, shown), place, cut }, from..to.max(from))
    }

    pub fn name(&self) -> &str {
        self.source.name()
    }

    pub fn place(&self) -> &str {
        &self.place
    }
}

/// A character that does nothing to a terminal.
fn harmless(c: char) -> char {
    match c {
        '\t' | '\r' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.source.inner().read_span(span, before, after)?;
        // Without lines around it is the column that is asked for.
        let column = found.column() + if before == 0 { self.cut } else { 0 };
        let name = self.name().to_owned();
        let (data, span) = (found.data(), *found.span());
        Ok(Box::new(MietteSpanContents::new_named(
            name,
            data,
            span,
            found.line(),
            column,
            found.line_count(),
        )))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// What is shown, where the place is in it, and the place in the file.
    fn shown(text: &str, span: Range<usize>) -> (String, String, String) {
        let (excerpt, at) = Excerpt::of("f", text, span);
        let shown = excerpt.source.inner().clone();
        (shown.trim_start_matches('\n').to_owned(), shown[at].to_owned(), excerpt.place)
    }

    #[test]
    fn short_lines_are_shown_as_they_are_with_their_neighbours() {
        let text = "one\ntwo\nthree ä four\nfive\nsix\n";
        let at = text.find("four").unwrap();
        let (all, word, place) = shown(text, at..at + 4);
        assert_eq!(
            (all.as_str(), word.as_str(), place.as_str()),
            ("two\nthree ä four\nfive", "four", "f:3:9")
        );
        assert_eq!(shown("one", 0..3).0, "one");
        assert_eq!(shown("one\n", 4..4), ("one\n".into(), String::new(), "f:2:1".into()));
        assert_eq!(shown("", 0..0), (String::new(), String::new(), "f:1:1".into()));
    }

    #[test]
    fn long_lines_are_cut_and_nothing_does_anything_to_a_terminal() {
        let long = format!(
            "{}\n{} here {}\n{}",
            "a".repeat(5000),
            "b".repeat(5000),
            "c".repeat(5000),
            "d".repeat(5000)
        );
        let at = long.find("here").unwrap();
        let (all, word, place) = shown(&long, at..at + 4);
        assert_eq!((word.as_str(), place.as_str()), ("here", "f:2:5002"));
        assert!(all.lines().count() == 3 && all.lines().all(|line| line.chars().count() <= SHOWN), "{all}");
        let (all, word, _) = shown("\u{1b}[31m\u{7}\u{202e}x\ty\u{0}\r\n\u{8}z", 5..6);
        assert_eq!(
            (all.as_str(), word.as_str()),
            ("\u{fffd}[31m\u{fffd}\u{fffd}x y\u{fffd} \n\u{fffd}z", "\u{fffd}")
        );
        // Over several lines: to the end of the first.
        assert_eq!(shown("ab\ncd\n", 1..5).1, "b");
        let (_, word, place) = shown(&"é".repeat(3000), 2000..2002);
        assert_eq!((word.as_str(), place.as_str()), ("é", "f:1:1001"));
    }
}
