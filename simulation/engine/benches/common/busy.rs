//! A busy neighbour: a process that does nothing but use a core.

use std::process::{Child, Command, Stdio};

const OPTION: &str = "--busy";

/// The busy process; it ends with this.
pub struct Busy(Child);

impl Busy {
    /// Starts the program again, as a busy process.
    pub fn start() -> Self {
        let program = std::env::current_exe().expect("the program knows its own path");
        let child = Command::new(program).arg(OPTION).stdin(Stdio::piped()).spawn();
        Self(child.expect("the program can start itself"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether this process is to be the busy one.
pub fn asked_for() -> bool {
    std::env::args().nth(1).as_deref() == Some(OPTION)
}

/// Uses a core until whoever started it is gone.
pub fn work() -> ! {
    std::thread::spawn(|| {
        // Reading ends when the other end of the pipe is closed.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0)
    });
    loop {
        std::hint::black_box(());
    }
}
