//! What the services of Debian's packages expect of systemd, which guests do not have: users to run as, and
//! folders of theirs. The formats: systemd.exec(5), tmpfiles.d(5).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A folder that a service finds when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    /// Without a slash at either end.
    pub path: String,
    pub permissions: u32,
    /// The names of its user and group.
    pub owner: (String, String),
}

/// Users and folders of all services of some packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Services {
    pub users: BTreeSet<String>,
    pub folders: Vec<Folder>,
}

/// Keys of units for folders, and what they are in.
const FOLDERS: [(&str, &str); 4] = [
    ("RuntimeDirectory", "run"),
    ("StateDirectory", "var/lib"),
    ("LogsDirectory", "var/log"),
    ("CacheDirectory", "var/cache"),
];

/// Folders that are made elsewhere.
const USUAL: [&str; 3] = ["root", "tmp", "dev"];

impl Services {
    /// Those that the files of packages below `root` describe.
    pub fn read<'a>(root: &Path, files: impl Iterator<Item = &'a str>) -> Self {
        let mut services = Self::default();
        let files: BTreeSet<&str> = files.collect();
        for file in files {
            let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
            let (folder, name) = file.rsplit_once('/').unwrap_or_default();
            // A unit with @ is a pattern: what it would be started with is not known.
            if folder.ends_with("lib/systemd/system") && name.ends_with(".service") && !name.contains('@') {
                services.unit(&text);
            } else if folder == "usr/lib/tmpfiles.d" {
                services.temporary(&text);
            }
        }
        services
    }

    fn unit(&mut self, text: &str) {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let user = value("User").map(str::trim).filter(|user| is_name(user)).unwrap_or("root");
        let group = value("Group").map(str::trim).filter(|group| is_name(group)).unwrap_or(user);
        self.users.extend([user.to_owned(), group.to_owned()]);
        for (key, place) in FOLDERS {
            let mode = value(&format!("{key}Mode")).and_then(|mode| u32::from_str_radix(mode.trim(), 8).ok());
            for name in value(key).unwrap_or_default().split_ascii_whitespace() {
                self.folder(&format!("{place}/{name}"), mode.unwrap_or(0o755), user, group);
            }
        }
    }

    /// Lines such as `d /run/postgresql 2775 postgres postgres -`.
    fn temporary(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [kind, path, mode, user, group, ..] = words[..] else { continue };
            let owner = |name| if is_name(name) { name } else { "root" };
            if kind.starts_with(['d', 'D']) && path.starts_with('/') {
                let mode = u32::from_str_radix(mode, 8).unwrap_or(0o755);
                self.users.extend([owner(user).to_owned(), owner(group).to_owned()]);
                let path = path.trim_matches('/');
                let path =
                    path.strip_prefix("var/run/").map_or(path.to_owned(), |rest| format!("run/{rest}"));
                self.folder(&path, mode, owner(user), owner(group));
            }
        }
    }

    fn folder(&mut self, path: &str, permissions: u32, user: &str, group: &str) {
        let first = path.split('/').next().unwrap_or_default();
        // `%` stands for something that only systemd knows.
        if !USUAL.contains(&first) && !path.contains('%') && !path.split('/').any(|part| part == "..") {
            let owner = (user.to_owned(), group.to_owned());
            self.folders.push(Folder { path: path.to_owned(), permissions, owner });
        }
    }
}

/// A name and no number, `-` for none, or a pattern.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    text.starts_with(|first: char| first.is_ascii_lowercase() || first == '_') && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_lines_of_temporary_folders_name_users_and_folders() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let files =
            ["lib/systemd/system/a.service", "lib/systemd/system/b@.service", "usr/lib/tmpfiles.d/c.conf"];
        put(
            files[0],
            "[Service]\nUser=_a\nRuntimeDirectory=a a/b\nStateDirectory=%i\nRuntimeDirectoryMode=0700\n",
        );
        put(files[1], "[Service]\nUser=b\n");
        put(
            files[2],
            "# d /x 1 y z\nd /var/run/c 2775 c adm -\nr! /etc/lock\nd /run/../x 0755 e e\nd /run/f 0755 - 5 -\n",
        );
        let services = Services::read(root.path(), files.into_iter());
        let users: Vec<&str> = services.users.iter().map(String::as_str).collect();
        assert_eq!(users, ["_a", "adm", "c", "e", "root"]);
        let folder = |path: &str, permissions, user: &str, group: &str| {
            let owner = (user.to_owned(), group.to_owned());
            Folder { path: path.into(), permissions, owner }
        };
        let expected = [
            folder("run/a", 0o700, "_a", "_a"),
            folder("run/a/b", 0o700, "_a", "_a"),
            folder("run/c", 0o2775, "c", "adm"),
            folder("run/f", 0o755, "root", "root"),
        ];
        assert_eq!(services.folders, expected);
    }
}
