//! Reads one table `[[guest]]`: each key with what it may hold.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section, Size};

use super::date::Date;
use super::values::{Address, Mac, Ratio};
use super::{GuestCard, GuestSpec, OwnImage, Script};

const COUNT_MAX: u32 = 1_000;
const VCPUS_MAX: u32 = 16;
const MEMORY_LEAST_MIB: usize = 64;
const MEMORY_MOST_MIB: usize = 1 << 16;
/// The emulator's limits of 2 to the power of this many nanoseconds an instruction.
const SHIFT_MAX: u32 = 10;
const CARDS_MAX: usize = 8;
/// The kernel hands the emulator arguments of at most 128 KiB, and quotes take some.
const TEXT_MAX: usize = 64 << 10;

/// Keys that only the packed image can serve.
const PACKED: [&str; 11] = [
    "run",
    "script",
    "programs",
    "packages",
    "files",
    "out",
    "stop",
    "congestion_control",
    "date",
    "ipv6",
    "gateway",
];

/// The guests of a table: as many as its `count`.
pub(super) fn read(mut section: Section) -> Result<Vec<GuestSpec>, ScenarioError> {
    let name = name(&mut section)?;
    let count = number(&mut section, "count", 1, COUNT_MAX)?;
    let own = own_image(&mut section)?;
    let guest = GuestSpec {
        name,
        memory_mib: memory(&mut section)?,
        vcpus: number(&mut section, "vcpus", 1, VCPUS_MAX)?,
        icount_shift: shift(&mut section)?,
        time_scale: section.or("time_scale", Ratio::ONE)?,
        date: section.or("date", Date::DEFAULT)?,
        cards: cards(&mut section, count)?,
        own,
        run: section.optional("run")?.unwrap_or_default(),
        scripts: scripts(&mut section)?,
        stop: section.optional("stop")?,
        programs: section.optional("programs")?.unwrap_or_default(),
        packages: section.optional("packages")?.unwrap_or_default(),
        congestion_control: congestion_control(&mut section)?,
        has_ipv6: section.or("ipv6", false)?,
        files: files(&mut section)?,
        out: out(&mut section)?,
        section: section.clone(),
    };
    if section.has("run") && guest.run.first().is_none_or(String::is_empty) {
        return Err(section.refuse("run", "`run` names no program", "a program, then its arguments"));
    }
    section.finish()?;
    if count == 1 {
        return Ok(vec![guest]);
    }
    Ok((0..count).map(|number| numbered(&guest, number)).collect())
}

/// The guest with this number of a table with a count: its addresses follow each other.
fn numbered(guest: &GuestSpec, number: u32) -> GuestSpec {
    let mut guest = guest.clone();
    guest.name = format!("{}-{number}", guest.name);
    for card in &mut guest.cards {
        if let Some(address) = &mut card.address {
            address.ip = Ipv4Addr::from(u32::from(address.ip) + number);
        }
        if let Some(host) = &mut card.host {
            *host = format!("{host}-{number}");
        }
    }
    guest
}

/// The names of host and files are made of it: RFC 1123.
fn name(section: &mut Section) -> Result<String, ScenarioError> {
    let name: String = section.required("name")?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_name = !name.is_empty() && name.len() <= 58 && name.bytes().all(fits);
    if is_name && !name.starts_with('-') && !name.ends_with('-') && name != "localhost" {
        return Ok(name);
    }
    let problem = format!("no guest can be called {name:?}");
    Err(section.refuse(
        "name",
        problem,
        "a host name: 1 to 58 letters, digits and dashes, no dash at either end",
    ))
}

fn number(section: &mut Section, key: &str, default: u32, most: u32) -> Result<u32, ScenarioError> {
    section.or_where(
        key,
        default,
        |value| (1..=most).contains(&value),
        format!("a whole number from 1 to {most}"),
    )
}

