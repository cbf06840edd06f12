//! From tables `[[guest]]` to guests that stand at simulated time zero.
//!
//! Guests that boot the packed image start where it sleeps after its boot: it is booted once for each kind of
//! machine, as a template whose memory they share (`boots`).
//!
//! Invariant: a guest stands at simulated time zero with the same state, whatever other guests there are of
//! its kind.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use paceline_engine::Outside;
use paceline_kernel::{LpId, Model as _, Time};
use paceline_packets::{Packets, Stations};
use paceline_scenario::ScenarioError;
use tempfile::TempDir;

use super::boots::{self, Boot};
use super::{Emulation, Place};
use crate::guest::{Card, Emulator, Guest, GuestError, GuestSettings, GuestState};
use crate::image::settings::GuestSpec;
use crate::image::{Archive, ArchiveError, Content, READY, SETUP, SetupCard, Sources};
use crate::run::placed::{Clock, Failures, Parts, Placed, Seen};
use crate::run::{self, Machine, MachineState, ResumeError, SavedMachines, Stopped, Terms};

const MS: u64 = 1_000_000;
/// How long a boot may take, in nanoseconds of the guest's clock.
const BOOT_LIMIT: u64 = 60_000 * MS;

/// Why guests do not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// One of them does not.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The packed image has not come as far as it must.
    #[error("the image {how}; its console ends:\n{console}")]
    Boot {
        /// What it did instead.
        how: &'static str,
        /// The last lines of its console.
        console: String,
    },
    /// A file cannot be written.
    #[error("files of guests cannot be written: {0}")]
    Folder(#[from] io::Error),
    /// The machines of a checkpoint cannot go on.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The run was to end before it began.
    #[error("stopped before the guests had started")]
    Stopped,
}

/// What makes two guests one kind of machine: memory in MiB, VCPUs, speed, and the MTUs of its cards.
type Kind = (u32, u32, u32, Vec<u16>);

/// What is being done before guests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    /// A guest boots the image, since no boot of it is kept.
    Boot {
        /// How far its clock has come, in nanoseconds.
        clock_ns: u64,
    },
    /// All guests start from the boot.
    Guests,
}

/// An emulation whose image is packed.
#[derive(Debug)]
pub struct Ready {
    pub(super) emulator: Emulator,
    /// Nothing if every guest has an image of its own.
    pub(super) image: Option<Vec<u8>>,
    /// What states of guests fit.
    pub(super) parts: Arc<Parts>,
}

/// Guests that stand at simulated time zero, to be run.
pub struct Started {
    /// By guest: its node, and the machine.
    pub machines: Vec<(u32, Box<dyn Machine>)>,
    /// What is seen of them.
    pub watched: Watched,
    /// The checkpoint that they go on from.
    pub(super) saved: Option<SavedMachines>,
}

/// What is seen of guests while they run, and what they leave behind.
#[derive(Clone)]
pub struct Watched {
    /// By guest: its name, and what is seen of it.
    pub guests: Vec<(String, Arc<Seen>)>,
    pub(super) folder: Arc<TempDir>,
}

/// What guests leave behind.
#[derive(Debug, Default)]
pub struct LeftBehind {
    /// Files with their names.
    pub files: Vec<(String, Vec<u8>)>,
    /// Guests whose archive of what they send back is not whole, and what is wrong with it.
    pub damaged: Vec<(String, ArchiveError)>,
}

impl Emulation {
    /// Packs the image that guests boot.
    ///
    /// # Errors
    ///
    /// A program, a package or a file cannot be packed: the error at its key.
    pub fn pack(&self, emulator: Emulator) -> Result<Ready, ScenarioError> {
        let is_packed = self.guests.guests.iter().any(|guest| guest.own.is_none());
        let pack = || self.guests.pack(&Sources::of(&emulator)).map(|archive| archive.to_bytes());
        let image = is_packed.then(pack).transpose()?;
        let parts = Arc::new(Parts::new(emulator.named_parts(), image.as_deref()));
        Ok(Ready { emulator, image, parts })
    }

