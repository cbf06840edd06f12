//! What a guest is, and the emulator's arguments for it.

use super::emulator::Emulator;
use super::error::GuestError;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The kernel's command line unless a guest has another.
///
/// `panic=-1` ends a guest whose kernel panics at once. The time stamp counter is the virtual clock, so the
/// kernel may rely on it; and it has 1 GHz, where what the kernel measures at boot is some millionths off: a
/// guest lost 3 us a second. Addresses and first random numbers do not differ from boot to boot, and nothing
/// is done against processor flaws that an emulator does not have. The root folder, into which the kernel
/// unpacks the image, may take most of the memory: kernels before 6.18 do not know that option, and give it
/// half.
pub const COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable tsc_early_khz=1000000 pmtmr=0 \
     nokaslr mitigations=off random.trust_cpu=off initramfs_options=size=90%";

/// The plugin's limit.
const MOST_CARDS: usize = 8;

/// A network card of a guest.
#[derive(Clone, Debug)]
pub struct Card {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// The most bytes of data in a frame, from 68 (RFC 791) to 65,535.
    pub mtu: u16,
}

impl Card {
    /// Bytes of the longest frame that it takes: the header of Ethernet, a VLAN tag (IEEE 802.1Q) and the
    /// MTU.
    pub(super) fn longest_frame(&self) -> usize {
        14 + 4 + usize::from(self.mtu)
    }
}

/// What a guest is. Everything that it sees comes from here and from the frames that it is sent.
#[derive(Clone, Debug)]
pub struct GuestSettings {
    /// Its name in messages.
    pub name: String,
    /// Its memory in MiB, from 64.
    pub memory_mib: u32,
    /// Its virtual CPUs, from 1 to 16. They take turns on one clock: two that compute are each half as fast.
    pub vcpus: u32,
    /// An instruction takes 2 to the power of this many nanoseconds of virtual time, from 0 to 10.
    pub icount_shift: u32,
    /// Its network cards, at most 8.
    pub cards: Vec<Card>,
    /// The kernel, a bzImage or an ELF file.
    pub kernel: PathBuf,
    /// The archive that the kernel unpacks as its first root folder.
    pub initramfs: Option<PathBuf>,
    /// The kernel's command line.
    pub command_line: String,
    /// Texts that the guest finds by these names in `/sys/firmware/qemu_fw_cfg/by_name/`; they begin with
    /// `opt/`.
    pub texts: Vec<(String, String)>,
    /// A file of [`Guest::save`](super::Guest::save) or a template, to start from.
    pub load: Option<PathBuf>,
    /// Where this guest is to become a template, for [`Guest::save_template`](super::Guest::save_template):
    /// its memory is this file with `.memory` added to its name.
    pub template: Option<PathBuf>,
    /// Where what the guest writes to its first serial line goes.
    pub console: PathBuf,
    /// Where what the guest writes to its second serial line goes; nowhere without it. The line is there in
    /// any case, so that guests with and without it start from one snapshot.
    pub second_line: Option<PathBuf>,
    /// Whether what the guest writes goes behind what these two files hold, instead of into new ones: for one
    /// that goes on from a checkpoint.
    pub appends: bool,
    /// What the emulator's random numbers are drawn from.
    pub seed: u64,
    /// How long one grant may take in real time before the guest is given up. One whose emulator is at work
    /// then, and so has had too little of a core, gets as much CPU time more.
    pub patience: Duration,
    /// How many bytes of frames may leave its cards in one grant before the guest is given up: frames are in
    /// memory until the guest stands.
    pub most_bytes: u64,
    /// More arguments of the plugin, for its tests.
    pub plugin_arguments: Vec<String>,
}

