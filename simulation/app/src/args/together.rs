//! The arguments of runs of several processes.
//!
//! [`Reach`] is of every process of a run: rank 0 hands it on to those that it starts
//! (`together/workers.rs`), and `together.rs` makes the settings of the transport of it.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use paceline_engine::MOST_THREADS;

use crate::duration;
use crate::failure::CommandError;
use crate::log::ONE_PROCESS;

/// Bytes of a secret that is made for one run.
const SECRET_BYTES: usize = 32;

/// How two processes of one run reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Link {
    /// Shared memory on one host, TCP between hosts
    Auto,
    /// Shared memory only
    SharedMemory,
    /// TCP only
    Tcp,
}

/// Which process reports what all of them see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// This process reports it.
    Speaks,
    /// Another process reports it, so that the user reads it once.
    Silent,
}

/// A host that takes part, and with how many processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As ssh knows it.
    pub name: String,
    /// Processes of the run that are started there.
    pub processes: u32,
}

/// How the processes of a run reach each other: arguments of those who start one, and of those who join it.
#[derive(Args, Clone, Copy, Debug)]
pub struct Reach {
    /// How two processes reach each other
    #[arg(long, value_enum, value_name = "LINK", default_value_t = Link::Auto)]
    pub link: Link,

    /// How long the processes may take to find each other
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = duration::duration)]
    pub within: Duration,

    /// How long a process may give no sign of life before the run ends
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::duration)]
    pub silence: Duration,
}

/// The arguments of `run` and `resume` for several processes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Several processes")]
pub struct TogetherArguments {
    /// Runs it in so many processes on this host, each with as many threads as run.threads says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub processes: Option<u32>,

    /// Also starts processes on the hosts in FILE, by ssh
    ///
    /// A line is a host and, unless it is one, the number of processes: `node7 2`. The program and the secret
    /// must be there under the same names.
    #[arg(long, value_name = "FILE", requires_all = ["secret", "listen"])]
    pub hosts: Option<PathBuf>,

    /// Waits for processes that others start by `paceline join`, instead of starting any
    #[arg(long, requires_all = ["processes", "secret"], conflicts_with = "hosts")]
    pub wait: bool,

    /// Where the first process listens for the others; on other than loopback only if this says so
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: String,

    /// The file with the secret by which the processes know each other; without it one is made for the run
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,

    /// How the processes reach each other.
    #[command(flatten)]
    pub reach: Reach,

    /// Starts again from the last checkpoint when a process is lost, at most so many times
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub restarts: u32,
}

impl TogetherArguments {
    /// The hosts in the file, if there is one.
    pub fn hosts(&self) -> Result<Vec<Host>, CommandError> {
        let Some(path) = &self.hosts else { return Ok(Vec::new()) };
        let text = std::fs::read_to_string(path)
            .map_err(|error| CommandError::Option(format!("--hosts {}: {error}", path.display())))?;
        let lines = (1..).zip(text.lines());
        let lines = lines.map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()));
        lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| host(path, number, line)).collect()
    }

    /// Refuses several processes of the operating system for models of simulated processes.
    pub fn refuse_for_actors(&self) -> Result<(), CommandError> {
        self.refuse_for(
            "a model of processes runs in one process of the system, since what its messages carry has no form in \
             which it could be sent to another; allowed: run.threads and run.federates, or a model of LPs",
        )
    }

    /// Refuses several processes of the operating system, and says why.
    pub fn refuse_for(&self, why: &str) -> Result<(), CommandError> {
        if self.processes.unwrap_or(1) > 1 || self.hosts.is_some() {
            return Err(CommandError::Option(format!("--processes and --hosts: {why}")));
        }
        Ok(())
    }

    /// A log is of the events of one process.
    pub fn refuse_with_log(&self) -> Result<(), CommandError> {
        if self.processes.unwrap_or(1) > 1 || self.hosts.is_some() {
            return Err(CommandError::Option(ONE_PROCESS.into()));
        }
        Ok(())
    }

    /// How many processes this one starts on its own host.
    pub fn started_here(&self) -> u32 {
        if self.wait { 0 } else { self.processes.unwrap_or(1) - 1 }
    }

    /// What stands in the file, or words for this run alone.
    pub fn secret_words(&self) -> Result<Vec<u8>, CommandError> {
        match &self.secret {
            Some(path) => read_secret(path),
            None => random_words(),
        }
    }
}

fn host(path: &std::path::Path, number: usize, line: &str) -> Result<Host, CommandError> {
    let mut words = line.split_whitespace();
    let (name, count, rest) = (words.next(), words.next(), words.next());
    let processes =
        count.map_or(Some(1), |count| count.parse().ok().filter(|count| (1..=1024).contains(count)));
    match (name, processes, rest) {
        (Some(name), Some(processes), None) if !name.starts_with('-') => {
            Ok(Host { name: name.to_owned(), processes })
        }
        _ => Err(CommandError::Option(format!(
            "{}:{number}: {line:?}; allowed: a host and, unless it is 1, a number of processes up to 1024",
            path.display()
        ))),
    }
}

/// Checks that nobody else can read the file, and reads it.
fn read_secret(path: &std::path::Path) -> Result<Vec<u8>, CommandError> {
    let refuse = |error: &dyn std::fmt::Display| CommandError::Option(format!("--secret {error}"));
    paceline_transport::Secret::from_file(path).map_err(|error| refuse(&error))?;
    let words = std::fs::read(path).map_err(|error| refuse(&format!("{}: {error}", path.display())))?;
    Ok(words.trim_ascii().to_vec())
}

/// Random bytes as text, which white space at its ends does not change.
fn random_words() -> Result<Vec<u8>, CommandError> {
    let mut bytes = [0; SECRET_BYTES];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| CommandError::Together(format!("the system gives no random bytes: {error}")))?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.map(|digit| b"0123456789abcdef"[usize::from(digit)]).collect())
}

/// The arguments of `join`.
#[derive(Args, Debug)]
pub struct JoinArguments {
    /// Where the first process of the run listens
    #[arg(value_name = "ADDRESS")]
    pub address: String,

    /// The file with the secret by which the processes know each other; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub secret: PathBuf,

    /// How long it lives where rank 0 has started it: as long as standard input is open, from which it reads
    /// the secret
    #[arg(long, hide = true, value_enum, value_name = "ROLE")]
    pub lifeline: Option<Role>,

    /// Worker threads of this process, instead of what the scenario says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)))]
    pub threads: Option<u32>,

    /// How the processes reach each other.
    #[command(flatten)]
    pub reach: Reach,
}

impl JoinArguments {
    /// What stands in the file or comes by standard input.
    pub fn secret_words(&self) -> Result<Vec<u8>, CommandError> {
        if self.secret.as_os_str() != "-" {
            return read_secret(&self.secret);
        }
        let mut words = Vec::new();
        let read = std::io::stdin().take(1 << 12).read_to_end(&mut words);
        read.map_err(|error| CommandError::Option(format!("--secret -: {error}")))?;
        Ok(words.trim_ascii().to_vec())
    }
}
