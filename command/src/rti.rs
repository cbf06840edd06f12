//! `paceline rti`: a run-time infrastructure of HLA 4 that federates join through the Federate Protocol.
//!
//! Invariant: nothing listens where other machines reach it unless it is encrypted, or the user has asked for
//! that.

pub mod arguments;
mod lines;
#[cfg(all(feature = "live", unix))]
mod live;
#[cfg(target_os = "linux")]
mod publishing;
mod record;
#[cfg(unix)]
mod status;
mod trace;

use std::io;
use std::path::Path;
use std::sync::Arc;

use paceline_app::failure::CommandError;
use paceline_app::signals;
use paceline_fedpro::{
    Endpoint, Host, Limits, ModuleFolder, Outside, Password, Server, ServerConfig, System, tls_config,
};

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Special;
use arguments::{RtiArguments, RtiCommand};
use lines::Lines;
use trace::FederateTracks;

/// Serves until a signal ends it, or says how far federations are.
pub fn rti(arguments: &RtiArguments) -> Result<(), CommandError> {
    match &arguments.command {
        None => serve(arguments),
        Some(RtiCommand::Replay(arguments)) => record::show(arguments),
        #[cfg(unix)]
        Some(RtiCommand::Status(arguments)) => status::status(arguments),
        #[cfg(not(unix))]
        Some(RtiCommand::Status(_)) => {
            Err(Special::Rti("the status can be asked for on Unix only".into()).into())
        }
    }
}

fn failed(what: &str, error: &io::Error) -> CommandError {
    Special::Rti(format!("{what}: {error}")).into()
}

fn serve(arguments: &RtiArguments) -> Result<(), CommandError> {
    let tls = read_tls(arguments)?;
    let endpoints = endpoints(arguments, tls.is_some())?;
    let mut limits = Limits::default();
    for limit in &arguments.limit {
        limits.set(limit).map_err(|error| CommandError::Option(format!("--limit {error}")))?;
    }
    let password = arguments.password.as_deref().map(read_password).transpose()?;
    let modules = arguments.foms.as_deref().map(|path| {
        ModuleFolder::open(path)
            .map_err(|error| CommandError::Option(format!("--foms {}: {error}", path.display())))
    });
    #[cfg(unix)]
    allow_open_files();
    let lines = Lines { is_json: arguments.json };
    let system = System::new(modules.transpose()?, move |line: &str| lines.log(line));
    let system = system.map_err(|error| failed("the system has no random numbers", &error))?;
    let mut host = Host::with_limits(system, limits.clone());
    password.into_iter().for_each(|password| host.set_password(password));
    let server = Server::new(host);
    let mut server = server.map_err(|error| failed("connections cannot be watched", &error))?;
    let mut places = Vec::new();
    for endpoint in endpoints {
        let tls = tls.clone().filter(|_| endpoint.is_encrypted == Some(true));
        let address = server.listen(endpoint.address, endpoint.carrier, tls);
        let address = address.map_err(|error| failed(&format!("cannot listen at {endpoint}"), &error))?;
        places.push(Endpoint { address, ..endpoint }.to_string());
    }
    // Files are made once nothing else can fail: one that is left behind by a failure would be in the way.
    let tracks = arguments.trace.as_deref().map(FederateTracks::create).transpose()?;
    tracks.iter().for_each(|tracks| server.host_mut().observe(Box::new(tracks.clone())));
    let recorder = arguments.record.as_deref().map(|path| record::begin(path, &limits)).transpose()?;
    recorder.into_iter().for_each(|recorder| server.host_mut().set_recorder(recorder));
    #[cfg(target_os = "linux")]
    publish(&mut server, lines);
    #[cfg(unix)]
    let socket = status::offer(&mut server)
        .map_err(|error| lines.log(&format!("`paceline rti status` cannot reach this: {error}")));
    let stopper = server.stopper();
    #[cfg(all(feature = "live", unix))]
    let live = arguments.live.serve(|| {
        let path = socket.as_ref().ok().map(status::Socket::path);
        live::RtiPage::new(&places, path, stopper.clone())
    })?;
    // A server that cannot be woken looks by itself a little later.
    signals::on_first(move || drop(stopper.stop())).map_err(CommandError::Signals)?;
    lines.listening(&places)?;
    let sessions = server.run().map_err(|error| failed("the infrastructure has failed", &error));
    // Without its socket the page asks no more: the server would not answer.
    #[cfg(unix)]
    drop(socket);
    #[cfg(all(feature = "live", unix))]
    drop(live);
    let traced = tracks.map_or(Ok(()), |tracks| tracks.finish());
    let sessions = sessions?;
    let digests = server.finish_record().map_err(|error| failed("the record cannot be written", &error))?;
    lines.ended(sessions, digests.as_ref())?;
    traced?;
    Err(CommandError::Interrupted)
}

/// Each connection is an open file: there may be as many as the system lets a user ask for.
#[cfg(unix)]
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // With fewer, those that come later are refused, and the log says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Publishes how far federates are, where there is a page for that.
#[cfg(target_os = "linux")]
fn publish<O: Outside>(server: &mut Server<O>, lines: Lines) {
    match publishing::Publishing::from_env(lines) {
        Ok(publishing) => publishing.into_iter().for_each(|it| server.host_mut().observe(Box::new(it))),
        Err(error) => lines.log(&format!("federates are not paced: {error}")),
    }
}

fn read_tls(arguments: &RtiArguments) -> Result<Option<Arc<ServerConfig>>, CommandError> {
    match &arguments.tls[..] {
        [] => Ok(None),
        [certificate, key] => {
            let config = tls_config(certificate, key);
            config.map(Some).map_err(|error| CommandError::Option(format!("--tls: {error}")))
        }
        other => Err(CommandError::Option(format!(
            "--tls names {} files; allowed are two, a certificate and its key, with a comma between them",
            other.len()
        ))),
    }
}

/// Where to listen, with what is encrypted. Refuses addresses that other machines reach, where nothing is.
fn endpoints(arguments: &RtiArguments, has_tls: bool) -> Result<Vec<Endpoint>, CommandError> {
    let decided = arguments.listen.iter().map(|endpoint| {
        let is_encrypted = endpoint.is_encrypted.unwrap_or(has_tls);
        let decided = Endpoint { is_encrypted: Some(is_encrypted), ..*endpoint };
        if is_encrypted && !has_tls {
            return Err(CommandError::Option(format!(
                "--listen {endpoint}: there is no certificate; --tls CERT,KEY names one and its key"
            )));
        }
        if !is_encrypted && !arguments.insecure && !endpoint.address.ip().is_loopback() {
            return Err(CommandError::Option(format!(
                "--listen {endpoint}: other machines reach this address, and nothing is encrypted there; allowed are \
                 addresses of this machine only, such as 127.0.0.1:15164, or any with --tls CERT,KEY or with --insecure"
            )));
        }
        Ok(decided)
    });
    decided.collect()
}

/// The first line of a file.
fn read_password(path: &Path) -> Result<Password, CommandError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::Option(format!("--password {}: {error}", path.display())))?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(Password::new(line)),
        None => Err(CommandError::Option(format!(
            "--password {}: its first line is empty; allowed is any text",
            path.display()
        ))),
    }
}
