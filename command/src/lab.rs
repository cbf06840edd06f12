//! The lab's commands, `reproduce` and `xen`: another program, `paceline-lab`, carries them out. It is looked
//! for beside this one and then in PATH, as cargo looks for `cargo-NAME`, so that whoever runs models need
//! not build the experiments.
//!
//! Invariant: on Unix the lab's program takes the place of this one: signals reach it, and the exit status is
//! its own.

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode};

use paceline_app::failure::CommandError;

use crate::failure::{LAB, Special};

/// The commands that it carries out.
const COMMANDS: [&str; 2] = ["reproduce", "xen"];

/// The command of the lab whose help these arguments ask for, and what its program, which alone has that
/// help, is given for it.
pub fn help_of(given: &[OsString]) -> Option<(&'static str, Vec<OsString>)> {
    let [help, command, subcommands @ ..] = given else { return None };
    let known = COMMANDS.into_iter().find(|known| help == "help" && command == known)?;
    Some((known, [subcommands, &["--help".into()]].concat()))
}

/// Has the lab's program carry out `command` with these arguments.
pub fn start(command: &str, arguments: &[OsString]) -> Result<ExitCode, CommandError> {
    let mut program = Command::new(program());
    program.arg(command).args(arguments);
    become_it(&mut program).map_err(|reason| match reason.kind() {
        io::ErrorKind::NotFound => Special::NoLab(command.to_owned()).into(),
        _ => CommandError::Option(format!("cannot start {}: {reason}", program.get_program().display())),
    })
}

/// The lab's program beside this one, as a build leaves both; else its name, to be found in PATH.
fn program() -> OsString {
    let file = format!("{LAB}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().map(|path| path.with_file_name(&file));
    beside.filter(|path| path.is_file()).map_or(file.into(), Into::into)
}

/// Replaces this program; comes back only where that fails.
#[cfg(unix)]
fn become_it(program: &mut Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;

    // The lab's program names itself so in its help and its errors: it is what the user has typed.
    if let Some(program_name) = env::args_os().next() {
        program.arg0(program_name);
    }
    Err(program.exec())
}

/// Runs it to its end where programs cannot be replaced.
#[cfg(not(unix))]
fn become_it(program: &mut Command) -> io::Result<ExitCode> {
    let status = program.status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
