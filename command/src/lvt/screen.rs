//! A look at a page as a table on a terminal, with a mark for how far each owner is between the last and the
//! first.
//!
//! Invariant: the terminal is given back as it was, also where the program ends by a panic (ratatui restores
//! it).

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use paceline_app::terminal::wrapped;
use paceline_app::text;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::look::{Look, Row, State};

struct Column {
    title: &'static str,
    alignment: Alignment,
    /// The least width; it is wider where a number needs more.
    width: usize,
    /// On a narrow terminal the columns of low rank have room, and the others are left out.
    rank: u8,
    /// Whether a text that is wider than the column loses its end. A number never does: a part of it reads
    /// like another number.
    may_be_cut: bool,
    cell: fn(&Row, u64) -> String,
}

const COLUMNS: [Column; 7] = [
    Column {
        title: "name",
        alignment: Alignment::Left,
        width: 12,
        rank: 1,
        may_be_cut: true,
        cell: |row, _| row.name.clone(),
    },
    Column {
        title: "thread",
        alignment: Alignment::Right,
        width: 8,
        rank: 5,
        may_be_cut: false,
        cell: |row, _| row.tid.to_string(),
    },
    Column {
        title: "LVT",
        alignment: Alignment::Right,
        width: 16,
        rank: 0,
        may_be_cut: false,
        cell: |row, _| row.lvt_ns.map_or_else(dash, seconds),
    },
    Column {
        title: "ahead by",
        alignment: Alignment::Right,
        width: 14,
        rank: 2,
        may_be_cut: false,
        cell: |row, _| row.ahead_ns.map_or_else(dash, span),
    },
    Column {
        title: "last          first",
        alignment: Alignment::Left,
        width: MARKS,
        rank: 6,
        may_be_cut: false,
        cell: |row, spread_ns| row.ahead_ns.map_or_else(String::new, |ahead_ns| mark(ahead_ns, spread_ns)),
    },
    Column {
        title: "state",
        alignment: Alignment::Left,
        width: 14,
        rank: 3,
        may_be_cut: false,
        cell: |row, _| row.state.name().to_owned(),
    },
    Column {
        title: "core",
        alignment: Alignment::Right,
        width: 6,
        rank: 4,
        may_be_cut: false,
        cell: |row, _| row.core_share.map_or_else(dash, |share| format!("{:.0} %", share * 100.0)),
    },
];
/// Between two columns.
const SPACE: usize = 2;
/// How many places there are between the last and the first.
const MARKS: usize = 20;
/// Rows that a page key moves.
const PAGE: usize = 10;

/// A terminal that shows looks.
pub struct Screen {
    terminal: DefaultTerminal,
    /// The first row shown.
    top: usize,
    rows: usize,
}

impl Screen {
    /// Takes the terminal.
    pub fn open() -> Self {
        Self { terminal: ratatui::init(), top: 0, rows: 0 }
    }

    /// Gives the terminal back.
    pub fn close(self) {
        if ratatui::try_restore().is_err() {
            // It is gone: there is nothing to give back, and standard error, where the library would say so,
            // is gone with it.
            std::mem::forget(self.terminal);
        }
    }

    pub fn draw(&mut self, look: &Look) -> io::Result<()> {
        self.rows = look.owners.len();
        self.top = self.top.min(self.rows.saturating_sub(1));
        let top = self.top;
        self.terminal.draw(|frame| draw(frame, look, top)).map(drop)
    }

    /// Waits for a key, but not longer than `most`. Says whether it is to end, as it is where the terminal is
    /// gone.
    pub fn wait_for_key(&mut self, most: Duration) -> io::Result<bool> {
        // Not by the library: where the terminal goes meanwhile, it reads again and again, for ever.
        match input(&terminal(), most) {
            Input::None => return Ok(false),
            Input::Gone => return Ok(true),
            Input::Some => {}
        }
        if !event::poll(Duration::ZERO)? {
            return Ok(false);
        }
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

/// What has come from a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    None,
    Some,
    /// It was closed at its other end.
    Gone,
}

/// Waits for input from `terminal`, but not longer than `most`, nor beyond a signal.
fn input(terminal: &impl AsFd, most: Duration) -> Input {
    let mut asked = [PollFd::new(terminal, PollFlags::IN)];
    let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
    if poll(&mut asked, Some(&most)).is_err() {
        return Input::None;
    }
    let come = asked[0].revents();
    match come.intersects(PollFlags::HUP | PollFlags::ERR) {
        true => Input::Gone,
        false if come.contains(PollFlags::IN) => Input::Some,
        false => Input::None,
    }
}

/// The terminal that keys come from.
fn terminal() -> BorrowedFd<'static> {
    if io::stdin().is_terminal() { rustix::stdio::stdin() } else { rustix::stdio::stdout() }
}

