//! Compiles the policy for the kernel's extensible scheduling class, where the feature `sched-ext` asks for it. It needs a
//! clang that knows the target "bpf"; which one may be said in the environment variable `CLANG`.

use std::path::PathBuf;
use std::process::Command;
use std::{env, process};

fn main() {
    println!("cargo:rerun-if-changed=../../linux");
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
        .arg("../../linux/least_lvt.bpf.c")
        .arg("-o")
        .arg(&object)
        .status();
    let problem = match status {
        Ok(status) if status.success() => return,
        Ok(status) => format!("{clang} could not compile linux/least_lvt.bpf.c ({status})"),
        Err(error) => format!("{clang} cannot be run: {error}"),
    };
    eprintln!(
        "{problem}\nThe feature `sched-ext` needs clang 14 or newer; `apt-get install clang libelf-dev zlib1g-dev` brings it."
    );
    process::exit(1);
}
