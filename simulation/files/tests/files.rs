//! What is written into whatever a path names, and what is left of it.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use paceline_files::{Entries, FolderLock, Lock, NewFile, discard_unfinished, leftovers};

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut new = NewFile::begin(path)?;
    new.content()?.write_all(content)?;
    new.publish()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Makes a FIFO.
fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn symbolic_links_are_followed_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    fs::create_dir_all(&here).unwrap();
    fs::create_dir_all(&there).unwrap();
    fs::write(there.join("old"), "old").unwrap();
    // To a file, by a relative path, to another link, to nothing yet, and in a folder that is a link.
    symlink(there.join("old"), here.join("absolute")).unwrap();
    symlink("../there/old", here.join("relative")).unwrap();
    symlink("relative", here.join("twice")).unwrap();
    symlink("../there/new", here.join("dangling")).unwrap();
    symlink(&there, folder.path().join("folder")).unwrap();
    for (link, file) in [
        (here.join("absolute"), "old"),
        (here.join("relative"), "old"),
        (here.join("twice"), "old"),
        (here.join("dangling"), "new"),
        (folder.path().join("folder/old"), "old"),
    ] {
        let content = link.display().to_string();
        write(&link, content.as_bytes()).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink() || link.ends_with("folder/old"), "{content}");
        assert_eq!(fs::read_to_string(there.join(file)).unwrap(), content);
    }
    assert_eq!((names(&here).len(), names(&there).len()), (4, 2), "nothing else is there");
    // Links that lead nowhere are refused.
    symlink("loop", here.join("loop")).unwrap();
    symlink("../missing/file", here.join("far")).unwrap();
    assert!(write(&here.join("loop"), b"").is_err());
    let reason = write(&here.join("far"), b"").unwrap_err().to_string();
    assert!(reason.contains("there is no folder") && reason.contains("missing"), "{reason}");
}

#[test]
fn what_is_no_regular_file_is_written_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    fifo(&pipe);
    symlink("pipe", folder.path().join("link")).unwrap();
    for name in ["pipe", "link"] {
        let path = folder.path().join(name);
        let read = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        };
        let mut new = NewFile::begin(&path).unwrap();
        assert!(new.is_stream());
        new.content().unwrap().write_all(b"through a pipe\n").unwrap();
        new.publish().unwrap();
        assert_eq!(read.join().unwrap(), "through a pipe\n");
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    }
    // A device: that of a full disk, and none of this machine's that could be lost.
    let mut full = NewFile::begin(Path::new("/dev/full")).unwrap();
    assert_eq!(full.content().unwrap().write_all(b"x").unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    drop(full);
    let mut full = Entries::create(Path::new("/dev/full")).unwrap();
    full.write(b"entry");
    let cut = full.finish().unwrap_err();
    assert_eq!((cut.kept, cut.entries), (0, 1));
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    for (path, reason) in [(folder.path().to_owned(), "it is a folder"), (PathBuf::new(), "no file name")] {
        let error = NewFile::begin(&path).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(Entries::create(&path).is_err());
    }
    assert_eq!(names(folder.path()), ["link", "pipe"]);
}

#[test]
fn an_open_file_of_the_process_goes_on_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut open = File::create(&path).unwrap();
    open.write_all(b"before\n").unwrap();
    let before = path.metadata().unwrap().ino();
    let number = std::os::fd::AsRawFd::as_raw_fd(&open);
    for name in [format!("/proc/self/fd/{number}"), format!("/dev/fd/{number}")] {
        write(Path::new(&name), b"by its number\n").unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "before\nby its number\nby its number\n");
    assert_eq!(path.metadata().unwrap().ino(), before);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn permissions_stay_and_new_files_have_those_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fresh) = (folder.path().join("file"), folder.path().join("fresh"));
    fs::write(&fresh, "").unwrap();
    let usual = fresh.metadata().unwrap().mode();
    write(&path, b"one").unwrap();
    assert_eq!(path.metadata().unwrap().mode(), usual);
    for mode in [0o600, 0o640, 0o666, 0o644, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let mut new = NewFile::begin(&path).unwrap();
        let beside = names(folder.path()).into_iter().find(|name| name.ends_with(".unfinished")).unwrap();
        let data = folder.path().join(beside).metadata().unwrap();
        assert_eq!(data.mode() & 0o7777, mode, "nobody else reads it before it is complete");
        new.content().unwrap().write_all(b"two").unwrap();
        // Changed while it was written.
        let last = if mode == 0o755 { 0o700 } else { mode };
        fs::set_permissions(&path, fs::Permissions::from_mode(last)).unwrap();
        new.publish().unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, last);
    }
    // Only root can give a file to somebody.
    if std::os::unix::fs::chown(&path, Some(4711), Some(4712)).is_ok() {
        write(&path, b"three").unwrap();
        let data = path.metadata().unwrap();
        assert_eq!((data.uid(), data.gid()), (4711, 4712));
    }
}

