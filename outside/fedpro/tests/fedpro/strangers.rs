//! Programs of others that join: two of Pitch's Chat samples, which nobody types into.
//!
//! `PACELINE_CHAT_JARS` names a folder with the jars of the client library, of what it needs and of the
//! sample, `PACELINE_CHAT_FOMS` the folder with the sample's module, and `PACELINE_CHAT_CLASS` its class. For
//! the sample in C++ `PACELINE_CHAT_CPP` names the program, and `PACELINE_CHAT_CPP_FOMS` the folder.

use std::env::var;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use paceline_fedpro::Outside;

use crate::running::Running;

mod example;
mod mak;
mod portico;
mod steps;

/// How long a sample may take for anything; a virtual machine starts slowly on a busy one.
const PATIENCE: Duration = Duration::from_secs(120);

/// The system, with modules from one folder.
struct Machine {
    foms: String,
    drawn: u64,
}

impl Outside for Machine {
    fn random(&mut self) -> u64 {
        // Nobody is here who would guess it.
        self.drawn += 1;
        self.drawn
    }

    fn module(&mut self, name: &str) -> Option<Bytes> {
        let name = name.rsplit('/').next()?;
        std::fs::read(format!("{}/{name}", self.foms)).ok().map(Bytes::from)
    }

    fn log(&mut self, line: &str) {
        eprintln!("{line}");
    }
}

/// A sample with somebody who types.
struct Chat {
    child: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

impl Chat {
    fn start(mut program: Command) -> Self {
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().expect("there is such a program");
        let (keyboard, mut output) =
            (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (sender, screen) = channel();
        // Prompts have no end of line, so that no line can be waited for.
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(size @ 1..) = output.read(&mut chunk) {
                if sender.send(chunk[..size].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, shown: String::new() }
    }

    /// Waits for a text. Callbacks are shown by a thread of their own, so that the order of two texts is
    /// open.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            if self.shown.contains(text) {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            let Ok(more) = self.screen.recv_timeout(left) else {
                panic!("it does not show {text:?}, but {:?}", self.shown);
            };
            self.shown.push_str(&String::from_utf8_lossy(&more));
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").expect("it reads");
    }

    #[track_caller]
    fn assert_success(&mut self) {
        assert!(self.child.wait().expect("it ends").success(), "{}", self.shown);
    }

    #[track_caller]
    fn leave(mut self) -> Self {
        self.type_line(".");
        // Some samples wait for another line before they end; others have ended by then.
        let _ = writeln!(self.keyboard);
        self.assert_success();
        self
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.child.kill();
    }
}

/// A class in a virtual machine for Java.
fn java(class_path: &str, class: &str) -> Command {
    let mut program = Command::new("java");
    program.args(["-XX:+UseSerialGC", "-cp", class_path, class]);
    program
}

fn chat(program: impl Fn() -> Command) {
    // Both subscribe before either has a name: not all samples ask for names that were told before.
    let [mut ann, mut bob] = [(); 2].map(|()| {
        let mut chat = Chat::start(program());
        chat.wait_for("Enter your name");
        chat
    });
    ann.type_line("Ann");
    ann.wait_for("Type messages");
    bob.type_line("Ann");
    bob.wait_for("Name already taken");
    bob.type_line("Bob");
    bob.wait_for("Type messages");
    bob.wait_for("Ann has joined");
    ann.wait_for("Bob has joined");
    ann.type_line("hello all");
    bob.wait_for("Ann: hello all");
    // Only the sample for HLA 4 has private messages; the other one shows the line to all.
    ann.type_line("Bob: only you");
    bob.wait_for("only you");
    // Whoever leaves destroys the federation if nobody else is there, which only one of them may do.
    drop(bob.leave());
    ann.wait_for("Bob has left");
    drop(ann.leave());
}

#[test]
fn two_samples_chat() {
    let [Ok(jars), Ok(foms), Ok(class)] =
        ["JARS", "FOMS", "CLASS"].map(|name| var(format!("PACELINE_CHAT_{name}")))
    else {
        eprintln!("skipped: PACELINE_CHAT_JARS, PACELINE_CHAT_FOMS and PACELINE_CHAT_CLASS name no sample");
        return;
    };
    two_chats(&foms, |address| {
        let mut program = java(&format!("{jars}/*"), &class);
        program.arg(address.to_string()).current_dir(&foms);
        program
    });
}

#[test]
fn two_samples_in_cpp_chat() {
    let [Ok(program), Ok(foms)] = ["", "_FOMS"].map(|name| var(format!("PACELINE_CHAT_CPP{name}"))) else {
        eprintln!("skipped: PACELINE_CHAT_CPP and PACELINE_CHAT_CPP_FOMS name no sample");
        return;
    };
    two_chats(&foms, |address| {
        let mut command = Command::new(&program);
        command.arg(address.to_string()).current_dir(&foms);
        command
    });
}

fn two_chats(foms: &str, program: impl Fn(SocketAddr) -> Command) {
    let server = Running::start(Machine { foms: foms.to_owned(), drawn: 0 });
    // The second time finds nothing that the first one has left.
    (0..2).for_each(|_| chat(|| program(server.address)));
    server.end();
}
