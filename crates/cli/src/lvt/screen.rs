//! A look at a page as a table on a terminal, with a mark for how far each owner is between the last and the first.
//!
//! Invariant: the terminal is given back as it was, also where the program ends by a panic (ratatui restores it).

use std::io;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use ratatui::{DefaultTerminal, Frame};

use super::look::{Look, Row, State};
use crate::text;

/// The widths of the columns; names and marks share what is left.
const COLUMNS: [Constraint; 7] = [
    Constraint::Min(12),
    Constraint::Length(8),
    Constraint::Length(16),
    Constraint::Length(14),
    Constraint::Length(MARKS as u16),
    Constraint::Length(14),
    Constraint::Length(6),
];
/// How many places there are between the last and the first.
const MARKS: usize = 20;
/// Rows that a page key moves.
const PAGE: usize = 10;

/// A terminal that shows looks.
pub struct Screen {
    terminal: DefaultTerminal,
    /// The first row shown.
    top: usize,
    /// How many rows there are.
    rows: usize,
}

impl Screen {
    /// Takes the terminal.
    pub fn open() -> Self {
        Self { terminal: ratatui::init(), top: 0, rows: 0 }
    }

    /// Gives the terminal back.
    pub fn close(self) {
        ratatui::restore();
    }

    /// Shows a look.
    pub fn draw(&mut self, look: &Look) -> io::Result<()> {
        self.rows = look.owners.len();
        self.top = self.top.min(self.rows.saturating_sub(1));
        let top = self.top;
        self.terminal.draw(|frame| draw(frame, look, top)).map(drop)
    }

    /// Waits for a key, but not longer than `most`. Says whether it is to end.
    pub fn wait_for_key(&mut self, most: Duration) -> io::Result<bool> {
        match event::poll(most) {
            Ok(false) => return Ok(false),
            // A signal has come.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            other => other?,
        };
        let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event::read()? else {
            return Ok(false);
        };
        let last = self.rows.saturating_sub(1);
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Ok(true),
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Ok(true),
            KeyCode::Down | KeyCode::Char('j') => self.top = (self.top + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown => self.top = (self.top + PAGE).min(last),
            KeyCode::PageUp => self.top = self.top.saturating_sub(PAGE),
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = last,
            _ => {}
        }
        Ok(false)
    }
}

fn draw(frame: &mut Frame<'_>, look: &Look, top: usize) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(3), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(title(look)), head);
    frame.render_widget(table(look, top), body);
    frame.render_widget(footer(look, top, body), foot);
}

/// Page, owners, and how far the simulation is.
fn title(look: &Look) -> Vec<Line<'static>> {
    let count = |state| look.owners.iter().filter(|row| row.state == state).count();
    let counts = [State::Runs, State::Waits, State::Done, State::Otherwise, State::Gone]
        .into_iter()
        .map(|state| (state.name(), count(state)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!(", {count} {name}"))
        .collect::<String>();
    let owners = format!("{} of {} slots{counts}", look.owners.len(), look.slots);
    let reach = match (look.least_ns, look.greatest_ns) {
        (Some(least), Some(greatest)) => {
            format!("LVT {} to {}, {} apart", seconds(least), seconds(greatest), span(greatest - least))
        }
        _ => "nobody simulates".to_owned(),
    };
    vec![Line::from(vec!["LVT page ".bold(), Span::raw(look.page.clone())]), owners.into(), reach.into()]
}

fn table(look: &Look, top: usize) -> Table<'static> {
    let right = |text: &'static str| Text::from(text).alignment(Alignment::Right);
    let header = Cells::new([
        Text::from("name"),
        right("thread"),
        right("LVT"),
        right("ahead by"),
        Text::from("last          first"),
        Text::from("state"),
        right("core"),
    ])
    .style(Style::new().bold().underlined());
    let spread_ns = look.greatest_ns.unwrap_or(0) - look.least_ns.unwrap_or(0);
    let rows = look.owners.iter().skip(top).map(|row| cells(row, spread_ns));
    Table::new(rows, COLUMNS).header(header).column_spacing(2)
}

