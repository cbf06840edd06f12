//! Debian's packages for guests: which files belong to which, and which belong together. `scripts/emulator
//! add` unpacks them and writes the lists in `var/lib/paceline/packages/`, a folder for each package with
//! `files` (paths, one a line) and `control` (its fields `Package`, `Source` and `Depends`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where the lists are, below the root folder of the packages.
const LISTS: &str = "var/lib/paceline/packages";

/// What a guest has no use for: documentation, translations, and what starts services.
const LEFT_OUT: [&str; 14] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/info",
    "usr/share/bug",
    "usr/share/bash-completion",
    "usr/share/doc-base",
    "etc/init.d",
    "etc/logrotate.d",
    "etc/cron.daily",
    "lib/systemd",
    "usr/lib/systemd",
    "etc/ufw",
];

#[derive(Debug, Default)]
struct Package {
    files: Vec<String>,
    source: String,
    depends: Vec<String>,
}

/// The packages that were added.
#[derive(Debug, Default)]
pub(super) struct Packages {
    packages: BTreeMap<String, Package>,
}

impl Packages {
    /// Reads the lists below `root`. Where there are none, it has no packages.
    pub fn read(root: &Path) -> Self {
        let mut packages = BTreeMap::new();
        for entry in fs::read_dir(root.join(LISTS)).into_iter().flatten().flatten() {
            let read = |name| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
            let (control, files) = (read("control"), read("files"));
            let field = |name: &str| {
                let line = control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                line.unwrap_or_default().trim().to_owned()
            };
            let name = field("Package");
            let source = field("Source").split(' ').next().unwrap_or_default().to_owned();
            let source = if source.is_empty() { name.clone() } else { source };
            let path = |line: &str| line.trim_start_matches("./").trim_matches('/').to_owned();
            let files = files.lines().map(path).filter(|path| !path.is_empty()).collect();
            packages.insert(name, Package { files, source, depends: depends(&field("Depends")) });
        }
        Self { packages }
    }

    /// The package that holds the file at `path`, which has no slash at either end.
    pub fn owner(&self, path: &str) -> Option<&str> {
        let holds = |(_, package): &(&String, &Package)| package.files.iter().any(|file| file == path);
        self.packages.iter().find(holds).map(|(name, _)| name.as_str())
    }

    /// Whether a package was added.
    pub fn has(&self, package: &str) -> bool {
        self.packages.contains_key(package)
    }

    /// The files of a package and of those that it depends on and that were made from the same source, such
    /// as nginx and nginx-common. Libraries are found by who needs them.
    pub fn files(&self, package: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut left = vec![package];
        while let Some(name) = left.pop() {
            let Some(found) = self.packages.get(name).filter(|_| seen.insert(name)) else { continue };
            let same_source =
                |other: &&String| self.packages.get(*other).is_some_and(|other| other.source == found.source);
            left.extend(found.depends.iter().filter(same_source).map(String::as_str));
        }
        let files = seen.iter().flat_map(|name| &self.packages[*name].files).map(String::as_str);
        files.filter(|path| !is_left_out(path)).collect()
    }
}

fn is_left_out(path: &str) -> bool {
    LEFT_OUT
        .iter()
        .any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The names in a field such as `libc6 (>= 2.36), perl:any | perl-base`.
fn depends(field: &str) -> Vec<String> {
    let name = |part: &str| part.trim().split([' ', ':', '(']).next().unwrap_or_default().to_owned();
    field.split([',', '|']).map(name).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, control: &str, files: &str) {
        let folder = root.join(LISTS).join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("control"), control).unwrap();
        fs::write(folder.join("files"), files).unwrap();
    }

    #[test]
    fn a_program_brings_the_packages_of_its_source() {
        let root = tempfile::tempdir().unwrap();
        let (root, folder) = (root.path(), "./\n./usr/\n");
        let depends = "Depends: nginx-common (= 1.22), libc6 (>= 2.36), perl:any | other\n";
        let control = format!("Package: nginx\n{depends}");
        put(root, "nginx", &control, &format!("{folder}./usr/sbin/nginx\n./usr/share/doc/nginx/copyright\n"));
        let common = "Package: nginx-common\nSource: nginx (1.22)\n";
        put(
            root,
            "nginx-common",
            common,
            "./etc/\n./etc/nginx/\n./etc/nginx/nginx.conf\n./etc/init.d/nginx\n",
        );
        put(root, "libc6", "Package: libc6\nSource: glibc\n", "./lib/libc.so.6\n");
        let packages = Packages::read(root);
        assert_eq!(packages.owner("usr/sbin/nginx"), Some("nginx"));
        assert_eq!(packages.owner("usr/sbin/other"), None);
        let files: Vec<_> = packages.files("nginx").into_iter().collect();
        assert_eq!(files, ["etc", "etc/nginx", "etc/nginx/nginx.conf", "usr", "usr/sbin/nginx"]);
        assert!(packages.has("libc6") && !packages.has("perl") && packages.files("perl").is_empty());
    }
}