#[test]
fn a_file_of_another_user_is_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old and long").unwrap();
    // As another user who may write the file, and the folder or not. Only root can try.
    let is_root = std::os::unix::fs::chown(&path, Some(0), Some(0)).is_ok();
    let program = std::env::current_exe().unwrap();
    let may_be_run =
        program.ancestors().all(|part| part.metadata().is_ok_and(|data| data.mode() & 0o5 == 0o5));
    if !is_root || !may_be_run {
        eprintln!("skipped: only root can run this as somebody else");
        return;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    for mode in [0o777, 0o755] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&path, "old and long").unwrap();
        let (before, child) = (path.metadata().unwrap().ino(), as_another_user(&program, &path));
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        let data = path.metadata().unwrap();
        assert_eq!((data.uid(), data.ino(), &*fs::read_to_string(&path).unwrap()), (0, before, "by another"));
        assert_eq!(names(folder.path()), ["file"]);
    }
    // It may write neither.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = as_another_user(&program, &path);
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("Permission denied")
    );
}

/// Runs [`writes_as_the_environment_says`] as a user who is not root.
fn as_another_user(program: &Path, path: &Path) -> std::process::Output {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command.args(["--exact", "writes_as_the_environment_says", "--nocapture"]).env("PACELINE_WRITES", path);
    command.uid(4711).gid(4711).output().unwrap()
}

/// The other process of [`a_file_of_another_user_is_written_in_place`] and
/// [`what_a_killed_process_leaves_is_removed_by_the_next`].
#[test]
fn writes_as_the_environment_says() {
    let Some(path) = std::env::var_os("PACELINE_WRITES") else { return };
    if std::env::var_os("PACELINE_STAYS").is_none() {
        return write(Path::new(&path), b"by another").unwrap_or_else(|reason| panic!("{reason}"));
    }
    let mut new = NewFile::begin(Path::new(&path)).unwrap();
    new.content().unwrap().write_all(b"never complete").unwrap();
    println!("begun");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

/// Runs a script with mounts of its own, in which `$WRITE` writes the file that `PACELINE_WRITES` names; says
/// whether that is allowed here.
fn with_mounts(script: &str) -> bool {
    let may = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may {
        eprintln!("skipped: nothing can be mounted here");
        return false;
    }
    let program = std::env::current_exe().unwrap();
    let write = format!("{} --exact writes_as_the_environment_says --nocapture", program.display());
    let output =
        Command::new("unshare").args(["-m", "sh", "-ec", script]).env("WRITE", write).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn a_file_that_is_a_mount_point_is_written_in_place() {
    // As in containers that are given a single file. It cannot be renamed to.
    let folder = tempfile::tempdir().unwrap();
    let (real, mounted) = (folder.path().join("real"), folder.path().join("mounted"));
    fs::write(&real, "old and long").unwrap();
    fs::write(&mounted, "").unwrap();
    let (real_name, name) = (real.display(), mounted.display());
    if with_mounts(&format!("mount --bind {real_name} {name}; PACELINE_WRITES={name} $WRITE")) {
        assert_eq!((&*fs::read_to_string(&real).unwrap(), names(folder.path()).len()), ("by another", 2));
    }
}

#[test]
fn a_file_system_that_is_read_only_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().display();
    let script = format!(
        "mount -t tmpfs none {name}; echo old > {name}/old; mount -o remount,ro {name}; for file in old new; do \
         ! PACELINE_WRITES={name}/$file $WRITE 2> /dev/null; done; [ \"$(cat {name}/old)$(ls -A {name})\" = oldold ]"
    );
    with_mounts(&script);
}

#[test]
fn what_a_killed_process_leaves_is_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.json");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writes_as_the_environment_says", "--nocapture"]).env("PACELINE_WRITES", &path);
    let mut child = command.env("PACELINE_STAYS", "1").stdout(std::process::Stdio::null()).spawn().unwrap();
    let ends = std::time::Instant::now() + std::time::Duration::from_secs(30);
    // It is locked once it has content.
    let has_content = || {
        names(folder.path())
            .iter()
            .any(|name| folder.path().join(name).metadata().is_ok_and(|data| data.len() > 0))
    };
    while !has_content() {
        assert!(std::time::Instant::now() < ends, "the other process begins");
        std::thread::yield_now();
    }
    let found = leftovers::remove(folder.path());
    assert_eq!((found.removed, found.owned, found.left), (0, 1, 0), "its owner is alive");
    let reason = NewFile::begin(&path).unwrap_err().to_string();
    assert_eq!(reason, "another run is writing there");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(folder.path()).len(), 1);
    // Names of other makers: of a process whose number another one has now, of no process, of a killed
    // process before there were locks.
    for name in
        [".summary.json.1.unfinished", ".summary.json.4000000000.unfinished", ".summary.json.unfinished"]
    {
        fs::write(folder.path().join(name), "{").unwrap();
    }
    // These are no unfinished files of it.
    for name in [
        ".summary.json",
        "summary.json.77.unfinished",
        ".other.77.unfinished.txt",
        ".summary.json.x.unfinished",
    ] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    write(&path, b"{}").unwrap();
    assert_eq!(
        names(folder.path()),
        [
            ".other.77.unfinished.txt",
            ".summary.json",
            ".summary.json.x.unfinished",
            "summary.json",
            "summary.json.77.unfinished"
        ]
    );
}

