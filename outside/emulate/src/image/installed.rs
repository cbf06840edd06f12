//! What packages do when they are installed, which guests' packages never are: users that Debian's servers
//! run as, the folders of those users, and links to settings. What services say of that themselves is in
//! `services`; here is what only their packages' scripts know.

use std::collections::BTreeMap;

use super::archive::{Archive, Content, Entry};
use super::services::Services;

/// A user with a group of the same name and number.
struct Account {
    name: &'static str,
    number: u32,
    home: &'static str,
    /// What belongs to it, with all below.
    folders: &'static [&'static str],
}

/// Numbers below 100 are Debian's own (base-passwd); the others are free.
const ACCOUNTS: [Account; 12] = [
    Account { name: "root", number: 0, home: "/root", folders: &["root"] },
    Account { name: "www-data", number: 33, home: "/var/www", folders: &[] },
    Account {
        name: "redis",
        number: 101,
        home: "/var/lib/redis",
        folders: &["var/lib/redis", "var/log/redis"],
    },
    Account {
        name: "postgres",
        number: 102,
        home: "/var/lib/postgresql",
        folders: &["var/lib/postgresql", "var/log/postgresql", "run/postgresql"],
    },
    Account {
        name: "_chrony",
        number: 103,
        home: "/var/lib/chrony",
        folders: &["var/lib/chrony", "var/log/chrony", "run/chrony"],
    },
    Account { name: "sshd", number: 104, home: "/run/sshd", folders: &[] },
    Account {
        name: "mosquitto",
        number: 105,
        home: "/var/lib/mosquitto",
        folders: &["var/lib/mosquitto", "var/log/mosquitto", "run/mosquitto"],
    },
    Account { name: "dnsmasq", number: 106, home: "/var/lib/misc", folders: &[] },
    Account {
        name: "bind",
        number: 107,
        home: "/var/cache/bind",
        folders: &["var/cache/bind", "var/lib/bind"],
    },
    Account { name: "tcpdump", number: 108, home: "/", folders: &[] },
    Account { name: "adm", number: 4, home: "/", folders: &[] },
    Account { name: "nobody", number: 65534, home: "/", folders: &[] },
];

/// The number of the first user that only services name.
const FIRST_NUMBER: u32 = 110;

/// A link, with what it leads to. It is made where that is there and nothing else has its path.
const LINKS: [(&str, &str); 4] = [
    ("etc/nginx/sites-enabled/default", "/etc/nginx/sites-available/default"),
    ("var/www/html/index.html", "/usr/share/nginx/html/index.html"),
    ("etc/chrony/chrony.conf", "/usr/share/chrony/chrony.conf"),
    ("etc/ssh/sshd_config", "/usr/share/openssh/sshd_config"),
];

/// Short lists of names and numbers, where no package brings long ones.
const FILES: [(&str, &str); 5] = [
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    ),
    ("etc/shells", "/bin/sh\n"),
    ("etc/host.conf", "multi on\n"),
    ("etc/protocols", "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\n"),
    (
        "etc/services",
        "ftp 21/tcp\nssh 22/tcp\nsmtp 25/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp 80/tcp\nntp 123/udp\nhttps 443/tcp\n",
    ),
];

/// What PAM does for programs that ask it, where it is there: users are those of the files, and none has a
/// password.
const PAM: [(&str, &str); 5] = [
    ("etc/pam.d/common-auth", "auth required pam_unix.so\n"),
    ("etc/pam.d/common-account", "account required pam_unix.so\n"),
    ("etc/pam.d/common-password", "password required pam_unix.so\n"),
    ("etc/pam.d/common-session", "session required pam_unix.so\n"),
    ("etc/pam.d/common-session-noninteractive", "session required pam_unix.so\n"),
];

/// Adds `/etc/passwd` and `/etc/group`, gives the users what is theirs, and makes links.
pub(super) fn add(archive: &mut Archive, services: &Services) {
    for (link, to) in LINKS {
        if archive.get(to).is_some() && archive.get(link).is_none() {
            archive.add(link, Entry::link(to));
        }
    }
    archive.add("run/lock", Entry { permissions: 0o1777, ..Entry::folder() });
    for (link, to) in [("var/run", "/run"), ("var/lock", "/run/lock")] {
        if archive.get(link).is_none() {
            archive.add(link, Entry::link(to));
        }
    }
    let mut numbers = BTreeMap::new();
    let (mut passwd, mut group, mut shadow) = (String::new(), String::new(), String::new());
    let mut account = |name: &str, number: u32, home: &str| {
        passwd += &format!("{name}:x:{number}:{number}:{name}:{home}:/bin/sh\n");
        group += &format!("{name}:x:{number}:\n");
        // The day of the last change of its password, which has to be there.
        shadow += &format!("{name}:*:10000:0:99999:7:::\n");
        numbers.insert(name.to_owned(), number);
    };
    for Account { name, number, home, folders } in ACCOUNTS {
        account(name, number, home);
        for folder in folders {
            give(archive, folder, 0o750, (number, number));
        }
    }
    let known = |name: &str| ACCOUNTS.iter().any(|account| account.name == name);
    for (number, name) in (FIRST_NUMBER..).zip(services.users.iter().filter(|name| !known(name))) {
        account(name, number, "/");
    }
    group += "nogroup:x:65533:\n";
    for folder in &services.folders {
        let owner = (numbers[&folder.owner.0], numbers[&folder.owner.1]);
        if !ACCOUNTS.iter().any(|account| account.folders.contains(&folder.path.as_str())) {
            give(archive, &folder.path, folder.permissions, owner);
        }
    }
    archive.add("etc/passwd", Entry::file(passwd, false));
    archive.add("etc/group", Entry::file(group, false));
    archive.add("etc/shadow", Entry { permissions: 0o600, ..Entry::file(shadow, false) });
    let has_pam = archive.get("usr/share/pam/common-auth").is_some();
    for (path, text) in FILES.into_iter().chain(PAM.into_iter().filter(|_| has_pam)) {
        if archive.get(path).is_none_or(|entry| entry.content == Content::Folder) {
            archive.add(path, Entry::file(text, false));
        }
    }
}

/// Makes a folder unless it is there, and gives it to a user with all that is in it.
fn give(archive: &mut Archive, folder: &str, permissions: u32, owner: (u32, u32)) {
    if archive.get(folder).is_none() {
        archive.add(folder, Entry { permissions, ..Entry::folder() });
    }
    let inside =
        |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let paths: Vec<String> = archive.iter().map(|(path, _)| path.to_owned()).filter(|p| inside(p)).collect();
    for path in paths {
        archive.get_mut(&path).expect("the path is one of the archive's").owner = owner;
    }
}
