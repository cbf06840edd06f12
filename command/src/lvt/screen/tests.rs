//! What the screen shows of made-up looks at a page, and that it fits.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::super::look::tests::five;
use super::*;

fn shown(width: u16, height: u16, top: usize) -> Vec<String> {
    shown_of(&five(), width, height, top)
}

fn shown_of(look: &Look, width: u16, height: u16, top: usize) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is in memory");
    let frame = terminal.draw(|frame| draw(frame, look, top)).expect("it is in memory");
    let line = |y| (0..width).map(|x| frame.buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned()).collect()
}

#[test]
fn the_last_and_the_first_are_reported_with_what_is_between_them() {
    let lines = shown(110, 10, 0);
    assert_eq!(lines[1], "5 of 1024 slots, 1 runs, 1 waits, 1 done, 1 not simulating, 1 gone");
    assert_eq!(lines[2], "LVT 2.000000 s to 2.500000 s, 500.000 ms apart");
    assert!(lines[4].starts_with("behind") && lines[4].contains("0 ns  ● "), "{}", lines[4]);
    assert!(lines[4].ends_with("runs              99 %"), "{}", lines[4]);
    assert!(lines[5].starts_with("ahead") && lines[5].contains("500.000 ms  ·"), "{}", lines[5]);
    assert_eq!(lines[5].find('●').map(|at| lines[5][..at].chars().filter(|c| *c == '·').count()), Some(19));
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
fn numbers_are_whole_however_narrow_the_terminal_is() {
    let mut look = five();
    for row in &mut look.owners {
        // 23 characters.
        row.lvt_ns = row.lvt_ns.map(|lvt_ns| lvt_ns + 18_000_000_000_000_000_000);
    }
    for (look, least) in [(five(), 16), (look, 24)] {
        let cells = look.owners.iter().flat_map(|row| COLUMNS.map(|column| (column.cell)(row, 500_000_000)));
        let title = title(&look, usize::MAX);
        let shown: String = cells.chain(title.iter().map(Line::to_string)).map(|text| text + " ").collect();
        let words = |text: &str| {
            let words = text.split_whitespace().map(|word| word.trim_end_matches(',').to_owned());
            words.filter(|word| word.contains('.') && !word.contains('/')).collect::<Vec<_>>()
        };
        let whole = words(&shown);
        for width in least..130 {
            let shown = shown_of(&look, width, 30, 0);
            let cut: Vec<_> =
                shown.iter().flat_map(|line| words(line)).filter(|word| !whole.contains(word)).collect();
            assert!(cut.is_empty(), "{width}: {cut:?} in {shown:#?}");
        }
    }
    let lines = shown(50, 10, 0);
    let behind = lines.iter().find(|line| line.starts_with("behind"));
    assert!(behind.is_some_and(|line| line.ends_with("2.000000 s            0 ns")), "{lines:?}");
    assert_eq!(cut("18,446,744,073.709551 s".into(), 8), "18,446,…");
}

#[test]
fn spans_are_reported_in_the_unit_that_suits_them() {
    let shown = [0, 999, 1_000, 1_234_567, u64::MAX].map(span);
    assert_eq!(shown, ["0 ns", "999 ns", "1.000 us", "1.234 ms", "18,446,744,073.709 s"]);
}

#[test]
fn a_terminal_that_was_closed_is_gone() {
    let other_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&other_end).and_then(|()| unlockpt(&other_end)).expect("it is ours");
    let name = ptsname(&other_end, Vec::new()).expect("it has a name");
    let name = name.to_str().expect("it is a path").to_owned();
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(name).expect("it is there");
    let soon = Duration::from_millis(1);
    assert_eq!(input(&terminal, soon), Input::None);
    rustix::io::write(&other_end, b"q\n").expect("it is open");
    assert_eq!(input(&terminal, Duration::from_secs(60)), Input::Some);
    drop(other_end);
    assert_eq!(input(&terminal, Duration::from_secs(60)), Input::Gone);
}