    /// Boots the image, and starts all guests from there. `seed` is that of the run; `goes_on` is asked from
    /// time to time whether to go on.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn start(
        &self,
        ready: &Ready,
        seed: u64,
        failures: &Failures,
        goes_on: &dyn Fn(Starting) -> bool,
    ) -> Result<Started, StartError> {
        let folder = tempfile::Builder::new().prefix("paceline-emulate-").tempdir()?;
        let boots = self.boot(ready, folder.path(), goes_on)?;
        if !goes_on(Starting::Guests) {
            return Err(StartError::Stopped);
        }
        let hosts = self.hosts();
        let mut guests = Vec::new();
        for (guest, places) in self.guests.guests.iter().zip(&self.places) {
            let boot = guest.own.is_none().then(|| &boots[&kind(guest)]);
            let clock = Clock {
                origin_ns: boot.map_or(0, |boot| boot.clock_ns),
                over: guest.time_scale.over,
                under: guest.time_scale.under,
            };
            let mut settings =
                settings_in_place((guest, places), ready, folder.path(), (seed, &hosts), clock);
            settings.load = boot.map(|boot| boot.template.clone());
            // All are started before one is waited for: they load side by side.
            guests.push((Guest::start(&settings, &ready.emulator)?, clock));
        }
        let started = self.place(guests, failures, folder, &ready.parts)?;
        ready.remove_image(started.watched.folder());
        Ok(started)
    }

    /// Waits until all guests stand, and puts each into its place.
    fn place(
        &self,
        guests: Vec<(Guest, Clock)>,
        failures: &Failures,
        folder: TempDir,
        parts: &Arc<Parts>,
    ) -> Result<Started, StartError> {
        let mut machines: Vec<(u32, Box<dyn Machine>)> = Vec::new();
        let mut watched = Watched::of(folder);
        for ((mut guest, clock), cards) in guests.into_iter().zip(&self.places) {
            let stopped = guest.wait()?;
            let (time_ns, next_ns) = (stopped.time_ns, stopped.next_ns);
            let first = Stopped { time_ns, frames: Vec::new(), next_ns, state: MachineState::Standing };
            let seen = (watched.watch(guest.name(), cards), failures.clone());
            let macs = cards.iter().map(|place| place.mac).collect();
            let placed = Placed::new(Box::new(guest), first, (clock, macs), seen, parts.clone())?;
            machines.push((cards[0].node, Box::new(placed)));
        }
        Ok(Started { machines, watched, saved: None })
    }

    /// Names of guests with their addresses; those of further cards have the card behind them.
    pub(super) fn hosts(&self) -> Vec<(String, Ipv4Addr)> {
        let guests = self.guests.guests.iter().zip(&self.places);
        let named = guests.flat_map(|(guest, cards)| {
            let name =
                |card| if card == 0 { guest.name.clone() } else { format!("{}-eth{card}", guest.name) };
            cards.iter().enumerate().map(move |(card, place)| (name(card), place.address.ip))
        });
        named.collect()
    }

    /// Boots the packed image once for each kind of machine, unless such a boot is kept.
    fn boot(
        &self,
        ready: &Ready,
        folder: &Path,
        goes_on: &dyn Fn(Starting) -> bool,
    ) -> Result<BTreeMap<Kind, Boot>, StartError> {
        let mut boots = BTreeMap::new();
        let Some(image) = &ready.image else { return Ok(boots) };
        ready.write_image(folder)?;
        for guest in self.guests.guests.iter().filter(|guest| guest.own.is_none()) {
            if let Entry::Vacant(entry) = boots.entry(kind(guest)) {
                let kept = boots::Place::new(&ready.emulator, image, entry.key(), folder);
                entry.insert(kept.boot(|template| {
                    let settings = boot_settings(guest, ready, folder, template);
                    boot(&settings, &ready.emulator, goes_on)
                })?);
            }
        }
        Ok(boots)
    }
}

/// What a guest is with its cards in their places, from where it boots; `hosts` are all guests with their
/// addresses.
pub(super) fn settings_in_place(
    (guest, places): (&GuestSpec, &[Place]),
    ready: &Ready,
    folder: &Path,
    (seed, hosts): (u64, &[(String, Ipv4Addr)]),
    clock: Clock,
) -> GuestSettings {
    let mut settings = settings(guest, ready, folder);
    settings.seed = seed;
    let cards = || places.iter().zip(&guest.cards);
    settings.cards = cards().map(|(place, card)| Card { mac: place.mac, mtu: card.mtu }).collect();
    if guest.own.is_none() {
        let at = |time: Time| clock.machine_ns(time.as_nanos());
        let setup_cards = cards().map(|(place, card)| place.card(card.mtu)).collect();
        let setup = guest.setup(setup_cards, hosts.to_vec(), seed, &at);
        settings.texts = vec![(SETUP.into(), setup.text())];
    }
    settings
}

pub(super) fn image_in(folder: &Path) -> PathBuf {
    folder.join("image")
}

fn kind(guest: &GuestSpec) -> Kind {
    let mtus = guest.cards.iter().map(|card| card.mtu).collect();
    (guest.memory_mib, guest.vcpus, guest.icount_shift, mtus)
}

/// What a guest is, but for its card and where it starts.
fn settings(guest: &GuestSpec, ready: &Ready, folder: &Path) -> GuestSettings {
    let kernel = guest.own.as_ref().and_then(|own| own.kernel.clone());
    let kernel = kernel.unwrap_or_else(|| ready.emulator.kernel());
    let mut settings = GuestSettings::new(&guest.name, kernel, console_in(folder, &guest.name));
    settings.memory_mib = guest.memory_mib;
    settings.vcpus = guest.vcpus;
    settings.icount_shift = guest.icount_shift;
    settings.initramfs = Some(guest.own.as_ref().map_or_else(|| image_in(folder), |own| own.image.clone()));
    settings.second_line = Some(sent_in(folder, &guest.name));
    if let Some(command_line) = guest.own.as_ref().and_then(|own| own.command_line.clone()) {
        settings.command_line = command_line;
    }
    settings
}

