//! The tables `[[guest]]` of a scenario: what guests are and what they run.
//!
//! `table` reads the keys of one guest. What it needs in the image is said by `contents_by_key`, and packed
//! by `image.rs`; `setup` makes what it gets at its start, `scenario/start.rs` what the emulator gets.
//!
//! Every mistake is refused at its place in the file: those that the tables show in [`Guests::read`], those
//! of programs and files in [`Guests::pack`].

mod date;
mod table;
mod values;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use paceline_kernel::Time;
use paceline_scenario::{Scenario, ScenarioError, Section};

use super::{Archive, Contents, ImageError, Setup, SetupCard, SetupScript, Sources, pack, quoted};
pub use date::Date;
pub use values::{Address, Mac, Ratio};

/// The most guests of a scenario.
const GUESTS_MAX: usize = 1_000;

/// A network card of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCard {
    /// The host of the network that the card is; without it, see [`GuestSpec::host`].
    pub host: Option<String>,
    /// Its address; without it, that of the host.
    pub address: Option<Address>,
    /// Its Ethernet address; without it, one that follows from the numbers of guest and card.
    pub mac: Option<Mac>,
    /// The most bytes of an IP packet.
    pub mtu: u16,
    /// Where packets for other networks go.
    pub gateway: Option<Ipv4Addr>,
}

/// Something that a guest runs at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The simulated time at which it starts; without it, once the guest's network is up.
    pub at: Option<Time>,
    /// Lines for a shell.
    pub text: String,
}

/// What a guest boots in place of the packed image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnImage {
    /// The archive that the kernel unpacks.
    pub image: PathBuf,
    /// The kernel; without it, the one of all guests.
    pub kernel: Option<PathBuf>,
    /// The whole command line of the kernel; without it, the one of all guests.
    pub command_line: Option<String>,
}

/// One guest, as its table says.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// Its name, which is also its host name.
    pub name: String,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// Its virtual CPUs.
    pub vcpus: u32,
    /// An instruction takes 2 to the power of this many nanoseconds of its clock.
    pub icount_shift: u32,
    /// How many seconds of its clock pass in a simulated second.
    pub time_scale: Ratio,
    /// What its calendar clocks show at the simulated time zero.
    pub date: Date,
    /// Its cards, at least one.
    pub cards: Vec<GuestCard>,
    /// Its own image; without it, the packed one.
    pub own: Option<OwnImage>,
    /// A program with its arguments.
    pub run: Vec<String>,
    /// What it runs in shells.
    pub scripts: Vec<Script>,
    /// The simulated time at which all that still runs in it is ended.
    pub stop: Option<Time>,
    /// Programs for its scripts.
    pub programs: Vec<String>,
    /// Packages that it has whole.
    pub packages: Vec<String>,
    /// TCP's congestion control.
    pub congestion_control: Option<String>,
    /// Whether it has addresses of IPv6.
    pub has_ipv6: bool,
    /// Files for it: the path in it, the file of this machine.
    pub files: Vec<(String, PathBuf)>,
    /// What it sends back at its end, beside all below `/out`.
    pub out: Vec<String>,
    section: Section,
}

/// All guests of a scenario.
#[derive(Clone, Debug)]
pub struct Guests {
    /// In the order of the file.
    pub guests: Vec<GuestSpec>,
}

impl Guests {
    /// Takes the tables `[[guest]]` out of a scenario.
    pub fn read(scenario: &mut Scenario) -> Result<Self, ScenarioError> {
        let sections = scenario.sections("guest")?;
        if sections.is_empty() {
            let nothing = scenario.section("guest")?;
            return Err(nothing.refuse("", "an emulation without guests", "at least one table [[guest]]"));
        }
        let mut guests: Vec<GuestSpec> = Vec::new();
        for section in sections {
            for guest in table::read(section)? {
                guest.check_against(&guests)?;
                guests.push(guest);
            }
        }
        Ok(Self { guests })
    }

    /// Packs the image that all guests boot that have none of their own.
    pub fn pack(&self, sources: &Sources) -> Result<Archive, ScenarioError> {
        let packed = || self.guests.iter().filter(|guest| guest.own.is_none());
        // Each key by itself first: a mistake is then one of its table.
        let mut all = Contents::default();
        let mut checked: Vec<Contents> = vec![all.clone()];
        for guest in packed() {
            for (key, contents) in guest.contents_by_key() {
                if !checked.contains(&contents) {
                    pack(sources, &contents).map_err(|error| guest.refuse(key, &error))?;
                    checked.push(contents.clone());
                }
                all.programs.extend(contents.programs);
                all.packages.extend(contents.packages);
                all.congestion_controls.extend(contents.congestion_controls);
            }
            let files = guest.files.iter();
            all.files.extend(files.map(|(path, file)| (guest.name.clone(), path.clone(), file.clone())));
        }
        let first = packed().next().unwrap_or(&self.guests[0]);
        let archive = pack(sources, &all).map_err(|error| first.refuse("run", &error))?;
        let least = archive.least_memory_mib();
        match packed().find(|guest| guest.memory_mib < least) {
            None => Ok(archive),
            Some(guest) => {
                let size = archive.size() >> 20;
                let problem = format!(
                    "guest {} has {} MiB, too little for an image of {size} MiB",
                    guest.name, guest.memory_mib
                );
                let allowed = format!(
                    "at least {least} MiB (\"{least}MiB\"): all guests boot one image with the programs of all"
                );
                Err(guest.section.refuse("memory", problem, allowed))
            }
        }
    }
}

