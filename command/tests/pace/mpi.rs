//! Pacing of MPI programs: `examples/mpi/phold` with 16 ranks under Open MPI and MPICH. A library whose
//! compiler or launcher is missing is skipped, with the reason on stderr. `ratio.rs` compares the run time
//! with and without pacing, and `faults.rs` has what goes wrong.

mod faults;
mod ratio;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use paceline_lvt::layout::LIBRARY_WAITING;
use paceline_lvt::{ENV, Page, SlotView};
use paceline_pace::mpi::{ROOM_ENV, shim};
use procfs::process::{Process, all_processes};

use crate::lab::{Running, any_turn, pace, send, wait_until};

const RANKS: &str = "16";
/// The variable by which the processes of a run are found again.
const MARK: &str = "PACE_TEST_MARK";
/// Seconds after which `timeout` ends a run that should have ended long before.
const LIMIT: &str = "30";
/// A run with windows that takes much longer than any test looks at it.
const LONG: [&str; 4] = ["--sync", "windows", "--until", "1000000"];

/// An MPI library, and `phold` built for it.
struct Mpi {
    name: &'static str,
    launcher: String,
    program: PathBuf,
}

/// The libraries that can be tested on this machine.
static INSTALLED: LazyLock<Vec<Mpi>> = LazyLock::new(|| {
    if shim().is_none() {
        eprintln!("skipped: the shim for MPI programs was not built, for lack of a C compiler");
        return Vec::new();
    }
    ["openmpi", "mpich"].into_iter().filter_map(Mpi::build).collect()
});

