//! `paceline completions` and `paceline man`: what shells complete, and manual pages, made of the command
//! line itself.
//!
//! Invariant: neither has a word of its own, so neither can differ from what `--help` says.

pub mod arguments;

use std::path::Path;

use clap::Command;
use paceline_app::failure::CommandError;
use paceline_app::output::write_file;
use paceline_app::stdout;

use arguments::{CompletionsArguments, ManArguments};

/// Prints what a shell needs to complete commands and options.
pub fn completions(mut program: Command, arguments: &CompletionsArguments) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "paceline", &mut script);
    stdout::print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program, and for each command.
pub fn pages(mut program: Command, arguments: &ManArguments) -> Result<(), CommandError> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|reason| CommandError::Write(folder.clone(), reason))?;
    // Gives each command the name of its page.
    program.build();
    let written = page(&program, "paceline", folder)?;
    stdout::print(&format!("Written: {written} pages in {}\n", folder.display()))
}

/// Writes the page of a command and those of the commands below it; gives back how many.
fn page(command: &Command, name: &str, folder: &Path) -> Result<usize, CommandError> {
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone().name(name.to_owned()))
        .render(&mut text)
        .expect("memory takes text");
    write_file(&path, &text)?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        written += page(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(written)
}
