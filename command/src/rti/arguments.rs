//! The arguments of `paceline rti`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
#[cfg(all(feature = "live", unix))]
use paceline_app::live::PageArguments;
use paceline_fedpro::Endpoint;

/// Shown below the help of `paceline rti`.
pub const RTI_EXAMPLES: &str = "\
The first line that is printed says where it listens; with port 0 that is any port that is free.
Ctrl-C (SIGINT), SIGTERM or SIGHUP ends it: all federates hear that the connection is lost, and
their sessions are ended. A second signal ends it at once.

Exit status: 130, 143 or 129 when SIGINT, SIGTERM or SIGHUP ended it; 2 for a bad option; 1 if it
cannot listen.

Examples:
  paceline rti
  paceline rti --foms foms --json
  paceline rti --listen ws://127.0.0.1:8080 --listen 127.0.0.1:15164
  paceline rti --listen 0.0.0.0:15165 --tls cert.pem,key.pem --password rti.password
  paceline rti --limit federations=16 --limit reconnection-seconds=300
  paceline rti --record calls.rec
  paceline rti replay calls.rec
  paceline rti --trace federates.perfetto-trace
  paceline rti --live
  paceline rti status";

/// The commands of `rti`, beside serving.
#[derive(Debug, Subcommand)]
pub enum RtiCommand {
    /// Shows the federations of infrastructures on this machine: how far each federate is, what it waits for,
    /// and since when
    Status(StatusArguments),
    /// Makes the calls of a record again, without federates, and compares the digests of what they lead to
    Replay(ReplayArguments),
}

/// The arguments of `rti`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RtiArguments {
    /// Nothing, to serve.
    #[command(subcommand)]
    pub command: Option<RtiCommand>,

    /// Listens at this address and port; may be repeated
    ///
    /// In front of the address may stand tcp://, tls://, ws:// (WebSocket) or wss:// (WebSocket inside TLS).
    /// With none of them it is tls:// where --tls is given, else tcp://. Port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:15164")]
    pub listen: Vec<Endpoint>,

    /// Encrypts by TLS 1.3 with this certificate and its key, each a PEM file
    #[arg(long, value_name = "CERT,KEY", value_delimiter = ',', num_args = 1)]
    pub tls: Vec<PathBuf>,

    /// Lets in only clients that know the password in the first line of this file (HLAplainTextPassword)
    #[arg(long, value_name = "FILE")]
    pub password: Option<PathBuf>,

    /// The folder with the modules of object models that federates only name; none is read from anywhere else
    #[arg(long, value_name = "DIR")]
    pub foms: Option<PathBuf>,

    /// Sets a limit of what clients may ask for, such as federations=16; may be repeated
    ///
    /// The limits are: frame-bytes, sessions-per-address, federations, reserved-names, module-bytes,
    /// unacknowledged-bytes, queued-bytes, first-message-seconds, reconnection-seconds.
    #[arg(long, value_name = "NAME=NUMBER")]
    pub limit: Vec<String>,

    /// Records every call in this new file, from which `rti replay` makes them again
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Writes a trace for ui.perfetto.dev into this file: what each federate did, its time and its GALT
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// The live page.
    #[cfg(all(feature = "live", unix))]
    #[command(flatten)]
    pub live: PageArguments,

    /// Listens at addresses that other machines reach without encryption, too
    #[arg(long)]
    pub insecure: bool,

    /// Prints each line, those of the log too, as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `rti status`.
#[derive(Args, Debug)]
pub struct StatusArguments {
    /// Asks the infrastructure of this process only
    #[arg(long)]
    pub pid: Option<u32>,

    /// Prints a JSON object for each infrastructure, each on a line of its own
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `rti replay`.
#[derive(Args, Debug)]
pub struct ReplayArguments {
    /// What `rti --record` has written
    pub record: PathBuf,

    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,
}
