//! Mistakes in study files, and names of metrics.

use super::*;

/// The mistake in a study file with these lines in [study], and these sections below.
fn mistake(study: &str, sections: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), "").unwrap();
    let text = format!("[study]\nscenario = \"a.toml\"\n{study}\n{sections}\n");
    let read = Scenario::parse("s.toml", &text, folder.path(), &[]).and_then(Study::read);
    read.expect_err(&text).one_line()
}

#[test]
fn a_mistake_has_its_place_and_what_is_allowed() {
    for (study, sections, expected) in [
        (
            "design = \"gird\"",
            "",
            "s.toml:3:10: `design` in [study] cannot be the string \"gird\"; did you mean \"grid\"?",
        ),
        ("replications = 0", "", "s.toml:3:16: `replications` is 0; allowed: 1 to 100000"),
        (
            "replicatoins = 3",
            "",
            "s.toml:3:1: unknown key `replicatoins` in [study]; did you mean `replications`?",
        ),
        ("points = 3", "", "s.toml:3:10: `points` in a grid"),
        ("design = \"sobol\"", "", "s.toml:1:2: a design that draws a sample of points needs their number"),
        ("", "[factor]\nm.x = [1]", "s.toml:4:2: unknown section [factor]; did you mean [factors]?"),
        ("", "[factors]\nx = [1]", "s.toml:5:5: `x` is no section and key of a scenario"),
        ("", "[factors]\nrun.seed = [1, 2]", "s.toml:5:12: `run.seed` is what replications differ by"),
        ("", "[factors]\nm.x = []", "s.toml:5:7: the factor `m.x` has no values; allowed: a list of values"),
        ("", "[factors]\nm.x = 3", "s.toml:5:7: the factor `m.x` is neither list nor range"),
        ("", "[factors]\nm.x = [1, 2, 1]", "s.toml:5:7: the factor `m.x` has the value 1 twice"),
        (
            "",
            "[factors]\nm.x = { from = 3, to = 1, step = 1 }",
            "the range of the factor `m.x` is empty: from 3 to 1",
        ),
        ("", "[factors]\nm.x = { from = 1, to = \"3s\", step = 1 }", "has ends of different types"),
        ("", "[factors]\nm.x = { from = 1, to = 3 }", "has neither step nor count"),
        ("", "[factors]\nm.x = { from = 1, to = 3, step = 0 }", "cannot go by steps of the integer 0"),
        ("", "[factors]\nm.x = { from = 1, to = 3, count = 9 }", "cannot have 9 values"),
        ("", "[factors]\nm.x = { from = 1, to = 3, setp = 1 }", "unknown key `setp` in the factor `m.x`"),
        ("", "[factors]\nm.x = [1]\n\"m.x\" = [2]", "the factor `m.x` stands there twice"),
        (
            "",
            "[stop]\nmetric = \"a\"\nwithin = 1.5\nmost = 20",
            "s.toml:6:10: `within` is 1.5; allowed: a part between 0 and 1",
        ),
        (
            "",
            "[stop]\nmetric = \"a\"\nwithin = 0.1\nmost = 9",
            "s.toml:7:8: `most` is 9; allowed: from `replications` in [study], 10",
        ),
        (
            "",
            "[stop]\nmetric = \"a\"\nwithin = 0.1\nmost = 20\nbye = 3",
            "unknown key `bye` in [stop]; did you mean `by`?",
        ),
        ("", "[set]\nuntil = \"1h\"", "`until` is no section and key of a scenario"),
    ] {
        let found = mistake(study, sections);
        assert!(found.contains(expected) && found.contains("; allowed: "), "{found}\ninstead of {expected}");
    }
}

#[test]
fn a_metric_is_found_by_its_name_or_as_summaries_show_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), "").unwrap();
    let text =
        "[study]\nscenario = \"a.toml\"\nmetrics = [\"mean travel\", \"mean_travel_s\", \"mean travle\"]\n";
    let study = Scenario::parse("s.toml", text, folder.path(), &[]).and_then(Study::read).unwrap();
    let results = ["trips".to_owned(), "mean_travel_s".to_owned(), "mean_travel_lost_s".to_owned()];
    for metric in &study.metrics[..2] {
        assert_eq!(metric.find(&results).unwrap(), "mean_travel_s");
    }
    let problem = study.metrics[2].find(&results).unwrap_err().one_line();
    assert!(problem.starts_with("s.toml:3:11: there is no metric \"mean travle\""), "{problem}");
    assert!(problem.ends_with("allowed: trips, mean_travel_s, mean_travel_lost_s"), "{problem}");
}
