//! Debian's packages for guests: which files belong to which, and which belong together. `scripts/emulator
//! add` unpacks them and writes the lists in `var/lib/paceline/packages/`, a folder for each package with
//! `files` (paths, one a line) and `control` (its fields `Package`, `Source` and `Depends`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where the lists are, below the root folder of the packages.
const LISTS: &str = "var/lib/paceline/packages";

/// Where Debian's loader searches by itself.
pub(super) const LIBRARIES: [&str; 6] =
    ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib", "usr/lib", "lib64", "usr/lib64"];

/// What a guest has no use for: documentation, translations, and what starts services.
const LEFT_OUT: [&str; 16] = [
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
    // PostgreSQL's compiler of queries, which runs only for dear ones: it needs 130 MB of LLVM.
    "usr/lib/postgresql/15/lib/bitcode",
    "usr/lib/postgresql/15/lib/llvmjit.so",
];

/// What others depend on for the sake of their installation, or what any guest has anyway: it comes only for
/// who names it.
const NOT_FOLLOWED: [&str; 18] = [
    "adduser",
    "debconf",
    "dpkg",
    "init-system-helpers",
    "iproute2",
    "libc-bin",
    "libc6",
    "locales",
    "lsb-base",
    "passwd",
    "perl",
    "perl-base",
    "procps",
    "sensible-utils",
    "sysvinit-utils",
    "tar",
    "ucf",
    "usrmerge",
];

/// Programs that Debian splits so that installers can be small, with the package that makes them whole.
const WHOLE: [(&str, &str); 2] = [("perl-base", "perl"), ("python3-minimal", "python3")];

#[derive(Debug, Default)]
struct Package {
    files: Vec<String>,
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
            let path = |line: &str| line.trim_start_matches("./").trim_matches('/').to_owned();
            let files = files.lines().map(path).filter(|path| !path.is_empty()).collect();
            packages.insert(name, Package { files, depends: depends(&field("Depends")) });
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

    /// A package and all that it depends on, with what makes a split one whole.
    pub fn closure(&self, package: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut left = vec![package];
        left.extend(WHOLE.iter().filter(|(part, _)| *part == package).map(|(_, whole)| *whole));
        let named = left.clone();
        while let Some(name) = left.pop() {
            let Some((name, found)) = self.packages.get_key_value(name) else { continue };
            let is_followed = named.contains(&name.as_str()) || !NOT_FOLLOWED.contains(&name.as_str());
            if is_followed && seen.insert(name.as_str()) {
                left.extend(found.depends.iter().map(String::as_str));
            }
        }
        seen
    }

    /// The files of a package. Where it is only depended on, its libraries are left to those who need them.
    pub fn files(&self, package: &str, is_depended_on: bool) -> impl Iterator<Item = &str> {
        let files = self.all_files(package);
        files.filter(move |path| !is_left_out(path) && (!is_depended_on || !is_library(path)))
    }

    /// The files of a package with those that guests do not have.
    pub fn all_files(&self, package: &str) -> impl Iterator<Item = &str> {
        self.packages.get(package).into_iter().flat_map(|package| &package.files).map(String::as_str)
    }
}

/// Whether a path is that of a library where the loader searches by itself; plugins have folders of their
/// own.
fn is_library(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    LIBRARIES.contains(&folder) && name.contains(".so")
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
    fn a_package_brings_what_it_depends_on_without_libraries() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let folder = "./\n./usr/\n";
        let control =
            "Package: nginx\nDepends: nginx-common (= 1.22), libc6 (>= 2.36), magic, perl:any | other\n";
        put(root, "nginx", control, &format!("{folder}./usr/sbin/nginx\n./usr/share/doc/nginx/copyright\n"));
        let common = "Package: nginx-common\nSource: nginx (1.22)\nDepends: nginx\n";
        put(root, "nginx-common", common, "./etc/nginx/nginx.conf\n./etc/init.d/nginx\n");
        put(root, "magic", "Package: magic\n", "./usr/lib/libmagic.so.1\n./usr/lib/magic/magic.so\n");
        put(root, "libc6", "Package: libc6\nSource: glibc\n", "./lib/libc.so.6\n");
        put(root, "perl-base", "Package: perl-base\n", "./usr/bin/perl\n");
        put(root, "perl", "Package: perl\nDepends: perl-base\n", "./usr/share/perl/strict.pm\n");
        let packages = Packages::read(root);
        assert_eq!(packages.owner("usr/sbin/nginx"), Some("nginx"));
        assert_eq!(packages.owner("usr/sbin/other"), None);
        let closure = |name| packages.closure(name).into_iter().collect::<Vec<_>>();
        assert_eq!(closure("nginx"), ["magic", "nginx", "nginx-common"]);
        assert_eq!(closure("perl-base"), ["perl", "perl-base"]);
        let files = |name, depended_on| packages.files(name, depended_on).collect::<Vec<_>>();
        assert_eq!(files("nginx", true), ["usr", "usr/sbin/nginx"]);
        assert_eq!(files("nginx-common", true), ["etc/nginx/nginx.conf"]);
        assert_eq!(files("magic", true), ["usr/lib/magic/magic.so"]);
        assert_eq!(files("magic", false), ["usr/lib/libmagic.so.1", "usr/lib/magic/magic.so"]);
        assert!(packages.has("libc6") && !packages.has("none") && closure("none").is_empty());
    }
}
