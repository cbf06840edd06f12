//! Runs of several real processes: this test program starts itself again for each rank, with the task in the
//! environment.
//!
//! Some processes are killed or stopped by a signal; the others report which one was lost and why. If
//! permitted, two processes run in two network namespaces joined by a pair of virtual Ethernet devices, as on
//! two hosts; and where the kernel can, with a path between them that delays packets and loses some.

#![cfg(target_os = "linux")]

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use paceline_transport::{
    Coordinator, Handed, Mesh, PeerError, PeerErrorKind, Prefer, RendezvousError, Secret, Security, Settings,
    Transport, join,
};
use rustix::process::{Pid, Signal, kill_process};

/// Environment variables for a started process: the address, the secret and the kind of link.
const ADDRESS: &str = "PACELINE_TEST_ADDRESS";
const SECRET: &str = "PACELINE_TEST_SECRET";
const PREFER: &str = "PACELINE_TEST_PREFER";

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a process may be silent.
const SILENCE: Duration = Duration::from_millis(600);

/// The same on a path that loses packets: TCP sends one again after 200 ms, and after twice that each further
/// time.
const LOSSY_SILENCE: Duration = Duration::from_secs(20);

fn settings(secret: &Path, prefer: &str) -> Settings {
    let settings = Settings::new(Secret::from_file(secret).expect("the test has made it"));
    let silence = if prefer == "lossy" { LOSSY_SILENCE } else { SILENCE };
    let settings = match prefer {
        "tls" | "lossy" => settings.prefer(Prefer::Tcp),
        "tcp" => settings.prefer(Prefer::Tcp).security(Security::Plain),
        "shm" => settings.prefer(Prefer::SharedMemory),
        other => panic!("no kind of link is called {other}"),
    };
    settings.time_limit(PATIENCE).silence_limit(silence)
}

/// Starts this program again as a process that joins.
fn start(program: &mut Command, address: &str, secret: &Path, prefer: &str) -> Child {
    program
        .args(["--exact", "a_process_of_a_run", "--nocapture", "--test-threads=1"])
        .env(ADDRESS, address)
        .env(SECRET, secret)
        .env(PREFER, prefer)
        .stdout(Stdio::null())
        .spawn()
        .expect("this program can be started")
}

fn this() -> Command {
    Command::new(env::current_exe().expect("it runs"))
}

/// What a started process does: it returns each frame to its sender, until it is asked to end or a peer is
/// lost. In the test itself, which is not a process of a run, it returns at once.
#[test]
fn a_process_of_a_run() {
    let (Ok(address), Ok(secret), Ok(prefer)) = (env::var(ADDRESS), env::var(SECRET), env::var(PREFER))
    else {
        return;
    };
    let (mesh, charge) = join(&*address, &settings(secret.as_ref(), &prefer)).expect("the test waits");
    assert_eq!(charge, b"echo");
    let mut is_over = false;
    while !is_over {
        let mut frames = Vec::new();
        match mesh.receive(&mut |from, frame| frames.push((from, frame.to_vec()))) {
            Ok(false) => mesh.wait(PATIENCE),
            Ok(true) => {}
            // Whichever peer is lost, the test knows it.
            Err(_) => break,
        }
        for (from, frame) in frames {
            is_over |= frame == b"end";
            while mesh.send(from, &frame) == Ok(Handed::Full) {
                mesh.wait(PATIENCE);
            }
        }
    }
    mesh.close();
}

struct Run {
    mesh: Mesh,
    /// By rank; the first is process 0, this one.
    processes: Vec<Child>,
    _folder: tempfile::TempDir,
}

fn run(ranks: u32, prefer: &str) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    Secret::generate(&secret).expect("a new file");
    let coordinator =
        Coordinator::listen("127.0.0.1:0", ranks, &settings(&secret, prefer)).expect("loopback");
    let address = coordinator.address().to_string();
    let processes = (1..ranks).map(|_| start(&mut this(), &address, &secret, prefer)).collect();
    let mesh = coordinator.gather(b"echo").expect("all come");
    Run { mesh, processes, _folder: folder }
}

