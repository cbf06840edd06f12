//! What packages do when they are installed, which guests' packages never are: users that Debian's servers
//! run as, the folders of those users, and links to settings.

use super::archive::{Archive, Content, Entry};

/// A user with a group of the same name and number.
struct Account {
    name: &'static str,
    number: u32,
    home: &'static str,
    /// What belongs to it, with all below.
    folders: &'static [&'static str],
}

/// Numbers below 100 are Debian's own (base-passwd); the others are free.
const ACCOUNTS: [Account; 8] = [
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
    Account { name: "adm", number: 4, home: "/", folders: &[] },
    Account { name: "nobody", number: 65534, home: "/", folders: &[] },
];

/// A link, with what it leads to. It is made where that is there and nothing else has its path.
const LINKS: [(&str, &str); 3] = [
    ("etc/nginx/sites-enabled/default", "/etc/nginx/sites-available/default"),
    ("var/www/html/index.html", "/usr/share/nginx/html/index.html"),
    ("etc/chrony/chrony.conf", "/usr/share/chrony/chrony.conf"),
];

/// Adds `/etc/passwd` and `/etc/group`, gives the users what is theirs, and makes links.
pub(super) fn add(archive: &mut Archive) {
    for (link, to) in LINKS {
        if archive.get(to).is_some() && archive.get(link).is_none() {
            archive.add(link, Entry::link(to));
        }
    }
    let (mut passwd, mut group) = (String::new(), String::new());
    for Account { name, number, home, folders } in ACCOUNTS {
        passwd += &format!("{name}:x:{number}:{number}:{name}:{home}:/bin/sh\n");
        group += &format!("{name}:x:{number}:\n");
        for folder in folders {
            if archive.get(folder).is_none() {
                archive.add(folder, Entry { permissions: 0o750, ..Entry::folder() });
            }
            let inside = |path: &str| {
                path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let paths: Vec<String> =
                archive.iter().map(|(path, _)| path.to_owned()).filter(|p| inside(p)).collect();
            for path in paths {
                archive.get_mut(&path).expect("the path is one of the archive's").owner = (number, number);
            }
        }
    }
    group += "nogroup:x:65533:\n";
    archive.add("etc/passwd", Entry::file(passwd, false));
    archive.add("etc/group", Entry::file(group, false));
    let name_service = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";
    for (path, text) in [("etc/nsswitch.conf", name_service), ("etc/shells", "/bin/sh\n")] {
        if archive.get(path).is_none_or(|entry| entry.content == Content::Folder) {
            archive.add(path, Entry::file(text, false));
        }
    }
}
