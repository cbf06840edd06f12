//! Where the emulator is: the folder that `scripts/emulator` makes.

use super::error::GuestError;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that `scripts/emulator` made: QEMU with what it needs, the plugin, a kernel with its modules,
/// busybox.
#[derive(Clone, Debug)]
pub struct Emulator {
    folder: PathBuf,
}

impl Emulator {
    /// The folder in the environment variable `PACELINE_EMULATOR`, or else `paceline/emulator` in the user's
    /// cache.
    pub fn find() -> Result<Self, GuestError> {
        let in_cache = || {
            let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
            cache.unwrap_or_default().join("paceline/emulator")
        };
        Self::at(env::var_os("PACELINE_EMULATOR").map_or_else(in_cache, PathBuf::from))
    }

    /// The emulator in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Result<Self, GuestError> {
        let emulator = Self { folder: folder.into() };
        for part in [emulator.program(), emulator.plugin(), emulator.kernel()] {
            if !part.exists() {
                return Err(GuestError::NoEmulator { path: part });
            }
        }
        Ok(emulator)
    }

    /// The kernel that guests boot unless they have another.
    #[must_use]
    pub fn kernel(&self) -> PathBuf {
        self.folder.join("vmlinux")
    }

    /// The folder of the kernel's modules, with `kernel/` in it.
    #[must_use]
    pub fn modules(&self) -> PathBuf {
        self.folder.join("modules")
    }

    /// A static busybox.
    #[must_use]
    pub fn busybox(&self) -> PathBuf {
        self.folder.join("busybox")
    }

    /// The root folder of Debian's packages for guests (`scripts/emulator add`); it exists once there are
    /// any.
    #[must_use]
    pub fn guest_root(&self) -> PathBuf {
        self.folder.join("guest")
    }

    /// Where boots of images are kept.
    pub(crate) fn boots(&self) -> PathBuf {
        self.folder.join("boots")
    }

    /// The files that a boot depends on, beside its image.
    pub(crate) fn parts(&self) -> [PathBuf; 3] {
        [self.program(), self.plugin(), self.kernel()]
    }

    /// The same with their names in messages.
    pub(crate) fn named_parts(&self) -> Vec<(String, PathBuf)> {
        let names = ["emulator program", "plugin of the emulator", "kernel"];
        names.iter().zip(self.parts()).map(|(name, file)| ((*name).to_owned(), file)).collect()
    }

    /// The command that starts QEMU, without arguments for it. QEMU is not installed, so it is told where its
    /// libraries are. If a C library came along with it, because it needs a newer one than the system's, the
    /// dynamic linker of that library has to start it.
    pub(super) fn command(&self) -> Command {
        let mut libraries = self.root("usr/lib/x86_64-linux-gnu").into_os_string();
        libraries.push(":");
        libraries.push(self.root("lib/x86_64-linux-gnu"));
        let linker = self.root("usr/lib64/ld-linux-x86-64.so.2");
        if linker.exists() {
            let mut command = Command::new(linker);
            command.arg("--library-path").arg(libraries).arg(self.program());
            command
        } else {
            let mut command = Command::new(self.program());
            command.env("LD_LIBRARY_PATH", libraries);
            command
        }
    }

    fn program(&self) -> PathBuf {
        self.folder.join("root/usr/bin/qemu-system-x86_64")
    }

    pub(super) fn plugin(&self) -> PathBuf {
        self.folder.join("plugin.so")
    }

    /// The folders of firmware.
    pub(super) fn firmware(&self) -> [PathBuf; 2] {
        ["usr/share/qemu", "usr/share/seabios"].map(|folder| self.root(folder))
    }

    fn root(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.join("root").join(path)
    }
}