/// Counts frames by rank until a peer is lost or `enough` frames have come.
fn listen(mesh: &Mesh, enough: usize) -> (Vec<usize>, Option<PeerError>) {
    let mut from = vec![0; mesh.ranks() as usize];
    loop {
        match mesh.receive(&mut |rank, _| from[rank as usize] += 1) {
            Err(lost) => return (from, Some(lost)),
            Ok(_) if from.iter().sum::<usize>() >= enough => return (from, None),
            Ok(true) => {}
            Ok(false) => mesh.wait(PATIENCE),
        }
    }
}

/// Makes each process send back some frames, and then end.
fn echo(mesh: &Mesh, frames: usize) {
    let others = mesh.ranks() as usize - 1;
    for frame in std::iter::repeat_n(&b"frame"[..], frames - 1).chain([&b"end"[..]]) {
        for rank in 1..mesh.ranks() {
            assert_eq!(mesh.send(rank, frame).expect("it lives"), Handed::Over);
        }
    }
    let (from, lost) = listen(mesh, frames * others);
    assert_eq!(lost, None);
    assert!(from[1..].iter().all(|some| *some == frames), "{from:?}");
    mesh.close();
}

#[test]
fn processes_find_each_other_over_every_kind_of_link() {
    for (prefer, kind) in [("tls", "TLS"), ("tcp", "TCP"), ("shm", "shared memory")] {
        let mut run = run(4, prefer);
        assert!(run.mesh.paths().iter().all(|path| path.kind == kind));
        echo(&run.mesh, 20);
        drop(run.mesh);
        for process in &mut run.processes {
            assert!(process.wait().expect("it was started").success());
        }
    }
}

/// Sends a signal to one process; returns how its loss is reported. Ranks are given in the order in which
/// processes join, so the process is identified by its frames: the one that still answers is the other.
fn lost_by(signal: Signal, prefer: &str) -> PeerErrorKind {
    let mut run = run(2, prefer);
    let process = &mut run.processes[0];
    let pid = Pid::from_child(process);
    kill_process(pid, signal).expect("it runs");
    let (_, lost) = listen(&run.mesh, usize::MAX);
    let lost = lost.expect("nothing else ends the loop");
    assert_eq!(lost.rank, 1);
    kill_process(pid, Signal::KILL).expect("nobody has waited for it");
    process.wait().expect("it was started");
    lost.kind
}

#[test]
fn a_process_that_is_killed_is_gone() {
    for prefer in ["tls", "tcp", "shm"] {
        assert_eq!(lost_by(Signal::KILL, prefer), PeerErrorKind::Gone, "{prefer}");
    }
}

#[test]
fn a_process_that_is_stopped_is_silent() {
    for prefer in ["tls", "tcp", "shm"] {
        assert_eq!(lost_by(Signal::STOP, prefer), PeerErrorKind::Silent(SILENCE), "{prefer}");
    }
}

#[test]
fn a_process_that_never_comes_is_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    Secret::generate(&secret).expect("a new file");
    let settings = settings(&secret, "tls");
    let hasty = settings.clone().time_limit(Duration::from_secs(2));
    let coordinator = Coordinator::listen("127.0.0.1:0", 3, &hasty).expect("loopback");
    let address = coordinator.address();
    // One of the two other processes joins: it learns that the run does not start.
    let one = std::thread::spawn(move || join(address, &settings).map(|_| ()));
    let missed = coordinator.gather(b"echo").expect_err("one is missing");
    assert!(matches!(missed, RendezvousError::Missing { present: 2, ranks: 3, .. }), "{missed}");
    assert!(one.join().expect("no panic").is_err());
}

/// Two network namespaces joined by a pair of virtual Ethernet devices. Dropping it removes them.
struct Namespaces([String; 2]);

impl Namespaces {
    /// The addresses of both ends.
    const ADDRESSES: [&str; 2] = ["10.213.47.1", "10.213.47.2"];

