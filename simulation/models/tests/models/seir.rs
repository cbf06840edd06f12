//! Epidemics: one digest in every mode, the differential equations, and what is refused.

use paceline_kernel::Time;
use paceline_models::seir::Seir;

use crate::known::agrees_with_theory;
use crate::modes::all_agree;
use crate::{built, refused};

fn model(keys: &str, seed: u64) -> Seir {
    built(keys, |section| Seir::from_section(section, seed))
}

#[test]
fn an_epidemic_has_one_digest_in_every_mode() {
    for keys in ["people = 300", "graph = \"regular\"\npeople = 300\ndegree = 6\nbetween_contacts = \"1d\""] {
        all_agree(|| model(keys, 1), Time::MAX);
        all_agree(|| model(keys, 1), Time::secs(30 * 86_400));
    }
}

/// Shares of many people follow the equations: on a complete graph, and on one whose edges matter.
#[test]
fn many_people_follow_the_equations() {
    for graph in ["graph = \"complete\"", "graph = \"regular\"\ndegree = 4"] {
        let keys = format!("{graph}\npeople = 5000\nexposed = 250\nbetween_contacts = \"36h\"");
        agrees_with_theory(
            |seed| model(&keys, seed),
            Time::secs(45 * 86_400),
            &[
                ("infected_share", "infected_share_by_theory", 0.05),
                ("most_infectious", "most_infectious_by_theory", 0.1),
            ],
        );
    }
}

#[test]
fn a_file_says_who_meets_whom() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ring.edges");
    let edge = |person: u32| format!("{} {}\n", person * 10, (person + 1) % 50 * 10);
    let edges: String = (0..50).map(edge).collect();
    std::fs::write(&file, edges + "10 0\n7 7\n").expect("a file");
    let keys = format!("graph = \"file\"\npath = {:?}\nexposed = 1", file.display().to_string());
    all_agree(|| model(&keys, 3), Time::MAX);
    std::fs::write(&file, "1 2\n2 x\n").expect("a file");
    refused(&keys, "ring.edges:2:1: `x` is no number", |section| Seir::from_section(section, 1));
}

#[test]
fn mistakes_are_reported_with_what_is_allowed() {
    for (keys, problem) in [
        ("", "missing key `people`"),
        ("people = 1", "`people` is 1"),
        ("people = 10\nexposed = 11", "`exposed` is 11"),
        ("people = 10\ngraph = \"ring\"", "\"complete\", \"regular\", \"file\""),
        ("people = 11\ngraph = \"regular\"\ndegree = 3", "11 people with 3 neighbours"),
        ("people = 11\ngraph = \"regular\"\ndegree = 11", "from 1 to 10"),
        ("people = 10\nlatent = \"1d\"", "longer than `least_latent`"),
        ("people = 10\nbetween_contacts = \"1s\"", "contacts of a person"),
        ("people = 10\ninfectious = \"0s\"", "`infectious` is 0s"),
        ("graph = \"file\"", "needs one"),
        ("graph = \"file\"\npath = \"nowhere.edges\"", "no file"),
        ("people = 10\ndegree = 4", "unknown key `degree`"),
    ] {
        refused(keys, problem, |section| Seir::from_section(section, 1));
    }
}