fn draw(frame: &mut Frame<'_>, look: &Look, top: usize) {
    let title = title(look, usize::from(frame.area().width));
    let head = Constraint::Length(title.len() as u16);
    let [head, body, foot] =
        Layout::vertical([head, Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Paragraph::new(title), head);
    frame.render_widget(table(look, top, usize::from(body.width)), body);
    frame.render_widget(footer(look, top, body), foot);
}

/// Page, owners, and how far the simulation is, in lines of so many columns.
fn title(look: &Look, columns: usize) -> Vec<Line<'static>> {
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
    let page = Line::from(vec!["LVT page ".bold(), Span::raw(look.page.clone())]);
    let rest = [owners, reach].into_iter().flat_map(|line| wrapped(&line, columns)).map(Line::from);
    std::iter::once(page).chain(rest).collect()
}

fn dash() -> String {
    "-".to_owned()
}

/// The columns that there is room for, each with its width: of low rank first, and the first of all in any
/// case.
fn shown_columns(look: &Look, spread_ns: u64, columns: usize) -> Vec<(&'static Column, usize)> {
    let width = |column: &Column| {
        if column.may_be_cut {
            return column.width;
        }
        let cells = look.owners.iter().map(|row| (column.cell)(row, spread_ns).chars().count());
        cells.max().unwrap_or(0).max(column.width)
    };
    let mut ranked: Vec<_> =
        COLUMNS.iter().enumerate().map(|(place, column)| (place, column, width(column))).collect();
    ranked.sort_by_key(|(_, column, _)| column.rank);
    let mut used = 0;
    ranked.retain(|(_, column, width)| {
        let wider = if used == 0 { *width } else { used + SPACE + width };
        let fits = wider <= columns || column.rank == 0;
        used = if fits { wider } else { used };
        fits
    });
    ranked.sort_by_key(|(place, ..)| *place);
    ranked.into_iter().map(|(_, column, width)| (column, width)).collect()
}

fn table(look: &Look, top: usize, columns: usize) -> Table<'static> {
    let spread_ns = look.greatest_ns.unwrap_or(0) - look.least_ns.unwrap_or(0);
    let shown = shown_columns(look, spread_ns, columns);
    let aligned = |column: &Column, text: String| Cell::new(Text::from(text).alignment(column.alignment));
    let header = shown.iter().map(|(column, _)| aligned(column, column.title.to_owned()));
    let header = Cells::new(header).style(Style::new().bold().underlined());
    let rows = look.owners.iter().skip(top).map(|row| {
        let cells =
            shown.iter().map(|(column, _)| aligned(column, cut((column.cell)(row, spread_ns), columns)));
        Cells::new(cells).style(style(row))
    });
    let widths = shown.iter().map(|(column, width)| {
        let width = *width as u16;
        // What may be cut gets the room that is left.
        if column.may_be_cut { Constraint::Min(width) } else { Constraint::Length(width) }
    });
    Table::new(rows, widths).header(header).column_spacing(SPACE as u16)
}

/// A text that would not fit into so many columns, with a sign that its end is missing.
fn cut(text: String, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text;
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

fn style(row: &Row) -> Style {
    match row.state {
        State::Runs if row.ahead_ns == Some(0) => Style::new().fg(Color::Yellow).bold(),
        State::Runs => Style::new(),
        State::Waits => Style::new().fg(Color::Cyan),
        State::Done | State::Otherwise => Style::new().fg(Color::DarkGray),
        State::Gone => Style::new().fg(Color::Red),
    }
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
mod tests;
