//! The arguments of `completions` and of `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

pub const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  paceline completions bash > ~/.local/share/bash-completion/completions/paceline
  paceline completions zsh > ~/.zfunc/_paceline
  paceline completions fish > ~/.config/fish/completions/paceline.fish";

pub const MAN_EXAMPLES: &str = "\
Exit status: 0 when all pages are written; 1 if one cannot be written.

Examples:
  paceline man ~/.local/share/man/man1
  man paceline-run";

/// The arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArguments {
    /// The folder, which is created if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
