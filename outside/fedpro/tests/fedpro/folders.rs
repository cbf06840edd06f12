//! The folder with modules is not left.

use std::fs;

use paceline_fedpro::{MODULE_MAX, ModuleFolder};

#[test]
fn modules_are_read_from_the_folder_and_from_nowhere_else() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let inside = place.path().join("modules");
    fs::create_dir_all(inside.join("more")).expect("it can be made");
    fs::write(inside.join("a.xml"), "a").expect("it can be written");
    fs::write(inside.join("more/b.xml"), "b").expect("it can be written");
    fs::write(place.path().join("secret.xml"), "secret").expect("it can be written");
    fs::create_dir(place.path().join("modules-of-others")).expect("it can be made");
    fs::write(place.path().join("modules-of-others/c.xml"), "secret").expect("it can be written");
    let folder = ModuleFolder::open(&inside).expect("it is there");
    let read = |name: &str| folder.read(name).map_err(|error| error.to_string());
    assert_eq!(read("a.xml").as_deref(), Ok(&b"a"[..]));
    assert_eq!(read("more/b.xml").as_deref(), Ok(&b"b"[..]));
    assert_eq!(read("more/../a.xml").as_deref(), Ok(&b"a"[..]), "that is inside");
    let secret = place.path().join("secret.xml").display().to_string();
    for outside in ["../secret.xml", "more/../../secret.xml", "../modules-of-others/c.xml", &secret] {
        let error = read(outside).expect_err("it is not read");
        assert!(
            error.ends_with("is outside of the folder of modules, of which nothing else is read"),
            "{error}"
        );
    }
    for absent in ["http://example.com/a.xml", "file:///a.xml", "none.xml", "a.xml/b", "\0"] {
        let error = read(absent).expect_err("it is not there");
        assert!(error.contains("cannot be read"), "{error}");
    }
    assert!(read("more").expect_err("it is not read").ends_with("is no file"));
    assert!(read("").expect_err("it is not read").ends_with("is no file"));
    fs::write(inside.join("long.xml"), vec![b' '; MODULE_MAX + 1]).expect("it can be written");
    assert!(read("long.xml").expect_err("it is not read").contains("more than 16777216 bytes"));
    assert!(ModuleFolder::open(&inside.join("a.xml")).is_err(), "a file is no folder");
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_the_folder_and_pipes_are_not_opened() {
    use std::os::unix::fs::symlink;

    let place = tempfile::tempdir().expect("a folder can be made");
    let inside = place.path().join("modules");
    fs::create_dir(&inside).expect("it can be made");
    fs::write(inside.join("a.xml"), "a").expect("it can be written");
    fs::write(place.path().join("secret.xml"), "secret").expect("it can be written");
    symlink("a.xml", inside.join("inner.xml")).expect("it can be made");
    symlink("../secret.xml", inside.join("outer.xml")).expect("it can be made");
    symlink("..", inside.join("up")).expect("it can be made");
    symlink(&inside, place.path().join("way")).expect("it can be made");
    // The folder itself may be named by a link.
    let folder = ModuleFolder::open(&place.path().join("way")).expect("it is there");
    let read = |name: &str| folder.read(name).map_err(|error| error.to_string());
    assert_eq!(read("inner.xml").as_deref(), Ok(&b"a"[..]));
    for outside in ["outer.xml", "up/secret.xml"] {
        assert!(read(outside).expect_err("it is not read").contains("is outside of the folder"), "{outside}");
    }
    symlink("/dev/zero", inside.join("zero")).expect("it can be made");
    assert!(read("zero").is_err(), "a device");
}
