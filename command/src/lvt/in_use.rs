//! The LVT pages that programs of this machine use, as their environments name them.
//!
//! Invariant: each page is listed once, by whatever paths it is named; what is no page, or not for this user,
//! is not listed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use paceline_app::failure::CommandError;
use paceline_lvt::{ENV, Page};
use procfs::process::{Process, all_processes};

/// So many programs of a page are named.
const NAMED: usize = 3;

/// A page that programs use.
#[derive(Debug)]
pub struct InUse {
    path: PathBuf,
    /// Their process ids and names, in ascending order.
    programs: Vec<(i32, String)>,
}

/// All pages in use, by the first process that uses each.
pub fn pages() -> Vec<InUse> {
    let mut found: BTreeMap<(u64, u64), InUse> = BTreeMap::new();
    // Without /proc nothing is found.
    let processes = all_processes().into_iter().flatten().flatten();
    for (path, program) in processes.filter_map(|process| named_by(&process)) {
        let Ok(data) = path.metadata() else { continue };
        let page = (data.dev(), data.ino());
        if let Some(known) = found.get_mut(&page) {
            known.programs.push(program);
        } else if Page::open(&path).is_ok() {
            found.insert(page, InUse { path, programs: vec![program] });
        }
    }
    let mut pages: Vec<_> = found.into_values().collect();
    pages.iter_mut().for_each(|page| page.programs.sort());
    pages.sort_by(|one, other| one.programs.cmp(&other.programs));
    pages
}

/// The page that the environment of a process names, and its id and name; of this user's only, as others' are
/// not shown to us.
fn named_by(process: &Process) -> Option<(PathBuf, (i32, String))> {
    let path =
        process.environ().ok()?.get(ENV.as_ref() as &std::ffi::OsStr).filter(|path| !path.is_empty())?.into();
    Some((path, (process.pid, process.stat().ok()?.comm)))
}

/// The only page there is, or what to do where there is none or more than one.
pub fn only(pages: Vec<InUse>) -> Result<Page, CommandError> {
    match &pages[..] {
        [page] => Page::open(&page.path).map_err(|error| CommandError::Option(error.to_string())),
        pages => Err(CommandError::Option(choice(pages))),
    }
}

/// Says what can be watched.
fn choice(pages: &[InUse]) -> String {
    if pages.is_empty() {
        return format!(
            "no running program uses an LVT page; `paceline pace -- COMMAND` makes one for the command, `paceline lvt new FILE` one for \
             programs that find its name in {ENV}, and --page names any other"
        );
    }
    let lines: String =
        pages.iter().map(|page| format!("\n  {}", line(&page.path, &page.programs))).collect();
    format!("{} LVT pages are in use; choose one by --page:{lines}", pages.len())
}

fn line(path: &Path, programs: &[(i32, String)]) -> String {
    let mut names: Vec<_> = programs.iter().take(NAMED).map(|(pid, name)| format!("{name} {pid}")).collect();
    if programs.len() > NAMED {
        names.push(format!("{} more", programs.len() - NAMED));
    }
    format!("{} ({})", path.display(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_page_is_reported_how_one_is_made() {
        let message = choice(&[]);
        assert!(
            ["paceline pace", "paceline lvt new FILE", ENV, "--page"]
                .iter()
                .all(|word| message.contains(word)),
            "{message}"
        );
    }

    #[test]
    fn one_of_several_pages_is_to_be_chosen() {
        let programs =
            |first: i32, count: i32| (first..first + count).map(|pid| (pid, "phold".to_owned())).collect();
        let pages = [
            InUse { path: "/proc/7/fd/5".into(), programs: programs(8, 5) },
            InUse { path: "/dev/shm/my.lvt".into(), programs: programs(20, 1) },
        ];
        let message = choice(&pages);
        let lines: Vec<_> = message.lines().collect();
        assert!(lines[0].starts_with("2 LVT pages") && lines[0].contains("--page"), "{message}");
        assert_eq!(lines[1], "  /proc/7/fd/5 (phold 8, phold 9, phold 10, 2 more)");
        assert_eq!(lines[2], "  /dev/shm/my.lvt (phold 20)");
    }
}