impl GuestSpec {
    /// An error at a key of the guest's table.
    #[must_use]
    pub fn refuse_key(
        &self,
        key: &str,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> ScenarioError {
        self.section.refuse(key, problem, allowed)
    }

    /// The name of the host that a card is: without `host`, that of the guest, with `-eth1` and so on behind
    /// it for all cards but the first.
    #[must_use]
    pub fn host(&self, card: usize) -> String {
        let default = || if card == 0 { self.name.clone() } else { format!("{}-eth{card}", self.name) };
        self.cards[card].host.clone().unwrap_or_else(default)
    }

    fn refuse(&self, key: &str, error: &ImageError) -> ScenarioError {
        let problem = format!("guest {}: {error}", self.name);
        self.section.refuse(key, problem, error.allowed())
    }

    /// What the image must have for each key that asks for something; that files exist was checked before.
    fn contents_by_key(&self) -> [(&'static str, Contents); 4] {
        let run = self.run.first().cloned().into_iter().collect();
        let control = self.congestion_control.clone().into_iter().collect();
        [
            ("run", Contents { programs: run, ..Contents::default() }),
            ("programs", Contents { programs: self.programs.clone(), ..Contents::default() }),
            ("packages", Contents { packages: self.packages.clone(), ..Contents::default() }),
            ("congestion_control", Contents { congestion_controls: control, ..Contents::default() }),
        ]
    }

    /// Whether name and addresses are its own.
    fn check_against(&self, others: &[Self]) -> Result<(), ScenarioError> {
        if others.len() == GUESTS_MAX {
            let problem = format!("more than {GUESTS_MAX} guests");
            return Err(self.section.refuse("count", problem, format!("at most {GUESTS_MAX}")));
        }
        if others.iter().any(|other| other.name == self.name) {
            let problem = format!("a second guest {:?}", self.name);
            return Err(self.section.refuse("name", problem, "a name of its own for each"));
        }
        for (number, card) in self.cards.iter().enumerate() {
            let earlier = others.iter().flat_map(|other| other.cards.iter().map(|card| (&other.name, card)));
            let before = self.cards[..number].iter().map(|card| (&self.name, card));
            for (name, other) in earlier.chain(before) {
                let same_ip = card.address.zip(other.address).filter(|(a, b)| a.ip == b.ip);
                let same_mac = card.mac.filter(|mac| other.mac == Some(*mac));
                let (key, value) = match (same_ip, same_mac) {
                    (Some((address, _)), _) => ("address", address.ip.to_string()),
                    (None, Some(mac)) => ("mac", mac.to_string()),
                    (None, None) => continue,
                };
                let problem = format!("guests {name} and {} both have the {key} {value}", self.name);
                // Those of several cards stand in [[guest.cards]].
                let key = if self.section.has(key) { key } else { "cards" };
                return Err(self.section.refuse(key, problem, "an address of its own for each card"));
            }
        }
        Ok(())
    }

    /// The text by which the guest learns who it is. `cards` and `hosts` have the addresses that the network
    /// gave; `clock_ns` turns a simulated time into one of the guest's machine, in nanoseconds.
    #[must_use]
    pub fn setup(
        &self,
        cards: Vec<SetupCard>,
        hosts: Vec<(String, Ipv4Addr)>,
        seed: u64,
        clock_ns: &dyn Fn(Time) -> u64,
    ) -> Setup {
        let mut scripts: Vec<SetupScript> = Vec::new();
        for (number, script) in self.scripts.iter().enumerate() {
            let label = if self.scripts.len() == 1 { "script".into() } else { format!("script {number}") };
            scripts.push(SetupScript { label, at_ns: script.at.map(clock_ns), text: script.text.clone() });
        }
        if !self.run.is_empty() {
            let words: Vec<String> = self.run.iter().map(|word| quoted(word)).collect();
            let text = format!("exec {}\n", words.join(" "));
            scripts.push(SetupScript { label: "run".into(), at_ns: None, text });
        }
        let mut out = vec!["/out".to_owned()];
        out.extend(self.out.iter().cloned());
        Setup {
            name: self.name.clone(),
            seed: seed_bytes(seed, &self.name),
            epoch_ns: Some(self.date.ns.saturating_sub_unsigned(clock_ns(Time::ZERO))),
            cards,
            hosts,
            congestion_control: self.congestion_control.clone(),
            has_ipv6: self.has_ipv6,
            scripts,
            stop_ns: self.stop.map(clock_ns),
            out,
        }
    }
}

/// Different bytes for each seed and name: SplitMix64 from a hash of both (FNV-1a).
fn seed_bytes(seed: u64, name: &str) -> [u8; 32] {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut state = bytes.fold(0xcbf2_9ce4_8422_2325, fold);
    let mut out = [0; 32];
    for part in out.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
    }
    out
}
