//! QEMU without the plugin, with the arguments that a guest of the same settings has.

use paceline_emulate::guest::{Emulator, Guest, GuestSettings};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

pub struct Alone {
    child: Child,
    monitor: BufReader<UnixStream>,
}

impl Alone {
    /// Loaded from the template of the settings, paused.
    pub fn load(settings: &GuestSettings, emulator: &Emulator) -> Self {
        let mut command = command(settings, emulator);
        let (monitor, end) = UnixStream::pair().unwrap();
        let child = command.stdin(Stdio::null()).stdout(OwnedFd::from(end)).spawn().unwrap();
        let mut alone = Self { child, monitor: BufReader::new(monitor) };
        alone.tell(r#"{"execute":"qmp_capabilities"}"#);
        let shared = r#"{"capability":"x-ignore-shared","state":true}"#;
        alone.tell(&format!(
            r#"{{"execute":"migrate-set-capabilities","arguments":{{"capabilities":[{shared}]}}}}"#
        ));
        let uri = format!("file:{}", settings.load.as_ref().unwrap().display());
        alone.tell(&format!(r#"{{"execute":"migrate-incoming","arguments":{{"uri":"{uri}"}}}}"#));
        // A machine that was saved paused is paused once it is loaded.
        while !alone.ask(r#"{"execute":"query-status"}"#).contains(r#""status": "paused""#) {}
        alone
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub fn go_on(&self) {
        let mut monitor = self.monitor.get_ref();
        monitor.write_all(b"{\"execute\":\"cont\"}\n").unwrap();
    }

    fn tell(&mut self, command: &str) {
        self.monitor.get_mut().write_all(format!("{command}\n").as_bytes()).unwrap();
    }

    /// The next line that answers a question; answers to commands are empty.
    fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        loop {
            let mut line = String::new();
            assert!(self.monitor.read_line(&mut line).unwrap() > 0, "the emulator has ended");
            if line.contains(r#""status": "#) {
                return line;
            }
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command of a guest that is started for this, with a card that leads nowhere instead of the plugin.
fn command(settings: &GuestSettings, emulator: &Emulator) -> Command {
    let mut guest = Guest::start(settings, emulator).unwrap();
    guest.wait().unwrap();
    let words = |file: &str| -> Vec<String> {
        let text = fs::read(format!("/proc/{}/{file}", guest.process_id())).unwrap();
        let words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
    };
    let mut arguments = words("cmdline");
    let plugin = arguments.iter().position(|word| word == "-plugin").unwrap();
    arguments.drain(plugin..plugin + 2);
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]);
    for number in 0..settings.cards.len() {
        command.args(["-netdev", &format!("hubport,id=n{number},hubid={number}")]);
    }
    for variable in words("environ") {
        if let Some(libraries) = variable.strip_prefix("LD_LIBRARY_PATH=") {
            command.env("LD_LIBRARY_PATH", libraries);
        }
    }
    command
}
