//! The shim for MPI programs: under Open MPI and MPICH, whichever is installed, programs compute the same
//! with it as without; they publish on the LVT page that they wait; and no wake-up is lost. What is not
//! installed is skipped, with the reason.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use paceline_lvt::Page;
use paceline_lvt::layout::LIBRARY_WAITING;
use paceline_pace::mpi::{ROOM_CELLS, ROOM_ENV, Room, shim};

const RANKS: &str = "4";
const KINDS: [&str; 11] = [
    "ping-pong",
    "token",
    "collectives",
    "polling",
    "rings",
    "large",
    "threads",
    "persistent",
    "nonblocking",
    "forking",
    "slow-polling",
];

/// A fresh folder for the files of a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim-{test}"));
    fs::create_dir_all(&folder).expect("cargo's folder can be written to");
    folder
}

/// The shim in a file; `None` if it was not built.
fn library(folder: &Path) -> Option<PathBuf> {
    let Some(bytes) = shim() else {
        eprintln!("skipped: built without a C compiler");
        return None;
    };
    let path = folder.join("libpaceline_mpi.so");
    fs::write(&path, bytes).expect("the folder can be written to");
    Some(path)
}

/// Compiles a source of `shim/tests`; `None` if there is no such compiler.
fn compiled(compiler: &str, source: &str, options: &[&str], to: PathBuf) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim/tests").join(source);
    match Command::new(compiler).args(["-O2", "-w", "-o"]).arg(&to).arg(source).args(options).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("skipped: {compiler}: {error}");
            return None;
        }
    }
    Some(to)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One of the two MPI libraries, with the test program built for it.
struct Mpi {
    name: &'static str,
    program: PathBuf,
}

impl Mpi {
    fn installed(folder: &Path) -> Vec<Self> {
        let build = |name| {
            let program = compiled(
                &format!("mpicc.{name}"),
                "program.c",
                &["-lpthread", "-ldl", "-rdynamic"],
                folder.join(name),
            )?;
            let launcher = format!("mpirun.{name}");
            let is_there = Command::new(&launcher).arg("--version").output().is_ok();
            is_there.then_some(Self { name, program }).or_else(|| {
                eprintln!("skipped: there is no {launcher}");
                None
            })
        };
        ["openmpi", "mpich"].into_iter().filter_map(build).collect()
    }