#[test]
fn a_folder_that_is_removed_meanwhile_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out/deep/file");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut new = NewFile::begin(&path).unwrap();
    new.content().unwrap().write_all(b"not lost").unwrap();
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    new.publish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "not lost");
    assert_eq!(names(path.parent().unwrap()), ["file"]);
}

#[test]
fn names_of_any_bytes_and_any_length_are_written() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    for name in [&b"caf\xe9"[..], b"\xff\xfe", b"-", b".hidden", &[b'x'; 255], &[b'\xe9'; 255]] {
        let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
        write(&path, b"content").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }
    assert_eq!(names(folder.path()).len(), 6);
}

#[test]
fn locks_keep_others_out_until_they_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    let first = NewFile::begin(&path).unwrap();
    assert!(NewFile::begin(&path).is_err());
    let lock = first.publish_locked().unwrap().expect("there are locks here");
    assert!(lock.is_at(&path) && Lock::take(&path).is_err());
    // It is replaced by its owner, and the lock is on the new one.
    let next = NewFile::begin(&path).unwrap().publish_locked().unwrap().expect("there are locks here");
    assert!(next.is_at(&path) && !lock.is_at(&path) && Lock::take(&path).is_err());
    drop((lock, next));
    assert!(
        Lock::take(&path).unwrap().is_some() && Lock::take(&folder.path().join("none")).unwrap().is_none()
    );
    let trace = folder.path().join("trace");
    let mut open = Entries::create(&trace).unwrap();
    open.write(b"entry");
    assert_eq!(Entries::create(&trace).unwrap_err().to_string(), "another run is writing there");
    open.finish().unwrap();
    assert_eq!(fs::read(&trace).unwrap(), b"entry", "the other one has not emptied it");
    let lock = FolderLock::take(folder.path()).unwrap();
    assert!(FolderLock::take(folder.path()).is_err());
    drop(lock);
    FolderLock::take(folder.path()).unwrap();
}

#[test]
fn a_program_that_ends_in_the_middle_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old"), "old").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ends_in_the_middle", "--nocapture"]).env("PACELINE_WRITES", folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(folder.path()), ["old"]);
    assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "old");
}

/// The other process of [`a_program_that_ends_in_the_middle_leaves_nothing`].
#[test]
fn ends_in_the_middle() {
    let Some(folder) = std::env::var_os("PACELINE_WRITES").map(PathBuf::from).filter(|path| path.is_dir())
    else {
        return;
    };
    let _new = ["one", "old"].map(|name| NewFile::begin(&folder.join(name)).unwrap());
    assert_eq!(names(&folder).len(), 3);
    discard_unfinished();
    std::process::exit(7);
}
