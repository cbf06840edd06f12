//! Packs an image, boots it once, and starts guests from there.

use paceline_emulate::guest::{Card, Emulator, Guest, GuestSettings, GuestState};
use paceline_emulate::image::{
    Archive, Contents, DONE, READY, SETUP, Setup, SetupCard, SetupScript, Sources, pack,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

/// The emulator with what images are made of, or `None` with a word about why the test does nothing.
pub fn emulator() -> Option<Emulator> {
    let emulator = Emulator::find().inspect_err(|error| eprintln!("skipped: {error}")).ok()?;
    let probe = Sources::of(&emulator).probe;
    if !probe.exists() {
        eprintln!("skipped: there is no {}; run scripts/emulator", probe.display());
        return None;
    }
    Some(emulator)
}

/// What tests call the memory of a guest whose programs need no more.
pub const USUAL_MIB: u32 = 256;

/// Guests that have booted one image.
pub struct Booted {
    pub emulator: Emulator,
    memory_mib: u32,
    least_mib: u32,
    folder: PathBuf,
    image: PathBuf,
    snapshot: PathBuf,
    /// Their clock where they were saved, in nanoseconds.
    pub at_ns: u64,
}

/// What became of a guest.
pub struct Ended {
    pub console: String,
    pub sent: Vec<u8>,
    /// The lines of the console, each with the end of the grant in which it came, in nanoseconds.
    pub lines: Vec<(u64, String)>,
}

impl Ended {
    /// What a guest with these settings has left.
    pub fn of(settings: &GuestSettings) -> Self {
        let sent = settings.second_line.as_ref().and_then(|file| fs::read(file).ok()).unwrap_or_default();
        Self { console: console(settings), sent, lines: Vec::new() }
    }

    pub fn out(&self) -> Archive {
        Archive::from_bytes(&self.sent).unwrap()
    }
}

impl Booted {
    pub fn new(emulator: Emulator, test: &str, contents: &Contents) -> Self {
        Self::with_memory(emulator, test, contents, USUAL_MIB)
    }

    pub fn with_memory(emulator: Emulator, test: &str, contents: &Contents, memory_mib: u32) -> Self {
        let mut booted = Self::packed(emulator, test, contents, memory_mib);
        let boot = booted.boot(&booted.settings("boot", "unused"));
        let (mut guest, at_ns) = boot.unwrap_or_else(|console| panic!("it ended; console:\n{console}"));
        guest.save(&booted.snapshot).unwrap();
        booted.at_ns = at_ns;
        booted
    }

    /// What the console says of a guest with the least memory that ends as it boots, since its kernel's
    /// command line has no such option.
    pub fn without_option(emulator: Emulator, test: &str, contents: &Contents, option: &str) -> String {
        let mut booted = Self::packed(emulator, test, contents, u32::MAX);
        booted.memory_mib = booted.least_mib;
        let mut settings = booted.settings("boot", "unused");
        let whole = settings.command_line.len();
        settings.command_line = settings.command_line.replace(option, "");
        assert!(settings.command_line.len() < whole, "{option} is an option");
        booted.boot(&settings).err().expect("it has too little memory")
    }

    /// An image that has not been booted.
    fn packed(emulator: Emulator, test: &str, contents: &Contents, memory_mib: u32) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let image = folder.join("image");
        let packed = pack(&Sources::of(&emulator), contents).unwrap();
        let least_mib = packed.least_memory_mib();
        assert!(memory_mib >= least_mib, "{least_mib} MiB are needed");
        fs::write(&image, packed.to_bytes()).unwrap();
        let snapshot = folder.join("snapshot");
        Self { emulator, memory_mib, least_mib, folder, image, snapshot, at_ns: 0 }
    }

    /// The guest once it sleeps where it is to be saved, and its clock; or its console, if it has ended.
    fn boot(&self, settings: &GuestSettings) -> Result<(Guest, u64), String> {
        let mut guest = Guest::start(settings, &self.emulator).unwrap();
        let mut stopped = guest.wait().unwrap();
        while !console(settings).contains(READY) {
            if stopped.state != GuestState::Standing {
                return Err(console(settings));
            }
            assert!(stopped.time_ns < 60 * SECOND, "no boot; console:\n{}", console(settings));
            guest.grant(stopped.time_ns + 100 * MS, &[]).unwrap();
            stopped = guest.wait().unwrap();
        }
        Ok((guest, stopped.time_ns))
    }

    fn settings(&self, name: &str, text: &str) -> GuestSettings {
        let console = self.folder.join(format!("{name}.console"));
        let mut settings = GuestSettings::new(name, self.emulator.kernel(), console);
        settings.memory_mib = self.memory_mib;
        // These tests may run beside many others.
        settings.patience = Duration::from_secs(300);
        settings.initramfs = Some(self.image.clone());
        settings.cards = vec![Card { mac: [0x52, 0x54, 0, 0, 0, 1], mtu: 1500 }];
        settings.texts = vec![(SETUP.into(), text.into())];
        settings
    }

    /// A guest that runs one script once its network is up.
    pub fn setup(&self, name: &str, script: &str) -> Setup {
        Setup {
            name: name.into(),
            seed: [7; 32],
            cards: vec![SetupCard {
                mac: [0x52, 0x54, 0, 0, 0, 1],
                mtu: 1500,
                address: [10, 0, 0, 1].into(),
                prefix: 24,
                gateway: None,
                neighbours: vec![([10, 0, 0, 2].into(), [0x52, 0x54, 0, 0, 0, 2])],
            }],
            hosts: vec![(name.into(), [10, 0, 0, 1].into()), ("other".into(), [10, 0, 0, 2].into())],
            scripts: vec![SetupScript { label: "script".into(), at_ns: None, text: script.into() }],
            ..Setup::default()
        }
    }

    /// Runs a guest until it says that it is done, at most for 60 seconds of its time.
    pub fn run(&self, setup: &Setup) -> Ended {
        self.run_for(setup, 60 * SECOND)
    }

    /// The same, at most for this much of its time.
    pub fn run_for(&self, setup: &Setup, limit_ns: u64) -> Ended {
        let mut lines = Vec::new();
        let settings = self.loaded(&setup.name, setup);
        let mut guest = Guest::start(&settings, &self.emulator).unwrap();
        let mut stopped = guest.wait().unwrap();
        while !console(&settings).contains(DONE) {
            assert_eq!(stopped.state, GuestState::Standing, "{}", console(&settings));
            let next = stopped.next_ns.unwrap_or(u64::MAX);
            assert!(next < self.at_ns + limit_ns, "not done; console:\n{}", console(&settings));
            guest.grant(next.max(stopped.time_ns) + 20 * MS, &[]).unwrap();
            stopped = guest.wait().unwrap();
            let console = console(&settings);
            let whole = console.rfind('\n').map_or("", |end| &console[..end]);
            let new = whole.lines().skip(lines.len()).map(|line| line.trim_end().to_owned());
            lines.extend(new.map(|line| (stopped.time_ns, line)));
        }
        guest.end();
        Ended { lines, ..Ended::of(&settings) }
    }

    /// A guest that starts where all were saved; its files are called `name`.
    pub fn loaded(&self, name: &str, setup: &Setup) -> GuestSettings {
        let mut settings = self.settings(name, &setup.text());
        settings.load = Some(self.snapshot.clone());
        settings.second_line = Some(self.folder.join(format!("{name}.sent")));
        settings
    }
}

fn console(settings: &GuestSettings) -> String {
    String::from_utf8_lossy(&fs::read(&settings.console).unwrap_or_default()).into_owned()
}