    /// Runs the program with these variables in the environment of its ranks; returns the line that it
    /// prints.
    fn run(&self, kind: &str, environment: &[(&str, &Path)]) -> String {
        let mut command = Command::new("timeout");
        command.args(["60", &format!("mpirun.{}", self.name), "-n", RANKS]);
        if self.name == "openmpi" {
            command.args(["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]);
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        command.env_remove("PACELINE_LVT").env_remove(ROOM_ENV).env_remove("LD_PRELOAD");
        command.args(["env"]);
        for (name, value) in environment {
            command.arg(format!("{name}={}", value.display()));
        }
        let Output { status, stdout, stderr } =
            command.arg(&self.program).arg(kind).output().expect("there is a `timeout`");
        assert!(status.success(), "{} {kind}: {status}\n{}{}", self.name, text(&stdout), text(&stderr));
        assert!(!text(&stderr).contains("paceline"), "{}", text(&stderr));
        text(&stdout)
    }
}

/// The sums over all cells of a room: rings, sleeps, and sleeps until the time limit.
fn counts(room: &Room) -> (u64, u64, u64) {
    let file = fs::File::open(room.path()).expect("the room is there");
    let mut sums = (0, 0, 0);
    for cell in 1..=u64::from(ROOM_CELLS) {
        let mut bytes = [0; 64];
        file.read_exact_at(&mut bytes, 64 * cell).expect("a room has its cells");
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((word(4), &bytes[8..24]), (0, &[0; 16][..]), "nobody sleeps, and the cell is free");
        sums = (sums.0 + u64::from(word(0)), sums.1 + u64::from(word(28)), sums.2 + u64::from(word(32)));
    }
    sums
}

#[test]
fn programs_compute_the_same_with_the_shim() {
    let folder = folder("same");
    let Some(library) = library(&folder) else { return };
    for mpi in Mpi::installed(&folder) {
        for kind in KINDS {
            let alone = mpi.run(kind, &[]);
            assert_eq!(alone.split_whitespace().count().to_string(), RANKS, "{} {kind}: {alone}", mpi.name);
            let room = Room::create().expect("memory files can be made");
            let page = Page::create_sealed(64).expect("memory files can be made");
            let environment: [(&str, &Path); 3] =
                [("LD_PRELOAD", &library), (ROOM_ENV, room.path()), ("PACELINE_LVT", page.path())];
            assert_eq!(mpi.run(kind, &environment), alone, "{} {kind}", mpi.name);
            let (rings, sleeps, limits) = counts(&room);
            println!("{} {kind}: {rings} rings, {sleeps} sleeps, {limits} until the limit", mpi.name);
            if kind == "token" {
                // The message pauses 120 times, and ranks that sleep meanwhile are rung, unless just then
                // they poll.
                assert!(rings > 100 && sleeps - limits > 100, "its sender wakes who waits for a message");
            }
            check_page(&page, mpi.name, kind);
        }
    }
}

/// Every rank has said that it yields, and what it has passed; none waits any longer.
fn check_page(page: &Page, mpi: &str, kind: &str) {
    let slots = page.slots().expect("the page is whole");
    let mut ranks: Vec<String> = slots.iter().map(|slot| slot.name.to_string()).collect();
    ranks.retain(|name| !name.ends_with("thread"));
    ranks.sort();
    assert_eq!(
        ranks,
        (0..RANKS.parse::<u32>().expect("a number")).map(|rank| format!("rank {rank}")).collect::<Vec<_>>(),
        "{mpi} {kind}"
    );
    for slot in &slots {
        assert!(slot.messages > 0 && slot.flags == 0, "{mpi} {kind}: {slot:?}");
        assert_eq!(slot.library & LIBRARY_WAITING, 0, "{mpi} {kind}: {slot:?}");
    }
}

#[test]
fn without_a_room_or_with_a_bad_one_programs_go_on() {
    let folder = folder("bad");
    let Some(library) = library(&folder) else { return };
    let file = folder.join("no-room");
    fs::write(&file, [7; 4096]).expect("the folder can be written to");
    let bad = [Path::new(""), Path::new("/nowhere"), &folder, &file];
    for mpi in Mpi::installed(&folder) {
        let alone = mpi.run("rings", &[]);
        for path in bad {
            let environment: [(&str, &Path); 3] =
                [("LD_PRELOAD", &library), (ROOM_ENV, path), ("PACELINE_LVT", path)];
            assert_eq!(mpi.run("rings", &environment), alone, "{} {}", mpi.name, path.display());
        }
    }
}

/// A program linked with a stand-in for an MPI library, which `options` describe; `None` if there is no
/// compiler.
fn stand_in(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    let source = folder.join("main.c");
    let main = "int MPI_Init(void *, void *), MPI_Finalize(void), MPI_Send(void *, int, int, int, int, int);\n\
        int main(void) { int sum = MPI_Init(0, 0); sum += MPI_Send(0, 1, 2, 3, 4, -1); return sum + MPI_Finalize(); }";
    fs::write(&source, main).expect("the folder can be written to");
    let options = [&["-shared", "-fPIC"], options].concat();
    let other = compiled("cc", "other.c", &options, folder.join("libother.so"))?;
    let other = other.display().to_string();
    compiled("cc", source.to_str().expect("UTF-8"), &[&other], folder.join("main"))
}

/// What such a program writes to stderr as this rank of a run whose note said that its ranks yield ("1"), or
/// do not.
fn said(program: &Path, library: &Path, rank: &str, yields: &str) -> String {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library).env("PMI_RANK", rank).env("PACELINE_MPI_YIELDS", yields);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(14), "its functions were called: {}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn another_library_is_left_alone_and_said() {
    let folder = folder("other");
    let Some(library) = library(&folder) else { return };
    let Some(program) = stand_in(&folder, &[]) else { return };
    let expected = "paceline: the MPI library is not supported by the shim (Other MPI 7); the pacer cannot see which ranks wait\n";
    assert_eq!(said(&program, &library, "0", "1"), expected);
    assert_eq!(said(&program, &library, "1", "1"), "");
}

#[test]
fn ranks_that_wait_otherwise_than_was_reported_are_said() {
    let folder = folder("keeping");
    let Some(library) = library(&folder) else { return };
    let setting = "-DSETTING=opal_progress_yield_when_idle";
    let older = "-DSETTING=ompi_mpi_yield_when_idle";
    let open_mpi = "-DVERSION=\"Open MPI v4.1.4, a stand-in\"";
    let mpich = "-DVERSION=\"MPICH Version:\\t4.0.2\"";
    let keeps = |reason: &str| {
        format!(
            "MPI ranks keep their core while they wait after all: {reason}; the pacer cannot see which ranks wait"
        )
    };
    let gives = "MPI ranks that wait give their core away after all: mpi_yield_when_idle is 1".to_owned();
    for (options, yields, line) in [
        (&[open_mpi, setting, "-DVALUE=0"][..], "1", Some(keeps("mpi_yield_when_idle is 0"))),
        (&[open_mpi, older, "-DVALUE=0"], "1", Some(keeps("mpi_yield_when_idle is 0"))),
        (&[open_mpi, setting, "-DVALUE=1"], "1", None),
        (&[open_mpi, setting, "-DVALUE=0"], "0", None),
        (&[open_mpi, setting, "-DVALUE=1"], "0", Some(gives)),
        (&[open_mpi], "1", None),
        (&[mpich], "1", Some(keeps("this MPICH does not use UCX"))),
        (&[mpich, "-DSETTING=ucp_worker_progress", "-DVALUE=1"], "1", None),
    ] {
        let Some(program) = stand_in(&folder, options) else { return };
        let line = line.map_or(String::new(), |line| format!("paceline: {line}\n"));
        assert_eq!(said(&program, &library, "0", yields), line, "{options:?} {yields}");
        assert_eq!(said(&program, &library, "1", yields), "", "{options:?} {yields}");
    }
}

#[test]
fn programs_without_mpi_notice_nothing() {
    let folder = folder("plain");
    let Some(library) = library(&folder) else { return };
    let mut command = Command::new("sh");
    let room = Room::create().expect("memory files can be made");
    command.args(["-c", "echo $(echo plain)"]).env("LD_PRELOAD", &library).env(ROOM_ENV, room.path());
    let output = command.output().expect("there is a shell");
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("plain\n", ""));
    assert_eq!(counts(&room), (0, 0, 0));
}

#[test]
fn no_wake_up_is_lost() {
    let folder = folder("bells");
    let Some(program) = compiled("cc", "bells.c", &["-lpthread"], folder.join("bells")) else { return };
    let output = Command::new("timeout").arg("60").arg(program).output().expect("there is a `timeout`");
    let line = text(&output.stdout);
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["sleeps", sleeps, "limits", limits] = words[..] else { panic!("{line} {}", output.status) };
    assert!(sleeps.parse::<u32>().is_ok_and(|sleeps| sleeps > 1000), "it does sleep: {line}");
    assert_eq!(limits, "0", "every sleeper was rung");
}
