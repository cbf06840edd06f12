//! Modules of the guests' kernel, unpacked, each after those that it depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::ImageError;

/// The modules below one folder of a kernel package.
#[derive(Debug)]
pub(super) struct Modules {
    files: BTreeMap<String, PathBuf>,
    /// What the kernel has without modules.
    builtin: BTreeSet<String>,
}

impl Modules {
    /// Finds all modules below `folder`, which has `modules.builtin` in it.
    pub fn find(folder: &Path) -> Result<Self, ImageError> {
        let list = folder.join("modules.builtin");
        let unreadable = |source| ImageError::Unreadable { path: list.clone(), source };
        let text = fs::read_to_string(&list).map_err(unreadable)?;
        let builtin = text.lines().filter_map(|line| name_of(Path::new(line))).collect();
        let mut files = BTreeMap::new();
        let mut folders = vec![folder.join("kernel")];
        while let Some(folder) = folders.pop() {
            let unreadable = |source| ImageError::Unreadable { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let path = entry.map_err(unreadable)?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Some(name) = name_of(&path) {
                    files.insert(name, path);
                }
            }
        }
        Ok(Self { files, builtin })
    }

    /// Whether the kernel has it, as a module or built in.
    pub fn has(&self, name: &str) -> bool {
        let name = name.replace('-', "_");
        self.files.contains_key(&name) || self.builtin.contains(&name)
    }

    /// Appends the module `name` to `loaded`, names with contents in the order in which they can be loaded.
    pub fn load(&self, name: &str, loaded: &mut Vec<(String, Vec<u8>)>) -> Result<(), ImageError> {
        let name = name.replace('-', "_");
        if self.builtin.contains(&name) || loaded.iter().any(|(other, _)| *other == name) {
            return Ok(());
        }
        let path = self.files.get(&name).ok_or_else(|| ImageError::NoModule { module: name.clone() })?;
        let content = unpacked(path)?;
        for other in dependencies(&content) {
            self.load(&other, loaded)?;
        }
        loaded.push((name, content));
        Ok(())
    }
}

/// The name of a module, in which the kernel has no dashes.
fn name_of(path: &Path) -> Option<String> {
    let (name, ending) = path.file_name()?.to_str()?.split_once('.')?;
    ["ko", "ko.xz", "ko.zst"].contains(&ending).then(|| name.replace('-', "_"))
}

fn unpacked(path: &Path) -> Result<Vec<u8>, ImageError> {
    let packed = fs::read(path).map_err(|source| ImageError::Unreadable { path: path.to_owned(), source })?;
    let wrong = |why: String| ImageError::Packed { path: path.to_owned(), why };
    let mut content = Vec::new();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("xz") => {
            let mut reader = lzma_rust2::XzReader::new(packed.as_slice(), false);
            reader.read_to_end(&mut content).map_err(|error| wrong(error.to_string()))?;
        }
        Some("zst") => {
            let mut reader = ruzstd::decoding::StreamingDecoder::new(packed.as_slice())
                .map_err(|error| wrong(error.to_string()))?;
            reader.read_to_end(&mut content).map_err(|error| wrong(error.to_string()))?;
        }
        _ => content = packed,
    }
    Ok(content)
}

/// What the section `.modinfo` says after `depends=`: texts that end with a zero byte.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let list = module[at + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let list = String::from_utf8_lossy(list).into_owned();
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_stand_in_the_module() {
        let names = dependencies(b"..\0license=GPL\0depends=net_failover,ptp\0retpoline=Y\0");
        assert_eq!(names, ["net_failover", "ptp"]);
        assert_eq!(dependencies(b"..\0depends=\0name=failover\0"), [""; 0]);
        assert_eq!(dependencies(b"no module"), [""; 0]);
    }

    #[test]
    fn modules_are_loaded_after_those_that_they_need() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            fs::create_dir_all(folder.path().join("kernel/net")).unwrap();
            fs::write(folder.path().join("kernel/net").join(name), text).unwrap();
        };
        put("card-a.ko", "\0depends=middle,builtin\0");
        put("middle.ko", "\0depends=low\0");
        put("low.ko", "\0depends=\0");
        put("damaged.ko.xz", "no xz");
        fs::write(folder.path().join("modules.builtin"), "kernel/net/builtin.ko\n").unwrap();
        let modules = Modules::find(folder.path()).unwrap();
        let mut loaded = Vec::new();
        modules.load("card_a", &mut loaded).unwrap();
        modules.load("card-a", &mut loaded).unwrap();
        let names: Vec<_> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["low", "middle", "card_a"]);
        assert!(matches!(modules.load("other", &mut loaded), Err(ImageError::NoModule { .. })));
        assert!(matches!(modules.load("damaged", &mut loaded), Err(ImageError::Packed { .. })));
    }
}