    /// `name` is that of the test: tests of one process run at the same time.
    fn new(name: &str) -> Result<Self, String> {
        let names = ["a", "b"].map(|end| format!("paceline-{}-{name}-{end}", std::process::id()));
        let [first, second] = &names;
        let made = Self(names.clone());
        ip(&["netns", "add", first])?;
        ip(&["netns", "add", second])?;
        ip(&["-n", first, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", second])?;
        for (name, address) in names.iter().zip(Self::ADDRESSES) {
            ip(&["-n", name, "address", "add", &format!("{address}/24"), "dev", "veth0"])?;
            ip(&["-n", name, "link", "set", "veth0", "up"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        Ok(made)
    }

    /// From now on packets take 3 to 5 ms to the other end, so that some overtake others, and one in twenty
    /// is lost.
    fn make_lossy(&self) -> Result<(), String> {
        let netem = ["qdisc", "add", "dev", "veth0", "root", "netem", "delay", "4ms", "1ms", "loss", "5%"];
        self.0.iter().try_for_each(|name| call("tc", &[&["-n", name], &netem[..]].concat()))
    }

    /// Runs this program in one of the namespaces.
    fn within(&self, end: usize) -> Command {
        let mut program = Command::new("ip");
        program.args(["netns", "exec", &self.0[end]]).arg(env::current_exe().expect("it runs"));
        program
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    call("ip", arguments)
}

fn call(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output =
        Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// The environment variable with the secret's path, for the process that coordinates in a namespace.
const COORDINATE: &str = "PACELINE_TEST_COORDINATE";

/// What the coordinator in a namespace does; it returns at once in the test itself.
#[test]
fn a_coordinator_in_a_namespace() {
    let (Ok(secret), Ok(prefer)) = (env::var(COORDINATE), env::var(PREFER)) else {
        return;
    };
    // Both processes are on one host and would share memory, but only TCP is to cross namespaces.
    let settings = settings(secret.as_ref(), &prefer);
    let address = (Namespaces::ADDRESSES[0], 47_213);
    let plain = settings.clone().security(Security::Plain);
    assert!(Coordinator::listen(address, 2, &plain).is_err(), "other hosts need TLS");
    let coordinator = Coordinator::listen(address, 2, &settings).expect("the device is up");
    let mesh = coordinator.gather(b"echo").expect("the other one comes");
    assert!((1_000..=1_500).contains(&mesh.unit(1)), "an Ethernet frame less headers, not {}", mesh.unit(1));
    echo(&mesh, 500);
}

/// A process in each of the namespaces: one sends back what the other sends.
fn echo_between(namespaces: &Namespaces, prefer: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    Secret::generate(&secret).expect("a new file");
    let address = format!("{}:47213", Namespaces::ADDRESSES[0]);
    let mut other = start(&mut namespaces.within(1), &address, &secret, prefer);
    let coordinated = namespaces
        .within(0)
        .args(["--exact", "a_coordinator_in_a_namespace", "--nocapture"])
        .env(COORDINATE, &secret)
        .env(PREFER, prefer)
        .output()
        .expect("this program can be started");
    assert!(coordinated.status.success(), "{}", String::from_utf8_lossy(&coordinated.stderr));
    assert!(other.wait().expect("it was started").success());
}

#[test]
fn two_hosts_are_joined_by_tls() {
    let namespaces = match Namespaces::new("tls") {
        Ok(namespaces) => namespaces,
        Err(reason) => return eprintln!("skipped: no network namespaces here: {reason}"),
    };
    echo_between(&namespaces, "tls");
}

#[test]
fn two_hosts_are_joined_by_a_path_that_loses_packets() {
    let namespaces = match Namespaces::new("lossy") {
        Ok(namespaces) => namespaces,
        Err(reason) => return eprintln!("skipped: no network namespaces here: {reason}"),
    };
    if let Err(reason) = namespaces.make_lossy() {
        return eprintln!("skipped: no netem in this kernel: {reason}");
    }
    echo_between(&namespaces, "lossy");
}