fn memory(section: &mut Section) -> Result<u32, ScenarioError> {
    let size = section.or("memory", Size { bytes: 128 << 20 })?;
    let mib = size.bytes >> 20;
    if (MEMORY_LEAST_MIB..=MEMORY_MOST_MIB).contains(&mib) {
        return Ok(mib as u32);
    }
    let problem = format!("no guest runs in {size}");
    Err(section.refuse("memory", problem, "a size from 64MiB to 64GiB, such as \"128MiB\""))
}

/// The emulator's clock counts instructions by shifting: an instruction takes 1, 2, 4, ... nanoseconds.
fn shift(section: &mut Section) -> Result<u32, ScenarioError> {
    let speed = section.or("speed", Ratio::ONE)?;
    let shift = speed.under.trailing_zeros();
    if speed.over == 1 && speed.under.is_power_of_two() && shift <= SHIFT_MAX {
        return Ok(shift);
    }
    let problem = format!("no guest runs {speed} instructions in a nanosecond of its clock");
    let allowed = "1, or 1 divided by a power of two up to 1024: \"1/2\", \"1/4\", ...; `time_scale = 2` makes a guest faster";
    Err(section.refuse("speed", problem, allowed))
}

fn cards(section: &mut Section, count: u32) -> Result<Vec<GuestCard>, ScenarioError> {
    let mut tables = section.tables("cards")?;
    if tables.is_empty() {
        return Ok(vec![card(section, count)?]);
    }
    if let Some(key) = ["address", "mac", "mtu", "gateway", "host"].into_iter().find(|key| section.has(key)) {
        let problem = format!("`{key}` is that of the only card, and there are [[guest.cards]]");
        return Err(section.refuse(key, problem, "the key in one of the [[guest.cards]]"));
    }
    if tables.len() > CARDS_MAX {
        let problem = format!("{} cards", tables.len());
        return Err(section.refuse("cards", problem, format!("at most {CARDS_MAX}")));
    }
    let mut cards = Vec::new();
    for mut table in tables.drain(..) {
        cards.push(card(&mut table, count)?);
        table.finish()?;
    }
    Ok(cards)
}

fn card(section: &mut Section, count: u32) -> Result<GuestCard, ScenarioError> {
    let address = section.optional::<Address>("address")?;
    if let Some(Address { ip, prefix }) = address {
        let last = (u32::from(ip) & (u32::MAX >> prefix)).checked_add(count - 1);
        // The last address of a network is that of its broadcast.
        if last.is_none_or(|last| last >= u32::MAX >> prefix) {
            let problem = format!("{count} addresses from {ip} on are not all in its network");
            return Err(section.refuse("address", problem, "a network with an address for each guest"));
        }
    }
    let mac = section.optional::<Mac>("mac")?;
    if mac.is_some() && count > 1 {
        let problem = format!("one Ethernet address for {count} guests");
        return Err(section.refuse("mac", problem, "no `mac` in a table with a count"));
    }
    let mtu = section.or_where(
        "mtu",
        1500,
        |mtu: u32| (68..=65535).contains(&mtu),
        "a whole number from 68 to 65535",
    )?;
    let gateway = section.optional::<String>("gateway")?;
    let gateway = match gateway.as_ref().map(|text| text.parse::<Ipv4Addr>()) {
        None => None,
        Some(Ok(gateway)) => Some(gateway),
        Some(Err(_)) => {
            let problem = format!("{:?} is no address", gateway.unwrap_or_default());
            return Err(section.refuse("gateway", problem, "an IPv4 address, such as \"10.0.0.1\""));
        }
    };
    Ok(GuestCard { host: section.optional("host")?, address, mac, mtu: mtu as u16, gateway })
}

/// `script` is a text, or tables with a text and a time each.
fn scripts(section: &mut Section) -> Result<Vec<Script>, ScenarioError> {
    let mut scripts = Vec::new();
    // What is no string is tried as tables, whose error names both.
    if let Ok(Some(text)) = section.optional::<String>("script") {
        scripts.push(Script { at: None, text });
    } else {
        let tables = section.tables("script");
        let allowed = "a string, lines for a shell; or tables [[guest.script]] with `text` and `at`";
        for mut table in tables.map_err(|_| section.refuse("script", "`script` is neither", allowed))? {
            scripts.push(Script { at: table.optional::<Time>("at")?, text: table.required("text")? });
            table.finish()?;
        }
    }
    let size: usize = scripts.iter().map(|script| script.text.len()).sum();
    if size > TEXT_MAX {
        let problem = format!("scripts of {size} bytes");
        return Err(section.refuse("script", problem, "at most 64 KiB in all; more as a file of `files`"));
    }
    Ok(scripts)
}

