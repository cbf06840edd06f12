//! How wide terminals are, and how text fits into them: whole words and whole numbers, or not at all.

#[cfg(unix)]
use std::os::fd::AsFd;

/// The columns of the terminal that standard output is; `None` where it is none.
pub fn of_stdout() -> Option<usize> {
    columns(&std::io::stdout())
}

/// The columns of standard error, if it is a terminal.
pub fn of_stderr() -> Option<usize> {
    columns(&std::io::stderr())
}

#[cfg(unix)]
fn columns(stream: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn columns<S>(_stream: &S) -> Option<usize> {
    None
}

/// As many of these parts as there is room for, at least the first, with commas between them.
pub fn fitting(parts: &[String], columns: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let longer = if line.is_empty() { part.clone() } else { format!("{line}, {part}") };
        if !line.is_empty() && longer.chars().count() > columns {
            break;
        }
        line = longer;
    }
    line
}

/// The lines of a text that has so many columns. Only a word that is longer than that goes beyond them.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_none_is_lost() {
        let text = "window 6.6 M events/s, for 0.3 s; sequential not yet";
        for columns in [1, 7, 12, 20, 200] {
            let lines = wrapped(text, columns);
            assert_eq!(lines.join(" "), text);
            assert!(
                lines.iter().all(|line| line.chars().count() <= columns || !line.contains(' ')),
                "{lines:?}"
            );
        }
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn parts_that_have_no_room_are_left_out_from_the_end() {
        let parts = ["12.3 of 100s", "6.6 M events/s", "3s left"].map(str::to_owned);
        assert_eq!(fitting(&parts, 100), "12.3 of 100s, 6.6 M events/s, 3s left");
        assert_eq!(fitting(&parts, 30), "12.3 of 100s, 6.6 M events/s");
        assert_eq!(fitting(&parts, 3), "12.3 of 100s");
    }
}
