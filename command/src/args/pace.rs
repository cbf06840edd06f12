//! The arguments of `paceline pace`: how a slice, a share and the choice of an MPI library are parsed.

use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use paceline_app::duration::duration;
use paceline_pace::PolicyChoice;
use paceline_pace::mpi::MpiChoice;

pub const EXAMPLES: &str = "\
COMMAND finds a page in the environment variable PACELINE_LVT; those of its threads that publish
their local virtual time there are paced, and all other threads are unaffected. The normal
scheduler is restored when COMMAND ends and when paceline ends, even if paceline is killed.

Exit status: that of COMMAND, or 128 plus the signal's number if a signal has ended it; 127 if there
is no such program, 126 if it cannot be executed; 2 for a bad option; 1 for a failure of paceline,
such as a requested policy that is not permitted.

Examples:
  paceline pace -- mpirun -n 16 ./simulator
  paceline pace --policy governor --slice 1ms -- ./simulator
  paceline pace --min-share 5% -- ./simulator --processes 32";

/// The arguments of `pace`.
#[derive(Args, Debug)]
pub struct PaceArguments {
    /// The policy: auto, sched-ext, governor or none
    ///
    /// sched-ext is a policy in the kernel, for kernels with sched_ext. governor sets real-time priorities,
    /// or nice levels where only those are permitted. auto takes the first of these that is permitted.
    /// none paces nothing.
    #[arg(long, value_name = "POLICY", default_value = "auto")]
    pub policy: PolicyChoice,

    /// The time between two scheduling decisions: auto, or from 100us to 10ms
    ///
    /// auto compares slices of 100us, 200us and 500us, and takes the one with which the program makes most
    /// progress.
    #[arg(long, value_name = "DURATION", default_value = "auto")]
    pub slice: Slice,

    /// The least share of a core for each thread that wants to run, whatever the others publish
    ///
    /// If all shares together exceed a tenth of the machine, they are reduced evenly. Every thread runs at
    /// least twice a second.
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    pub min_share: Permille,

    /// Paces also while pacing does not make the program faster
    ///
    /// Otherwise paceline now and then runs the program without pacing for some hundredths of a second, and
    /// stops pacing while the program is faster without it; a line on stderr says so.
    #[arg(long)]
    pub always: bool,

    /// The shim for MPI programs: auto, on or off
    ///
    /// With it, ranks that wait inside the MPI library (Open MPI, MPICH) yield their core and publish that
    /// they wait. auto loads it when COMMAND is an MPI launcher.
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = mpi_choice)]
    pub mpi: MpiChoice,

    /// Prints statistics of pacing and its cost at the end
    #[arg(long)]
    pub statistics: bool,

    /// The command to run, with its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// A slice; `None` stands for `auto`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slice(pub Option<Duration>);

impl FromStr for Slice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(Self(None)) } else { duration(text).map(|slice| Self(Some(slice))) }
    }
}

fn mpi_choice(text: &str) -> Result<MpiChoice, String> {
    match text {
        "auto" => Ok(MpiChoice::Auto),
        "on" => Ok(MpiChoice::On),
        "off" => Ok(MpiChoice::Off),
        _ => Err("allowed: auto, on, off".to_owned()),
    }
}

/// A share in thousandths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Permille(pub u32);

impl FromStr for Permille {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no share of a core; allowed: 0% to 100%, in steps of 0.1%");
        let number = text.strip_suffix('%').unwrap_or(text).trim();
        let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || tenths.len() != 1 || !digits(whole) || !digits(tenths) {
            return Err(wrong());
        }
        let whole = whole.parse::<u32>().ok().filter(|whole| *whole <= 100).ok_or_else(wrong)?;
        let permille = whole * 10 + tenths.parse::<u32>().map_err(|_| wrong())?;
        if permille > 1000 { Err(wrong()) } else { Ok(Self(permille)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_with_one_decimal_at_most() {
        for permille in 0..=1000 {
            let text = format!("{}.{}%", permille / 10, permille % 10);
            assert_eq!(text.parse(), Ok(Permille(permille)));
        }
        assert_eq!("2%".parse(), Ok(Permille(20)));
        assert_eq!("2".parse(), Ok(Permille(20)));
        for wrong in ["", "%", "-1%", "101%", "100.1%", "1.25%", "x%", "+1%", "1.+%", "99999999999%"] {
            assert!(wrong.parse::<Permille>().is_err(), "{wrong}");
        }
    }
}