/// It becomes part of file names and of a shell's line.
fn congestion_control(section: &mut Section) -> Result<Option<String>, ScenarioError> {
    let Some(control) = section.optional::<String>("congestion_control")? else { return Ok(None) };
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if control.is_empty() || !control.bytes().all(fits) {
        let problem = format!("Linux has no congestion control {control:?}");
        return Err(section.refuse(
            "congestion_control",
            problem,
            "one of Linux, such as \"cubic\", \"reno\" or \"bbr\"",
        ));
    }
    Ok(Some(control))
}

fn files(section: &mut Section) -> Result<Vec<(String, PathBuf)>, ScenarioError> {
    let allowed = "a table: { \"/path/in/guest\" = \"file seen from the scenario's folder\" }";
    let table = section.table("files");
    let mut table = table.map_err(|_| section.refuse("files", "`files` is no table", allowed))?;
    let mut files = Vec::new();
    for (path, _) in table.clone().rest() {
        check_path(&table, &path, &path)?;
        if let Some(file) = table.file(&path)? {
            files.push((path, file));
        }
    }
    table.finish()?;
    Ok(files)
}

fn out(section: &mut Section) -> Result<Vec<String>, ScenarioError> {
    let out: Vec<String> = section.optional("out")?.unwrap_or_default();
    for path in &out {
        check_path(section, "out", path)?;
    }
    Ok(out)
}

fn check_path(section: &Section, key: &str, path: &str) -> Result<(), ScenarioError> {
    let is_inside = path.starts_with('/') && path.len() > 1 && !path.split('/').any(|part| part == "..");
    // The program keeps its own files there.
    if is_inside && !path.starts_with("/paceline") && !path.chars().any(char::is_control) {
        return Ok(());
    }
    let problem = format!("{path:?} is no path in a guest for files");
    Err(section.refuse(
        key,
        problem,
        "an absolute path outside of /paceline, such as \"/etc/nginx/nginx.conf\"",
    ))
}

fn own_image(section: &mut Section) -> Result<Option<OwnImage>, ScenarioError> {
    let (image, kernel) = (section.file("image")?, section.file("kernel")?);
    let command_line: Option<String> = section.optional("cmdline")?;
    let Some(image) = image else {
        let alone = ["kernel", "cmdline"].into_iter().find(|key| section.has(key));
        return alone.map_or(Ok(None), |key| {
            let problem = format!("`{key}` without `image`: what is packed is for the kernel of all guests");
            Err(section.refuse(key, problem, "`image` too, an initramfs of yours"))
        });
    };
    if let Some(key) = PACKED.into_iter().find(|key| section.has(key)) {
        let problem = format!(
            "`{key}` beside `image`: an image of yours runs what it has, and sets up its cards itself"
        );
        return Err(section.refuse(key, problem, "either one of them"));
    }
    if !is_archive(&image) {
        let problem = format!("{} is no image that a kernel unpacks", image.display());
        return Err(section.refuse(
            "image",
            problem,
            "an initramfs: an archive of cpio (newc), as it is or compressed",
        ));
    }
    Ok(Some(OwnImage { image, kernel, command_line }))
}

/// By the first bytes: cpio's, and those of the compressors that Linux knows.
fn is_archive(path: &Path) -> bool {
    const STARTS: [&[u8]; 8] = [
        b"070701",
        b"070702",
        b"\x1f\x8b",
        b"BZh",
        b"\xfd7zXZ\0",
        b"\x28\xb5\x2f\xfd",
        b"\x02\x21\x4c\x18",
        b"\x5d\0\0",
    ];
    fs::read(path).is_ok_and(|bytes| STARTS.iter().any(|start| bytes.starts_with(start)))
}
