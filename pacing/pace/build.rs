//! Compiles the crate's C sources.
//!
//! The shim for MPI programs (`shim`) and the second guard (`restore`) need a C compiler for the system on
//! which they run: the one that the environment variable `PACELINE_MPI_CC` names, or else `cc`. Without one
//! the crate is built without them: the files that it embeds are empty. The policy for the kernel's
//! extensible scheduling class is compiled with the feature `sched-ext`. It needs a clang with the target
//! "bpf": the one that the environment variable `CLANG` names, or else `clang`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

fn main() {
    compile_for_system(
        "shim",
        "libpaceline_mpi.so",
        &["-fPIC", "-fvisibility=hidden", "-shared"],
        &["-ldl", "-lpthread"],
    );
    compile_for_system("restore", "sched-restore", &[], &[]);
    println!("cargo:rerun-if-changed=../lvt/include");
    println!("cargo:rerun-if-env-changed=PACELINE_MPI_CC");
    compile_policy();
}

/// Compiles the C sources of a folder and writes the result to `OUT_DIR`, or an empty file if they cannot be
/// compiled.
fn compile_for_system(folder: &str, name: &str, flags: &[&str], libraries: &[&str]) {
    println!("cargo:rerun-if-changed={folder}");
    let result = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join(name);
    let target = |what| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let named = env::var("PACELINE_MPI_CC").ok();
    // The target's C library does not matter: what is compiled here is linked with the system's own.
    let is_native = target("ARCH") == env::consts::ARCH && target("OS") == env::consts::OS;
    let fits = target("OS") == "linux"
        && target("POINTER_WIDTH") == "64"
        && target("ENDIAN") == "little"
        && (is_native || named.is_some());
    let problem = if fits {
        let compiler = named.unwrap_or_else(|| "cc".to_owned());
        let compiled = Command::new(&compiler)
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"])
            .args(flags)
            .arg("-o")
            .arg(&result)
            .args(sources(Path::new(folder)))
            .args(libraries)
            .status();
        match compiled {
            Ok(status) if status.success() => return,
            Ok(status) => format!("{compiler} could not compile {name} ({status})"),
            Err(error) => format!("{name} is left out: {compiler} cannot be run: {error}"),
        }
    } else {
        format!("{name} is left out: not for this target")
    };
    println!("cargo:warning={problem}");
    fs::write(&result, []).expect("OUT_DIR can be written to");
}

/// The C files of a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|entry| entry.expect("folder entries can be read").path());
    let mut sources: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect();
    sources.sort();
    sources
}

/// Writes the policy's object file to `OUT_DIR`.
fn compile_policy() {
    println!("cargo:rerun-if-changed=../linux");
    println!("cargo:rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_SCHED_EXT").is_none() {
        return;
    }
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("least_lvt.bpf.o");
    let status = Command::new(&clang)
        .args([
            "-target",
            "bpf",
            "-mcpu=v3",
            "-O2",
            "-g",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Werror",
            "-c",
        ])
        .arg("../linux/least_lvt.bpf.c")
        .arg("-o")
        .arg(&object)
        .status();
    let problem = match status {
        Ok(status) if status.success() => return,
        Ok(status) => format!("{clang} could not compile pacing/linux/least_lvt.bpf.c ({status})"),
        Err(error) => format!("{clang} cannot be run: {error}"),
    };
    eprintln!(
        "{problem}\nThe feature `sched-ext` needs clang 14 or newer; `apt-get install clang libelf-dev zlib1g-dev pkg-config make` brings it."
    );
    process::exit(1);
}
