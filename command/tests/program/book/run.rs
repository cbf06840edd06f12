//! Runs the blocks of a page, and gives the page as it would be with what they print.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::project;

/// How lines begin whose rest is measured and differs from run to run.
pub const MEASURED: [&str; 7] =
    ["Amdahl's bound", "a message", "in parallel", "memory", "peak memory", "speed", "wall time"];

/// The page with what its commands print now, and how many commands there are.
pub fn page(page: &str) -> (String, usize) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["scenarios", "examples"] {
        symlink(project().join(name), folder.path().join(name)).unwrap();
    }
    let (mut again, mut commands, mut before) = (String::new(), 0, "");
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        writeln!(again, "{line}").unwrap();
        if !line.starts_with("```") {
            before = if line.is_empty() { before } else { line };
            continue;
        }
        let block: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| *line != "```")).collect();
        let kind = line.trim_start_matches('`');
        if let Some(file) = file_of(before) {
            let text: String = block.iter().map(|line| format!("{line}\n")).collect();
            fs::write(folder.path().join(file), text).unwrap();
        }
        if kind == "console" {
            for shown in block.split_inclusive_by_command() {
                commands += 1;
                again += &run(folder.path(), shown);
            }
        } else {
            block.iter().for_each(|line| writeln!(again, "{line}").unwrap());
        }
        writeln!(again, "{}", lines.next().expect("a block has an end")).unwrap();
        before = "";
    }
    (again, commands)
}

/// The lines of a block, cut before each command.
trait Commands {
    fn split_inclusive_by_command(&self) -> Vec<&[&str]>;
}

impl Commands for Vec<&str> {
    fn split_inclusive_by_command(&self) -> Vec<&[&str]> {
        let starts: Vec<usize> =
            (0..self.len()).filter(|place| self[*place].starts_with("$ ")).chain([self.len()]).collect();
        assert_eq!(starts[0], 0, "a block of the kind console begins with a command: {self:?}");
        starts.windows(2).map(|ends| &self[ends[0]..ends[1]]).collect()
    }
}

/// The file that the block after this line is.
fn file_of(line: &str) -> Option<&str> {
    let rest = line.strip_suffix("`:")?;
    rest.rsplit('`').next().filter(|name| name.contains('.') && !name.contains(['/', ' ']))
}

/// A command with what it prints; what is shown, where that is the same.
fn run(folder: &Path, shown: &[&str]) -> String {
    let command = shown[0].strip_prefix("$ ").expect("it is a command");
    let programs = Path::new(env!("CARGO_BIN_EXE_paceline")).parent().expect("a program is in a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .current_dir(folder)
        .env("PATH", path)
        .args(["-c", &format!("exec 2>&1; {command}")])
        .output()
        .expect("bash is there");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let printed: Vec<&str> = text.lines().collect();
    let shown_output = &shown[1..];
    let is_same = is_shown(shown_output, &printed);
    let lines = if is_same { shown_output } else { &printed };
    std::iter::once(&shown[0]).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// Whether `printed` is what is shown, where a line `...` stands for any lines.
fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        ["...", rest @ ..] => (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..])),
        [line, rest @ ..] => printed
            .split_first()
            .is_some_and(|(first, others)| is_alike(line, first) && is_shown(rest, others)),
    }
}

/// Whether two lines are the same, but for what is measured.
fn is_alike(shown: &str, printed: &str) -> bool {
    let is_measured = |label: &&str| {
        let follows =
            |line: &str| line.trim_start().strip_prefix(*label).is_some_and(|rest| rest.starts_with(' '));
        follows(shown) && follows(printed)
    };
    shown == printed || MEASURED.iter().any(is_measured)
}

/// Problems with the commands in blocks that are not run: options that `paceline COMMAND --help` does not
/// have, scenarios that are not there.
pub fn unknown_words(page: &str) -> Vec<String> {
    let (mut problems, mut in_block) = (Vec::new(), false);
    let joined = page.replace("\\\n", " ");
    for line in joined.lines() {
        if line.starts_with("```") {
            in_block = !in_block && line == "```sh";
            continue;
        }
        if !in_block {
            continue;
        }
        // What stands between quotation marks is for another program, and cargo's `--package paceline` is no
        // command of this one.
        let command = line.split(" #").next().unwrap_or_default();
        let unquoted: String = command.split('\'').step_by(2).collect();
        let words: Vec<&str> = unquoted.split([' ', '"', '(', ')']).collect();
        let is_program = |word: &&str| *word == "paceline" || word.ends_with("/paceline");
        let place = words.iter().position(is_program).filter(|_| words[0] != "cargo" && words[0] != "cd");
        let Some(place) = place else { continue };
        let command: Vec<&str> = words[place + 1..].iter().copied().take_while(is_name).collect();
        // What follows `--` belongs to another program.
        let arguments: Vec<&str> =
            words[place + 1..].iter().copied().take_while(|word| !["--", "|", "&&"].contains(word)).collect();
        let Some(help) = help_of(&command) else { continue };
        for word in arguments {
            let option = word.split('=').next().unwrap_or_default();
            if option.starts_with("--") && !help.contains(option) {
                problems.push(format!("`{line}`: no option {option}"));
            }
            if (word.starts_with("scenarios/") || word.starts_with("examples/"))
                && !project().join(word).exists()
            {
                problems.push(format!("`{line}`: there is no {word}"));
            }
        }
    }
    problems
}

fn is_name(word: &&str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase())
}

/// What `paceline COMMAND --help` prints, of as many words as are a command. Of commands of the lab none,
/// where its program was not built.
fn help_of(command: &[&str]) -> Option<String> {
    for length in (0..=command.len()).rev() {
        let mut arguments = command[..length].to_vec();
        arguments.push("--help");
        let output = super::super::paceline(&project(), &arguments);
        if output.status.success() {
            let is_of_the_lab = command.first().is_some_and(|first| ["reproduce", "xen"].contains(first));
            return (length > 0 || !is_of_the_lab).then(|| super::super::stdout(&output));
        }
    }
    None
}

/// The first lines in which two texts differ, with a line before them.
pub fn first_difference(shown: &str, printed: &str) -> String {
    let (shown, printed): (Vec<_>, Vec<_>) = (shown.lines().collect(), printed.lines().collect());
    let same = shown.iter().zip(&printed).take_while(|(one, other)| one == other).count();
    let part = |lines: &[&str], sign: char| -> String {
        lines.iter().skip(same).take(4).map(|line| format!("{sign} {line}\n")).collect()
    };
    let before = same.checked_sub(1).map_or("", |line| shown[line]);
    format!("  {before}\n{}{}", part(&shown, '-'), part(&printed, '+'))
}