fn cells(row: &Row, spread_ns: u64) -> Cells<'static> {
    let right = |text: String| Cell::new(Text::from(text).alignment(Alignment::Right));
    let style = match row.state {
        State::Runs if row.ahead_ns == Some(0) => Style::new().fg(Color::Yellow).bold(),
        State::Runs => Style::new(),
        State::Waits => Style::new().fg(Color::Cyan),
        State::Done | State::Otherwise => Style::new().fg(Color::DarkGray),
        State::Gone => Style::new().fg(Color::Red),
    };
    Cells::new([
        Cell::new(row.name.clone()),
        right(row.tid.to_string()),
        right(row.lvt_ns.map_or_else(|| "-".to_owned(), seconds)),
        right(row.ahead_ns.map_or_else(|| "-".to_owned(), span)),
        Cell::new(row.ahead_ns.map_or_else(String::new, |ahead_ns| mark(ahead_ns, spread_ns))),
        Cell::new(row.state.name()),
        right(row.core_share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))),
    ])
    .style(style)
}

/// The position of an owner between the last and the first.
fn mark(ahead_ns: u64, spread_ns: u64) -> String {
    let place = u128::from(ahead_ns) * (MARKS as u128 - 1) / u128::from(spread_ns.max(1));
    format!("{}●", "·".repeat(place as usize))
}

/// Keys, and how many rows are out of sight.
fn footer(look: &Look, top: usize, body: Rect) -> Line<'static> {
    // One line is the header's.
    let shown =
        usize::from(body.height.saturating_sub(1)).min(look.owners.len() - top.min(look.owners.len()));
    let hidden = look.owners.len() - shown;
    let more = if hidden > 0 { format!("   {hidden} more: arrows, page keys") } else { String::new() };
    Line::from(format!("q ends{more}")).fg(Color::DarkGray)
}

/// Simulated time in seconds, to the microsecond.
fn seconds(time_ns: u64) -> String {
    format!("{}.{:06} s", text::count(time_ns / 1_000_000_000), time_ns % 1_000_000_000 / 1_000)
}

/// A span of simulated time, in the unit that suits it.
fn span(span_ns: u64) -> String {
    let (unit, one_ns) = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)]
        .into_iter()
        .find(|(_, one_ns)| span_ns >= *one_ns)
        .unwrap_or(("ns", 1));
    let (whole, rest) = (span_ns / one_ns, span_ns % one_ns);
    if one_ns == 1 {
        format!("{whole} {unit}")
    } else {
        format!("{}.{:03} {unit}", text::count(whole), rest * 1_000 / one_ns)
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::look::tests::five;
    use super::*;

    fn shown(width: u16, height: u16, top: usize) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is in memory");
        let frame = terminal.draw(|frame| draw(frame, &five(), top)).expect("it is in memory");
        let line = |y| (0..width).map(|x| frame.buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn the_last_and_the_first_are_told_with_what_is_between_them() {
        let lines = shown(110, 10, 0);
        assert_eq!(lines[1], "5 of 1024 slots, 1 runs, 1 waits, 1 done, 1 not simulating, 1 gone");
        assert_eq!(lines[2], "LVT 2.000000 s to 2.500000 s, 500.000 ms apart");
        assert!(lines[4].starts_with("behind") && lines[4].contains("0 ns  ● "), "{}", lines[4]);
        assert!(lines[4].ends_with("runs              99 %"), "{}", lines[4]);
        assert!(lines[5].starts_with("ahead") && lines[5].contains("500.000 ms  ·"), "{}", lines[5]);
        assert_eq!(
            lines[5].find('●').map(|at| lines[5][..at].chars().filter(|c| *c == '·').count()),
            Some(19)
        );
        assert_eq!(lines[9], "q ends");
    }

    #[test]
    fn any_size_of_terminal_will_do_and_rows_out_of_sight_are_counted() {
        for (width, height) in [(1, 1), (20, 3), (500, 4), (80, 200)] {
            shown(width, height, 4);
        }
        assert_eq!(shown(110, 7, 0)[6], "q ends   3 more: arrows, page keys");
        assert!(shown(110, 7, 4)[4].starts_with("killed"));
    }

    #[test]
    fn spans_are_told_in_the_unit_that_suits_them() {
        let told = [0, 999, 1_000, 1_234_567, u64::MAX].map(span);
        assert_eq!(told, ["0 ns", "999 ns", "1.000 us", "1.234 ms", "18,446,744,073.709 s"]);
    }
}