fn boot_settings(guest: &GuestSpec, ready: &Ready, folder: &Path, template: &Path) -> GuestSettings {
    let mut boot = settings(guest, ready, folder);
    boot.name = "boot".into();
    boot.console = console_in(folder, "boot of the image");
    boot.second_line = None;
    boot.template = Some(template.to_owned());
    let cards = (1..).zip(&guest.cards);
    boot.cards =
        cards.map(|(number, card)| Card { mac: [0x52, 0x54, 0, 0, 0, number], mtu: card.mtu }).collect();
    boot.texts = vec![(SETUP.into(), "unused".into())];
    boot
}

/// Boots to where guests are saved, and saves a template. Gives the clock there.
fn boot(
    settings: &GuestSettings,
    emulator: &Emulator,
    goes_on: &dyn Fn(Starting) -> bool,
) -> Result<u64, StartError> {
    let console = || String::from_utf8_lossy(&fs::read(&settings.console).unwrap_or_default()).into_owned();
    let failed = |how| {
        let text = console();
        let lines: Vec<&str> = text.lines().collect();
        let console = lines[lines.len().saturating_sub(10)..].join("\n");
        Err(StartError::Boot { how, console })
    };
    let mut guest = Guest::start(settings, emulator)?;
    let mut stopped = guest.wait()?;
    while !console().contains(READY) {
        if !goes_on(Starting::Boot { clock_ns: stopped.time_ns }) {
            return Err(StartError::Stopped);
        }
        match stopped.state {
            GuestState::Standing if stopped.time_ns < BOOT_LIMIT => {}
            GuestState::Standing => return failed("has not booted within a minute of its clock"),
            GuestState::ShutDown => return failed("has switched itself off in its boot"),
            GuestState::Reset => return failed("has reset itself in its boot"),
            GuestState::Crashed => return failed("has crashed in its boot"),
        }
        guest.grant(stopped.time_ns + 100 * MS, &[])?;
        stopped = guest.wait()?;
    }
    guest.save_template()?;
    Ok(stopped.time_ns)
}

fn console_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

fn sent_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sent"))
}

impl Place {
    fn card(&self, mtu: u16) -> SetupCard {
        let gateway = self.gateway.filter(|_| self.address.prefix == 32);
        let neighbours = gateway.map(|gateway| (gateway, Stations::ethernet_address(gateway)));
        SetupCard {
            mac: self.mac,
            mtu,
            address: self.address.ip,
            prefix: self.address.prefix,
            gateway: self.gateway,
            neighbours: neighbours.into_iter().collect(),
        }
    }
}

impl Started {
    /// The guests as outside federates of a run of `emulation` with so many federates, with their numbers.
    ///
    /// # Errors
    ///
    /// The thread that they share cannot be started, or they are not those of the checkpoint that they go on
    /// from.
    pub fn federates(
        self,
        emulation: &Emulation,
        federates: u32,
        terms: Terms,
    ) -> Result<Vec<(u32, Outside<Packets>)>, ResumeError> {
        let partition = emulation.model.partition(federates);
        let (model, machines) = (&emulation.model, self.machines);
        let guests = match &self.saved {
            None => run::federates(model, machines, terms).map_err(ResumeError::Thread)?,
            Some(saved) => run::resumed(model, machines, terms, saved)?,
        };
        let numbers = emulation.nodes().map(|node| partition.place(LpId(node)).0);
        Ok(numbers.zip(guests.into_iter().map(Outside::new)).collect())
    }
}

impl Watched {
    /// The round trips of ICMP echoes of all guests, in the order in which the requests left, by guest where
    /// they left at once; nothing for those without a reply. In nanoseconds.
    #[must_use]
    pub fn round_trips(&self) -> Vec<Option<u64>> {
        let mut all = Vec::new();
        for (number, (_, seen)) in self.guests.iter().enumerate() {
            let echoes = seen.echoes.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(echoes.all().iter().map(|(left, round_trip)| (*left, number, *round_trip)));
        }
        // Stable: requests of one guest stay in their order.
        all.sort_by_key(|(left, number, _)| (*left, *number));
        all.into_iter().map(|(_, _, round_trip)| round_trip).collect()
    }

    /// The console of each guest as `NAME.log`, and what it has sent back in a folder `NAME`. An archive that
    /// is not whole, as of a guest whose time has ended while it wrote, is named with what is wrong with it.
    #[must_use]
    pub fn files(&self) -> LeftBehind {
        let LeftBehind { mut files, mut damaged } = LeftBehind::default();
        let read = |path: PathBuf| fs::read(path).unwrap_or_default();
        for (name, _) in &self.guests {
            files.push((format!("{name}.log"), read(console_in(self.folder.path(), name))));
            let sent = read(sent_in(self.folder.path(), name));
            if sent.is_empty() {
                continue;
            }
            match Archive::from_bytes(&sent) {
                Err(error) => damaged.push((name.clone(), error)),
                Ok(archive) => {
                    for (path, entry) in archive.iter() {
                        if let Content::File(bytes) = &entry.content {
                            files.push((format!("{name}/{path}"), bytes.clone()));
                        }
                    }
                }
            }
        }
        LeftBehind { files, damaged }
    }
}