fn is_installed(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

impl Mpi {
    fn build(name: &'static str) -> Option<Self> {
        let (compiler, launcher) = (format!("mpicc.{name}"), format!("mpirun.{name}"));
        if !["make", &compiler, &launcher].into_iter().all(is_installed) {
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("phold-{name}"));
        fs::create_dir_all(&folder).expect("cargo's folder can be written to");
        let mut make = Command::new("make");
        make.args(["-B", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/mpi")]);
        make.arg(format!("MPICC={compiler}")).arg(format!("OUT={}", folder.display()));
        let output = make.output().expect("make starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        Some(Self { name, launcher, program: folder.join("phold") })
    }

    /// The command that runs `program` with so many ranks for at most `limit` seconds.
    fn words<'a>(
        &'a self,
        limit: &'a str,
        ranks: &'a str,
        mca: &[&'a str],
        program: &'a str,
    ) -> Vec<&'a str> {
        let mut words = vec!["timeout", limit, &self.launcher, "-n", ranks];
        if self.name == "openmpi" {
            words.extend(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
            words.extend(mca);
        }
        words.push(program);
        words
    }

    fn program(&self) -> &str {
        self.program.to_str().expect("cargo's folder is UTF-8")
    }

    /// `phold` without paceline.
    fn unpaced(&self, limit: &str, ranks: &str, mca: &[&str], options: &[&str]) -> Output {
        let words = self.words(limit, ranks, mca, self.program());
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(options);
        clean(&mut command).output().expect("there is a `timeout`")
    }

    /// `phold` with 16 ranks under `paceline pace`, about to be started.
    fn paced(&self, limit: &str, settings: &[&str], options: &[&str]) -> Command {
        let mut words = self.words(limit, RANKS, &[], self.program());
        words.extend(options);
        let mut command = pace(settings, &words);
        clean(&mut command).stdout(Stdio::piped());
        command
    }

    /// The checksum of the same events computed by two ranks, which have a core each. Null messages go to
    /// neighbours, so that they need the same number of ranks.
    fn checksum(&self, options: &[&str]) -> String {
        let ranks = if options.contains(&"null-messages") { RANKS } else { "2" };
        let output = self.unpaced(LIMIT, ranks, &[], options);
        assert!(output.status.success(), "{} {options:?}: {}", self.name, text(&output.stderr));
        result(&text(&output.stdout), "checksum").expect("phold prints its checksum").to_owned()
    }

    /// What a program that prints its environment prints under `paceline pace`, and what is said on stderr.
    fn environment(&self, settings: &[&str], mca: &[&str]) -> (String, String) {
        let words = self.words(LIMIT, "2", mca, "env");
        let output = clean(&mut pace(settings, &words)).stdout(Stdio::piped()).output().expect("it starts");
        assert!(output.status.success(), "{}: {}", self.name, text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    }
}

/// Removes from the environment what paceline sets, in case that the tests run under paceline themselves.
fn clean(command: &mut Command) -> &mut Command {
    for name in [ENV, ROOM_ENV, "LD_PRELOAD", "OMPI_MCA_mpi_yield_when_idle"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value of a result that `phold` has printed.
fn result<'a>(printed: &'a str, name: &str) -> Option<&'a str> {
    printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

/// Processes with this mark in their environment.
fn marked(mark: &str) -> Vec<Process> {
    let has_mark = |process: &Process| {
        let is_running = process.stat().is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'));
        let value = process.environ().ok().and_then(|mut variables| variables.remove(OsStr::new(MARK)));
        is_running && value.is_some_and(|value| value == *mark)
    };
    all_processes().expect("there is /proc").flatten().filter(has_mark).collect()
}

/// The marked processes that are ranks, and not the launcher's.
fn ranks(mark: &str) -> Vec<Process> {
    let is_rank = |process: &Process| process.stat().is_ok_and(|stat| stat.comm == "phold");
    marked(mark).into_iter().filter(is_rank).collect()
}

/// The slots of the page that the marked ranks publish on; none as long as there is none.
fn slots(mark: &str) -> Vec<SlotView> {
    let variables = ranks(mark).first().and_then(|rank| rank.environ().ok());
    let path = variables.and_then(|mut variables| variables.remove(OsStr::new(ENV)));
    path.and_then(|path| Page::open(path).ok()?.slots().ok()).unwrap_or_default()
}

/// Waits until all 16 ranks have said that they yield, and one is seen waiting in the library.
fn wait_until_seen(mark: &str, name: &str) {
    let mut has_waited = false;
    wait_until("16 ranks are on the page, and one waits", || {
        let slots = slots(mark);
        has_waited |= slots.iter().any(|slot| slot.library & LIBRARY_WAITING != 0);
        let yields = |slot: &&SlotView| slot.yields() && slot.name.to_string().starts_with(name);
        has_waited && slots.iter().filter(yields).count() == 16
    });
}

#[test]
fn checksums_are_the_same_with_and_without_pacing() {
    let _turn = any_turn();
    for mpi in &*INSTALLED {
        for options in [
            &["--sync", "windows", "--until", "30"][..],
            &["--sync", "optimistic-like", "--until", "30", "--lvt", "no"],
            &["--sync", "windows", "--until", "30", "--threads", "yes"],
            &["--sync", "null-messages", "--until", "10"],
        ] {
            let output = mpi.paced(LIMIT, &[], options).output().expect("it starts");
            assert!(output.status.success(), "{} {options:?}: {}", mpi.name, text(&output.stderr));
            let printed = text(&output.stdout);
            let checksum = mpi.checksum(options);
            assert_eq!(result(&printed, "checksum"), Some(&*checksum), "{} {options:?}", mpi.name);
            assert_eq!(result(&printed, "ranks"), Some(RANKS));
        }
    }
}

#[test]
fn who_waits_is_seen_on_the_page_with_and_without_an_lvt() {
    let _turn = any_turn();
    for mpi in &*INSTALLED {
        for (lvt, name) in [("yes", "phold "), ("no", "rank ")] {
            let mark = format!("seen-{}-{lvt}", mpi.name);
            let options = [&LONG[..], &["--lvt", lvt]].concat();
            let mut command = mpi.paced(LIMIT, &[], &options);
            command.env(MARK, &mark).stdout(Stdio::null());
            let running = Running::start(command);
            wait_until_seen(&mark, name);
            end(running, &mark);
        }
    }
}

/// Ends a run that goes on too long, as a user would, and waits until all of it is gone.
fn end(running: Running, mark: &str) {
    send(running.pid(), "TERM");
    let (status, message) = running.ended();
    assert!(!status.success(), "{message}");
    wait_until("all its processes have ended", || marked(mark).is_empty());
}

#[test]
fn notes_say_what_is_set_and_off_sets_nothing() {
    let _turn = any_turn();
    for mpi in &*INSTALLED {
        let (set, message) = mpi.environment(&[], &[]);
        assert!(set.contains("LD_PRELOAD=/proc/") && set.contains(ROOM_ENV), "{}: {set}", mpi.name);
        let is_openmpi = mpi.name == "openmpi";
        let note = if is_openmpi { "mpi_yield_when_idle is set to 1" } else { "MPICH, which never yields" };
        assert!(
            message.contains("paceline: MPI ranks that wait give their core away") && message.contains(note),
            "{message}"
        );
        if is_openmpi {
            assert!(set.contains("OMPI_MCA_mpi_yield_when_idle=1"), "{set}");
            let (set, message) = mpi.environment(&[], &["--mca", "mpi_yield_when_idle", "0"]);
            assert!(set.contains("OMPI_MCA_mpi_yield_when_idle=0"), "{set}");
            assert!(
                message.contains("ranks keep their core while they wait: mpi_yield_when_idle is 0"),
                "{message}"
            );
            let (_, message) = mpi.environment(&[], &["--mca", "mpi_yield_when_idle", "1"]);
            assert!(
                message.contains("give their core away; mpi_yield_when_idle is 1, as you have set it"),
                "{message}"
            );
        }
        let (set, message) = mpi.environment(&["--mpi", "off"], &[]);
        assert!(!set.contains("LD_PRELOAD") && !set.contains(ROOM_ENV), "{}: {set}", mpi.name);
        assert!(set.contains("PACELINE_LVT=") != message.contains("nothing is paced"), "{message}: {set}");
        assert!(!message.contains("MPI ranks") && !set.contains("LD_PRELOAD"), "{message}");
    }
}

#[test]
fn a_static_program_is_said_to_run_without_the_shim() {
    let _turn = any_turn();
    let folder = tempfile::tempdir().expect("there can be folders");
    let (source, program) = (folder.path().join("hello.c"), folder.path().join("hello"));
    fs::write(&source, "int main(void) { return 0; }").expect("files can be written");
    let built = Command::new("cc").arg("-static").arg("-o").arg(&program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: `cc -static` does not work here");
        return;
    }
    for mpi in &*INSTALLED {
        let words = mpi.words(LIMIT, "2", &[], program.to_str().expect("UTF-8"));
        let output = clean(&mut pace(&[], &words)).output().expect("it starts");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}: {message}", mpi.name);
        assert!(message.contains("hello is linked statically, so the shim"), "{}: {message}", mpi.name);
    }
}

#[test]
fn a_bad_choice_is_refused_with_what_is_allowed() {
    let output = pace(&["--mpi", "perhaps"], &["true"]).output().expect("the program starts");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("perhaps") && message.contains("auto, on, off"), "{message}");
}
