//! Packet networks from the platform files of others, where they are.

use std::path::Path;

use paceline_kernel::Model;
use paceline_models::packets::from_section;
use paceline_scenario::Scenario;

/// Each is read, or refused with what it has and what is allowed.
#[test]
fn platforms_are_read_or_refused_by_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/platforms");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: there is no {}", folder.display());
        return;
    };
    let paths = files.map(|file| file.expect("it was listed").path());
    let mut read = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "xml")) {
        let name = path.file_name().expect("files have names").display().to_string();
        let text = format!(
            "[model]\ntopology = \"platform\"\npath = {name:?}\n[[model.flows]]\nfrom = \"hosts\"\nto = \"opposite\"\n\
             transport = \"tcp\"\nbytes = \"1kB\"\n"
        );
        let section =
            Scenario::parse("net.toml", &text, &folder, &[]).and_then(|mut all| all.section("model"));
        match section.and_then(|mut section| from_section(&mut section, 1)) {
            Ok(model) => read.push((name, model.lps())),
            Err(error) => assert!(error.one_line().contains("; allowed: "), "{name}: {}", error.one_line()),
        }
    }
    assert!(read.len() >= 3, "{read:?} were read");
}
