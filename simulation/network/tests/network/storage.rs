//! Disks and storage are kept; names that are not there are refused.

use crate::refused::{BASE, mistake};
use crate::{attempt, platform};

#[test]
fn disks_are_kept_with_their_hosts() {
    let text = BASE.replace(
        "<host id=\"b\" speed=\"1Gf\"/>",
        "<host id=\"b\" speed=\"1Gf\"><prop id=\"ram\" value=\"1B\"/><disk id=\"d\" read_bw=\"100MBps\" write_bw=\"40MBps\">\
         <prop id=\"size\" value=\"1GiB\"/></disk><disk read_bw=\"1\" write_bw=\"2kBps\"/></host>",
    );
    let platform = platform(&text);
    let [d, root] = &platform.hosts()[1].disks[..] else { panic!("there are two") };
    assert_eq!((d.name.as_str(), d.read, d.write), ("d", 1e8, 4e7));
    assert_eq!(d.properties["size"], "1GiB");
    // The name that the definition gives to a disk without one.
    assert_eq!((root.name.as_str(), root.read, root.write), ("/", 1.0, 2000.0));
    assert!(platform.hosts()[0].disks.is_empty() && platform.hosts()[1].properties["ram"] == "1B");
}

#[test]
fn storages_are_kept_with_their_types_in_any_order() {
    let text = BASE.replace(
        "<host id=\"b\" speed=\"1Gf\"/>",
        "<storage id=\"s\" typeId=\"t\" content=\"list.txt\" attach=\"b\"><prop id=\"p\" value=\"v\"/></storage>\
         <host id=\"b\" speed=\"1Gf\"><mount storageId=\"s\" name=\"/home\"/></host>\
         <storage_type id=\"t\" model=\"linear\" size=\"2kB\" content=\"other.txt\"><model_prop id=\"Bread\" value=\"9\"/></storage_type>",
    );
    let platform = platform(&text);
    let [storage] = platform.storages() else { panic!("there is one") };
    let b = platform.host("b").unwrap();
    assert_eq!((storage.name.as_str(), storage.kind.as_str(), storage.host), ("s", "t", b));
    assert_eq!((storage.size, storage.content.as_str()), (2000.0, "list.txt"));
    assert_eq!(storage.mounts, [(b, "/home".to_owned())]);
    assert_eq!((&*storage.properties["p"], &*storage.kind_properties["Bread"]), ("v", "9"));
}

#[test]
fn what_is_not_there_is_refused() {
    let host = "<host id=\"b\" speed=\"1Gf\"/>";
    let kind = "<storage_type id=\"t\" size=\"1\"/>";
    for (to, message) in [
        (
            format!("{host}<storage id=\"s\" typeId=\"t\" attach=\"b\"/>"),
            "4:51: there is no type of storage `t`; allowed: the name of a type of storage",
        ),
        (
            format!("{kind}<storage id=\"s\" typeId=\"t\" attach=\"x\"/>{host}"),
            "4:67: there is no host `x`; allowed: the name of a host",
        ),
        (
            "<host id=\"b\" speed=\"1Gf\"><mount storageId=\"s\" name=\"/\"/></host>".to_owned(),
            "4:44: there is no storage `s`; allowed: the name of a storage",
        ),
        (
            format!("{kind}{kind}{host}"),
            "4:50: a second type of storage with the name `t`; allowed: names that no other type has",
        ),
        (
            "<host id=\"b\" speed=\"1Gf\"><disk id=\"d\" read_bw=\"1Bps\"/></host>".to_owned(),
            "4:26: <disk> without the attribute `write_bw`; allowed: write_bw=\"...\" in every <disk>",
        ),
    ] {
        mistake(BASE, host, &to, message);
    }
    assert!(attempt(&BASE.replace(host, &format!("{host}<mount storageId=\"s\" name=\"/\"/>"))).is_err());
}
