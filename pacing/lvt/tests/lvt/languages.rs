//! The C header and the Python module do what this crate does: programs that use them publish, and Rust
//! reads.
//!
//! The header must be C99 and C++11 without a warning. Skipped, with the reason, where a compiler or Python
//! lacks.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use paceline_lvt::layout::{DONE, LVT_MAX, SIMULATION, WAITING};
use paceline_lvt::{ENV, Error, Name, Page, Publisher};
use tempfile::TempDir;

const WARNINGS: [&str; 6] = ["-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-O2"];

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// The driver as a program, made by this compiler for this standard; `None` where there is no such compiler.
fn compiled(folder: &TempDir, compiler: &str, language: &str, standard: &str) -> Option<PathBuf> {
    if !is_there(compiler) {
        eprintln!("skipped: there is no {compiler}");
        return None;
    }
    let program = folder.path().join(format!("driver-{compiler}"));
    let made = Command::new(compiler)
        .args(["-x", language, standard])
        .args(WARNINGS)
        .arg("-I")
        .args([place("include"), place("tests/drivers/driver.c")])
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler can be started");
    assert!(made.status.success(), "{compiler} {standard}: {}", String::from_utf8_lossy(&made.stderr));
    Some(program)
}

/// The drivers that can be run here.
fn drivers(folder: &TempDir) -> Vec<Vec<PathBuf>> {
    let c = compiled(folder, "gcc", "c", "-std=c99");
    let cpp = compiled(folder, "g++", "c++", "-std=c++11");
    let clang = compiled(folder, "clang", "c", "-std=c99");
    let mut drivers: Vec<_> = [c, cpp, clang].into_iter().flatten().map(|program| vec![program]).collect();
    let probe = Command::new("python3").args(["-c", "import ctypes; ctypes.CDLL('libatomic.so.1')"]).output();
    if probe.is_ok_and(|probe| probe.status.success()) {
        drivers.push(vec!["python3".into(), place("tests/drivers/driver.py")]);
    } else {
        eprintln!("skipped: there is no python3 with libatomic");
    }
    drivers
}

/// A driver at work.
struct Driver {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts it with this page in its environment, or with none.
    fn start(command: &[PathBuf], page: Option<&Path>) -> Self {
        let mut started = Command::new(&command[0]);
        started
            .args(&command[1..])
            .env("PYTHONPATH", place("../../outside/python/python/paceline"))
            .env_remove(ENV);
        started.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(page) = page {
            started.env(ENV, page);
        }
        let mut process = started.spawn().expect("the driver can be started");
        let commands = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Self { process, commands, answers }
    }

    fn send(&mut self, command: &str) {
        self.commands.write_all(format!("{command}\n").as_bytes()).expect("the driver reads");
    }

    fn ask(&mut self, command: &str) -> String {
        self.send(command);
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the driver answers");
        answer.trim_end().to_owned()
    }

    #[track_caller]
    fn expect(&mut self, command: &str, answer: &str) {
        assert_eq!(self.ask(command), answer, "{command}");
    }

    /// Ends it without giving it the time to free its slot.
    fn kill(mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it can be waited for");
    }
}

/// LVT, flags and name of the only slot.
#[track_caller]
fn only_slot(page: &Page) -> (u64, u32, String) {
    let slots = page.slots().expect("the page is in order");
    assert_eq!(slots.len(), 1, "{slots:?}");
    assert!(!slots[0].owner().is_gone());
    (slots[0].lvt_ns, slots[0].flags, slots[0].name.to_string())
}