impl GuestSettings {
    /// A guest with 128 MiB, one VCPU of one instruction a nanosecond, and no card.
    #[must_use]
    pub fn new(name: impl Into<String>, kernel: impl Into<PathBuf>, console: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            memory_mib: 128,
            vcpus: 1,
            icount_shift: 0,
            cards: Vec::new(),
            kernel: kernel.into(),
            initramfs: None,
            command_line: COMMAND_LINE.into(),
            texts: Vec::new(),
            load: None,
            template: None,
            console: console.into(),
            second_line: None,
            appends: false,
            seed: 0,
            patience: Duration::from_secs(60),
            most_bytes: 1 << 30,
            plugin_arguments: Vec::new(),
        }
    }

    /// The files to which what the guest writes goes: those that [`appends`](Self::appends) is about.
    #[must_use]
    pub fn logs(&self) -> Vec<PathBuf> {
        self.second_line.iter().chain([&self.console]).cloned().collect()
    }

    pub(super) fn start_error(&self, source: io::Error) -> GuestError {
        GuestError::Start { guest: self.name.clone(), source }
    }

    pub(super) fn check(&self) -> Result<(), GuestError> {
        let refuse = |reason: String| Err(GuestError::Setting { guest: self.name.clone(), reason });
        if self.memory_mib < 64 {
            return refuse(format!("memory of {} MiB; at least 64 are allowed", self.memory_mib));
        }
        if !(1..=16).contains(&self.vcpus) {
            return refuse(format!("{} virtual CPUs; 1 to 16 are allowed", self.vcpus));
        }
        if self.icount_shift > 10 {
            let shift = self.icount_shift;
            return refuse(format!("an instruction of 2^{shift} ns; 2^0 to 2^10 ns are allowed"));
        }
        if self.cards.len() > MOST_CARDS {
            return refuse(format!("{} cards; at most {MOST_CARDS} are allowed", self.cards.len()));
        }
        if let Some(card) = self.cards.iter().find(|card| card.mtu < 68) {
            return refuse(format!("an MTU of {}; 68 to 65535 are allowed", card.mtu));
        }
        if let Some((name, _)) = self.texts.iter().find(|(name, _)| !name.starts_with("opt/")) {
            return refuse(format!("a text named {name}; names begin with opt/"));
        }
        if let Some((name, _)) = self.texts.iter().find(|(_, text)| text.is_empty()) {
            return refuse(format!("the text {name} is empty, which the emulator does not allow"));
        }
        if self.template.is_some() && self.load.is_some() {
            return refuse("a guest that is loaded cannot become a template".into());
        }
        let files = [("kernel", Some(&self.kernel)), ("initramfs", self.initramfs.as_ref())];
        for (what, path) in files.into_iter().chain([("snapshot", self.load.as_ref())]) {
            let Some(path) = path else { continue };
            if let Err(source) = path.metadata() {
                return Err(GuestError::File { guest: self.name.clone(), what, path: path.clone(), source });
            }
        }
        Ok(())
    }

    /// The emulator's arguments. Its standard input is the plugin's socket, its standard output the
    /// monitor's.
    pub(super) fn arguments(&self, emulator: &Emulator) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        // One thread for all VCPUs and a clock of instructions: nothing in a guest depends on real time. With
        // sleep=off the clock of an idle guest leaps to its next timer instead of waiting for it in real
        // time.
        add(&["-accel", "tcg,thread=single", "-icount", &format!("shift={},sleep=off", self.icount_shift)]);
        add(&["-rtc", "base=2026-01-01,clock=vm", "-seed", &self.seed.to_string()]);
        // Without the HPET, Linux uses the timer of the local APIC, which `arat` says goes on in idle states:
        // an idle guest then has no periodic tick that would cost a grant each time.
        add(&["-machine", "q35,hpet=off", "-cpu", "Nehalem,+arat"]);
        add(&["-smp", &self.vcpus.to_string(), "-m", &self.memory_mib.to_string()]);
        // Memory that is a shared file is not copied into a snapshot. The guests that start from it map the
        // file privately: they share the pages that none of them has changed.
        add(&["-machine", "memory-backend=memory"]);
        arguments.extend(["-object".into(), self.memory()]);
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        add(&["-nodefaults", "-no-user-config", "-display", "none", "-vga", "none"]);
        // A guest that resets or crashes ends, and says so.
        add(&["-action", "reboot=shutdown,shutdown=poweroff,panic=shutdown", "-device", "pvpanic-pci"]);
        add(&["-chardev", "socket,id=monitor,fd=1", "-mon", "chardev=monitor,mode=control"]);
        add(&["-append", &self.command_line]);
        for (name, text) in &self.texts {
            add(&["-fw_cfg", &format!("name={},string={}", escaped(name), escaped(text))]);
        }
        for (number, card) in self.cards.iter().enumerate() {
            let mac = card.mac.map(|byte| format!("{byte:02x}")).join(":");
            // tx=timer sends from a timer of the virtual clock, 1 ns after the driver has asked for it. A
            // bottom half of the main loop, QEMU's default, would send when that thread comes to it in real
            // time.
            let timing = "ioeventfd=off,tx=timer,x-txtimer=1";
            // A machine that was moved announces its address; one that starts from a snapshot has not moved.
            // Without guest_announce=off, QEMU 10.0 crashes when the guest then resets the card.
            let quiet = "romfile=,guest_announce=off";
            let mtu = if card.mtu == 1500 { String::new() } else { format!(",host_mtu={}", card.mtu) };
            add(&["-device", &format!("virtio-net-pci,{timing},{quiet},netdev=n{number},mac={mac}{mtu}")]);
        }
        if self.load.is_some() {
            // From where, the monitor says.
            add(&["-incoming", "defer", "-global", "migration.announce-rounds=0"]);
        }
        for folder in emulator.firmware() {
            arguments.extend(["-L".into(), folder.into_os_string()]);
        }
        for (number, path) in [Some(&self.console), self.second_line.as_ref()].into_iter().enumerate() {
            let append = if self.appends { "on" } else { "off" };
            let to_file = |path: &PathBuf| {
                format!("file,id=line{number},append={append},path={}", escaped(&path.to_string_lossy()))
            };
            let device = path.map_or_else(|| format!("null,id=line{number}"), to_file);
            arguments.extend(["-chardev".into(), device.into()]);
            arguments.extend(["-serial".into(), format!("chardev:line{number}").into()]);
        }
        arguments.extend(["-kernel".into(), self.kernel.clone().into_os_string()]);
        if let Some(initramfs) = &self.initramfs {
            arguments.extend(["-initrd".into(), initramfs.clone().into_os_string()]);
        }
        arguments.extend(["-plugin".into(), self.plugin(&emulator.plugin())]);
        arguments
    }

    fn memory(&self) -> OsString {
        let file = |path: PathBuf, share: &str| {
            let path = escaped(&path.to_string_lossy());
            format!("memory-backend-file,id=memory,size={}M,mem-path={path},share={share}", self.memory_mib)
        };
        let private = self.load.as_deref().map(memory_of).filter(|memory| memory.exists());
        let memory = match (&self.template, private) {
            (Some(template), _) => file(memory_of(template), "on"),
            (None, Some(memory)) => file(memory, "off"),
            (None, None) => format!("memory-backend-ram,id=memory,size={}M", self.memory_mib),
        };
        memory.into()
    }

    fn plugin(&self, plugin: &Path) -> OsString {
        let mut words = OsString::from(escaped(&plugin.to_string_lossy()));
        words.push(format!(",fd=0,cards={}", self.cards.len()));
        if self.load.is_some() {
            words.push(",loaded=on");
        }
        for argument in &self.plugin_arguments {
            words.push(format!(",{argument}"));
        }
        words
    }
}

/// The file of a template's memory.
fn memory_of(template: &Path) -> PathBuf {
    let mut path = template.as_os_str().to_owned();
    path.push(".memory");
    path.into()
}

/// In QEMU's options a comma ends a value unless it is doubled.
fn escaped(text: &str) -> String {
    text.replace(',', ",,")
}
