//! What dom0 and the guests find at their start: the tools of Xen with their libraries, the kernel's modules,
//! the guests' programs, and the scripts of `lab/xen/guest`.
//!
//! Invariant: dom0's image is made of two archives, one that is the same for all boots and one with what the
//! boot is about.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::boot::Boot;
use crate::error::{LabError, io};
use crate::image::Image;
use crate::kernel::kernel;
use crate::packages::Packages;
use crate::process::{Stop, command, run};
use crate::script;

/// Xen's tools in dom0, with the folder of the packages that each is in.
const TOOLS: &[(&str, &str)] = &[
    ("usr/lib/xen-4.17/bin", "xl"),
    ("usr/lib/xen-4.17/bin", "xenstored"),
    ("usr/lib/xen-4.17/bin", "xenconsoled"),
    ("usr/lib/xen-4.17/bin", "xen-init-dom0"),
    ("usr/sbin", "xenhypfs"),
    ("usr/bin", "xenstore-read"),
    ("usr/bin", "xenstore-write"),
];

/// The program among the guests' that dom0 has too.
const HYPERCALL: &str = "hypercall";

/// A library that is loaded by name when a thread ends, so that nothing says it is needed.
const UNNAMED_LIBRARY: &str = "/lib/x86_64-linux-gnu/libgcc_s.so.1";

/// The program that loads all others, and where they seek it.
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";

const DOM0_MODULES: &[&str] = &[
    "drivers/xen/xen-privcmd",
    "drivers/xen/xen-evtchn",
    "drivers/xen/xen-gntdev",
    "drivers/xen/xen-gntalloc",
    "drivers/xen/xenfs/xenfs",
    "net/llc/llc",
    "net/802/stp",
    "net/bridge/bridge",
    "drivers/net/xen-netback/xen-netback",
];

const GUEST_MODULES: &[&str] = &[
    "drivers/xen/xen-privcmd",
    "drivers/xen/xen-evtchn",
    "drivers/xen/xenfs/xenfs",
    "drivers/net/xen-netfront",
];

/// What is booted besides the hypervisor.
#[derive(Debug)]
pub(crate) struct Systems {
    /// The kernel of dom0 and guests, uncompressed.
    pub kernel: PathBuf,
    dom0: Vec<u8>,
}

impl Systems {
    /// Compiles the guests' programs, out of the folder `ours`, and puts everything together.
    pub fn new(cache: &Path, packages: &Packages, ours: &Path, stop: &Stop) -> Result<Self, LabError> {
        let (version, kernel) = kernel(&packages.root, stop)?;
        let modules = packages.root.join("lib/modules").join(version).join("kernel");
        let programs = programs(cache, ours, stop)?;
        let guest = guest(packages, ours, &modules, &programs)?;
        let scripts = ours.join("guest");
        let mut image = Image::default();
        image.folders(&[
            "bin",
            "lib",
            "lib64",
            "proc",
            "sys",
            "dev",
            "run",
            "tmp",
            "var",
            "xen",
            "lab",
            "lab/guests",
        ]);
        image.folders(&["etc", "etc/xen", "etc/xen/scripts"]);
        image.file("etc/xen/xl.conf", b"autoballoon=\"off\"\n", false);
        image.file("etc/xen/scripts/vif-bridge", &read(&scripts.join("vif-bridge"))?, true);
        image.file("init", &read(&scripts.join("dom0-init"))?, true);
        image.file("lab/functions.sh", &read(&scripts.join("dom0-functions.sh"))?, false);
        image.file("bin/busybox", &read(&packages.root.join("bin/busybox"))?, true);
        add_modules(&mut image, &modules, DOM0_MODULES)?;
        add_tools(&mut image, packages, stop)?;
        image.file("lab/vmlinux", &read(&kernel)?, false);
        image.file("lab/guest.cpio", &guest, false);
        if let Some(program) = programs.get(HYPERCALL) {
            image.file(&format!("xen/{HYPERCALL}"), program, true);
        }
        Ok(Self { kernel, dom0: image.finish() })
    }