#[test]
fn what_other_languages_publish_rust_reads() {
    let folder = tempfile::tempdir().unwrap();
    for command in drivers(&folder) {
        let page = Page::create_sealed(3).unwrap();
        let mut driver = Driver::start(&command, Some(page.path()));
        driver.expect("publish 5", "ok");
        assert_eq!(page.slots().unwrap(), [], "nobody publishes before the slot is claimed");
        let long = "ein Name zu lang für Pläße";
        driver.expect(&format!("open {long}"), "present");
        assert_eq!(only_slot(&page), (0, SIMULATION, Name::new(long).to_string()));
        driver.expect("publish 1000", "ok");
        driver.expect("waiting 1", "ok");
        assert_eq!((only_slot(&page).0, only_slot(&page).1), (1_000, SIMULATION | WAITING));
        driver.expect("lookahead 100", "ok");
        for (published, seen) in [(1_100, 1_000), (1_101, 1_101), (1_100, 1_100), (u64::MAX - 1, LVT_MAX)] {
            driver.expect(&format!("publish {published}"), "ok");
            assert_eq!(only_slot(&page).0, seen);
        }
        driver.expect("backwards", "1");
        driver.expect("done", "ok");
        assert_eq!(only_slot(&page).0, DONE);
        driver.expect("publish 0", "ok");
        driver.expect("waiting 0", "ok");
        driver.expect("simulation 0", "ok");
        assert_eq!((only_slot(&page).0, only_slot(&page).1), (0, 0));
        driver.expect("close", "ok");
        assert_eq!(page.slots().unwrap(), []);
        driver.expect("publish 5", "ok");
        assert_eq!(page.slots().unwrap(), []);
        driver.kill();
    }
}

#[test]
fn children_and_new_programs_have_slots_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for command in drivers(&folder) {
        let page = Page::create_sealed(3).unwrap();
        let mut driver = Driver::start(&command, Some(page.path()));
        driver.expect("open parent", "present");
        driver.expect("publish 500", "ok");
        driver.expect("fork", "0");
        let slots = page.slots().unwrap();
        assert_eq!((slots[0].lvt_ns, slots[0].flags), (500, SIMULATION), "the child has left its parent's");
        assert_eq!((slots[1].lvt_ns, slots[1].name), (7, Name::new("child")));
        assert!(slots[1].owner().is_gone());
        assert_eq!(page.reclaim().unwrap(), 1);
        driver.send("exec");
        driver.expect("open program", "present");
        assert_eq!(only_slot(&page), (0, SIMULATION, "program".to_owned()), "the old program's slot");
        driver.kill();
        assert_eq!(page.reclaim().unwrap(), 1);
    }
}

#[test]
fn full_pages_have_room_again_once_owners_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    for command in drivers(&folder) {
        let page = Page::create_sealed(1).unwrap();
        let mine = Publisher::claim(&page, "mine").unwrap();
        let mut first = Driver::start(&command, Some(page.path()));
        assert!(first.ask("open first").ends_with("all slots are taken"));
        drop(mine);
        first.expect("open first", "present");
        first.kill();
        let mut second = Driver::start(&command, Some(page.path()));
        second.expect("open second", "present");
        assert_eq!(only_slot(&page).2, "second");
        assert!(matches!(Publisher::claim(&page, "mine"), Err(Error::Full { .. })));
        second.kill();
        assert!(Publisher::claim(&page, "mine").unwrap().is_present());
    }
}

#[test]
fn what_is_no_page_is_a_clear_error_and_the_program_runs_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let write = |bytes: &[u8], mode| {
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    };
    let page = |version: u32, slots: u32| {
        let words = [version, 64, slots].map(u32::to_ne_bytes).concat();
        let mut bytes = [b"PACELVT\0".as_slice(), &words].concat();
        bytes.resize(256, 0);
        bytes
    };
    for command in drivers(&folder) {
        let mut without = Driver::start(&command, None);
        without.expect("open nobody", "absent");
        without.expect("publish 5", "ok");
        without.kill();
        let mut driver = Driver::start(&command, Some(&path));
        let mut refused = |because: &str| {
            let answer = driver.ask("open nobody");
            assert!(answer.starts_with("error LVT page ") && answer.contains(because), "{answer}");
            driver.expect("publish 5", "ok");
            driver.expect("waiting 1", "ok");
        };
        let _ = fs::remove_file(&path);
        refused("No such file");
        write(&[0; 256], 0o600);
        refused("does not begin with PACELVT");
        write(&page(3, 3), 0o600);
        refused("another version");
        write(&page(2, 4), 0o600);
        refused("does not fit");
        write(&page(2, 3)[..250], 0o600);
        refused("size is wrong");
        write(&page(2, 3), 0o640);
        refused("mode is not 600");
        write(&page(2, 3), 0o600);
        driver.expect("open somebody", "present");
        driver.kill();
    }
}
