//! Programs of others that join: two of Pitch's Chat samples, which nobody types into.
//!
//! `PACELINE_CHAT_JARS` names a folder with the jars of the client library, of what it needs and of the
//! sample, `PACELINE_CHAT_FOMS` the folder with the sample's module, and `PACELINE_CHAT_CLASS` its class.

use std::env::var;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use paceline_fedpro::{Host, Outside, Server};

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
    fn start(jars: &str, foms: &str, class: &str, address: SocketAddr) -> Self {
        let mut program = Command::new("java");
        program.args(["-XX:+UseSerialGC", "-cp", &format!("{jars}/*"), class, &address.to_string()]);
        program.current_dir(foms).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().expect("there is a virtual machine for Java");
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
    fn leave(mut self) -> Self {
        self.type_line(".");
        assert!(self.child.wait().expect("it ends").success(), "{}", self.shown);
        self
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.child.kill();
    }
}

fn chat(jars: &str, foms: &str, class: &str, address: SocketAddr) {
    // Both subscribe before either has a name: not all samples ask for names that were told before.
    let [mut ann, mut bob] = [(); 2].map(|()| {
        let mut chat = Chat::start(jars, foms, class, address);
        chat.wait_for("Enter your name");
        chat
    });
    ann.type_line("Ann");
    ann.wait_for("Type messages");
    bob.type_line("Ann");
    bob.wait_for("Name already taken");
    bob.type_line("Bob");
    bob.wait_for("Type messages");
    bob.wait_for("[Ann has joined]");
    ann.wait_for("[Bob has joined]");
    ann.type_line("hello all");
    bob.wait_for("Ann: hello all");
    // Only the sample for HLA 4 has private messages; the other one shows the line to all.
    ann.type_line("Bob: only you");
    bob.wait_for("only you");
    // Whoever leaves destroys the federation if nobody else is there, which only one of them may do.
    drop(bob.leave());
    ann.wait_for("[Bob has left]");
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
    let host = Host::new(Machine { foms: foms.clone(), drawn: 0 }, Duration::from_secs(60));
    let mut server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0)), host).expect("a port is free");
    let (address, stopper) = (server.local_addr().expect("it listens"), server.stopper());
    let running = thread::spawn(move || server.run());
    // The second time finds nothing that the first one has left.
    (0..2).for_each(|_| chat(&jars, &foms, &class, address));
    stopper.stop().expect("it runs");
    running.join().expect("it does not panic").expect("it ends well");
}