    /// Writes dom0's image for a boot.
    pub fn write(&self, boot: &Boot, path: &Path) -> Result<(), LabError> {
        let mut image = Image::default();
        image.file("lab/steps.sh", script::steps(&boot.steps).as_bytes(), false);
        for (index, domain) in boot.domains.iter().enumerate() {
            let path = format!("lab/guests/{}.cfg", domain.name);
            image.file(&path, script::configuration(boot, index).as_bytes(), false);
        }
        let all = [self.dom0.as_slice(), &image.finish()].concat();
        fs::write(path, all).map_err(io("write", path))
    }
}

/// The programs of `lab/xen/guest`, compiled, by name.
fn programs(cache: &Path, ours: &Path, stop: &Stop) -> Result<BTreeMap<String, Vec<u8>>, LabError> {
    let (sources, built) = (ours.join("guest"), cache.join(format!("programs-{}", std::process::id())));
    // One that was killed may have left it.
    let _ = fs::remove_dir_all(&built);
    fs::create_dir_all(&built).map_err(io("make the folder", &built))?;
    let mut make = command("make");
    make.env_remove("MAKEFLAGS").args(["-s", "-C"]).arg(&sources).arg(format!("OUT={}", built.display()));
    run("compiling the guests' programs", make, stop)?;
    let found = fs::read_dir(&built).map_err(io("read", &built))?.filter_map(Result::ok);
    let program = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read(&path)?))
    };
    let programs = found.map(|entry| program(entry.path())).collect::<Result<_, LabError>>()?;
    fs::remove_dir_all(&built).map_err(io("remove", &built))?;
    Ok(programs)
}

fn guest(
    packages: &Packages,
    ours: &Path,
    modules: &Path,
    programs: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<u8>, LabError> {
    let mut image = Image::default();
    image.folders(&["bin", "proc", "sys", "dev", "etc", "tmp", "programs"]);
    image.file("init", &read(&ours.join("guest/guest-init"))?, true);
    image.file("bin/busybox", &read(&packages.root.join("bin/busybox"))?, true);
    add_modules(&mut image, modules, GUEST_MODULES)?;
    programs.iter().for_each(|(name, program)| image.file(&format!("programs/{name}"), program, true));
    Ok(image.finish())
}

/// Modules, and the order in which they are to be loaded, each with its parameters.
fn add_modules(image: &mut Image, folder: &Path, names: &[&str]) -> Result<(), LabError> {
    image.folders(&["modules"]);
    let mut order = String::new();
    for name in names {
        let (name, parameters) = name.split_once(' ').unwrap_or((name, ""));
        let path = folder.join(format!("{name}.ko"));
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        image.file(&format!("modules/{file}"), &read(&path)?, false);
        order += &format!("{file} {parameters}\n");
    }
    image.file("modules/order", order.as_bytes(), false);
    Ok(())
}

/// Xen's tools and the libraries that they need, the packages' before this machine's.
fn add_tools(image: &mut Image, packages: &Packages, stop: &Stop) -> Result<(), LabError> {
    let mut libraries = BTreeSet::from([PathBuf::from(UNNAMED_LIBRARY)]);
    for (folder, name) in TOOLS {
        let path = packages.root.join(folder).join(name);
        image.file(&format!("xen/{name}"), &read(&path)?, true);
        let mut list = command("ldd");
        list.env("LD_LIBRARY_PATH", library_path(&packages.root)).arg(&path);
        let needed = run("looking for libraries", list, stop)?;
        libraries.extend(needed.iter().filter_map(|line| library(line)));
    }
    for library in libraries {
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        image.file(&format!("lib/{name}"), &read(&library)?, true);
    }
    image.file(LOADER, &read(&Path::new("/").join(LOADER))?, true);
    Ok(())
}

/// The library that a line of ldd names: `libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)`.
fn library(line: &str) -> Option<PathBuf> {
    let (_, found) = line.split_once(" => ")?;
    found.split_whitespace().next().filter(|path| path.starts_with('/')).map(PathBuf::from)
}

/// Where the programs of the packages find their libraries.
pub(crate) fn library_path(root: &Path) -> String {
    let root = root.display();
    format!("{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu")
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    fs::read(path).map_err(io("read", path))
}
