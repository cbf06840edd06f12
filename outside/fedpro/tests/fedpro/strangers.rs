//! Programs of others that join: two of Pitch's Chat samples, which nobody types into.
//!
//! `PACELINE_CHAT_JARS` names a folder with the jars of the client library, of what it needs and of the
//! samples for HLA 4 and HLA Evolved, `PACELINE_CHAT_FOMS` the folder with the samples' modules. For the
//! sample in C++ `PACELINE_CHAT_CPP` names the program, and `PACELINE_CHAT_CPP_FOMS` the folder.

use std::env::var;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use paceline_fedpro::{Carrier, Outside, tls_config};

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
    // Only the sample for HLA 4 has private messages; the others show the line to all.
    ann.type_line("Bob: only you");
    bob.wait_for("only you");
    // Whoever leaves destroys the federation if nobody else is there, which only one of them may do.
    drop(bob.leave());
    ann.wait_for("Bob has left");
    drop(ann.leave());
}

fn two_chats(server: Running, program: impl Fn(SocketAddr) -> Command) {
    // The second time finds nothing that the first one has left.
    (0..2).for_each(|_| chat(|| program(server.address)));
    server.end();
}

fn machine(foms: &str) -> Machine {
    Machine { foms: foms.to_owned(), drawn: 0 }
}

/// The folders with the jars and the modules of the samples in Java.
fn samples() -> Option<(String, String)> {
    let [Ok(jars), Ok(foms)] = ["JARS", "FOMS"].map(|name| var(format!("PACELINE_CHAT_{name}"))) else {
        eprintln!("skipped: PACELINE_CHAT_JARS and PACELINE_CHAT_FOMS name no samples");
        return None;
    };
    Some((jars, foms))
}

#[track_caller]
fn two_samples_chat(class: &str) {
    let Some((jars, foms)) = samples() else { return };
    two_chats(Running::start(machine(&foms)), |address| {
        let mut program = java(&format!("{jars}/*"), &format!("se.pitch.oss.{class}"));
        program.arg(address.to_string()).current_dir(&foms);
        program
    });
}

#[test]
fn two_samples_for_hla_4_chat() {
    two_samples_chat("chat1516_4.Chat");
}

#[test]
fn two_samples_for_hla_4_that_send_without_waiting_chat() {
    two_samples_chat("chat1516_4.AsyncChat");
}

#[test]
fn two_samples_for_hla_4_that_call_without_waiting_chat() {
    two_samples_chat("chat1516_4.AsyncChatAdvanced");
}

#[test]
fn two_samples_for_hla_evolved_chat() {
    two_samples_chat("chat1516e.Chat");
}

const TRUST_PASSWORD: &str = "no secret";

/// A store of trusted certificates, as virtual machines for Java read it.
fn trust(certificate: &Path) -> PathBuf {
    let store = certificate.with_extension("p12");
    let mut keytool = Command::new("keytool");
    keytool.args(["-importcert", "-noprompt", "-alias", "server", "-storetype", "PKCS12"]);
    keytool.args(["-storepass", TRUST_PASSWORD, "-keystore"]).arg(&store).arg("-file").arg(certificate);
    let output = keytool.output().expect("it comes with the virtual machine");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    store
}

/// Two samples chat by a protocol, which the client library takes from the virtual machine.
#[track_caller]
fn two_samples_chat_by(protocol: &str, carrier: Carrier, is_encrypted: bool) {
    let Some((jars, foms)) = samples() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, pair.cert.pem()).expect("it can be written");
    std::fs::write(&key, pair.signing_key.serialize_pem()).expect("it can be written");
    let tls = is_encrypted.then(|| tls_config(&certificate, &key).expect("they belong together"));
    let store = is_encrypted.then(|| trust(&certificate));
    two_chats(Running::listening(carrier, tls, machine(&foms)), |address| {
        let mut program = Command::new("java");
        program.args(["-XX:+UseSerialGC", "-cp", &format!("{jars}/*")]);
        program.arg(format!("-DFedPro.connect.protocol={protocol}"));
        if let Some(store) = &store {
            program.arg(format!("-Djavax.net.ssl.trustStore={}", store.display()));
            program.arg(format!("-Djavax.net.ssl.trustStorePassword={TRUST_PASSWORD}"));
        }
        // The certificate is for the name.
        program.args(["se.pitch.oss.chat1516_4.Chat", &format!("localhost:{}", address.port())]);
        program.current_dir(&foms);
        program
    });
}

#[test]
fn two_samples_chat_inside_tls() {
    two_samples_chat_by("tls", Carrier::Stream, true);
}

#[test]
fn two_samples_chat_by_web_socket() {
    two_samples_chat_by("websocket", Carrier::WebSocket, false);
}

#[test]
fn two_samples_chat_by_web_socket_inside_tls() {
    two_samples_chat_by("websocketsecure", Carrier::WebSocket, true);
}

#[test]
fn two_samples_in_cpp_chat() {
    let [Ok(program), Ok(foms)] = ["", "_FOMS"].map(|name| var(format!("PACELINE_CHAT_CPP{name}"))) else {
        eprintln!("skipped: PACELINE_CHAT_CPP and PACELINE_CHAT_CPP_FOMS name no sample");
        return;
    };
    two_chats(Running::start(machine(&foms)), |address| {
        let mut command = Command::new(&program);
        command.arg(address.to_string()).current_dir(&foms);
        command
    });
}
