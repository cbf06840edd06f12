//! The reader on damaged input: it may refuse a text, with a place inside it, but never panics.

use miette::{Diagnostic, SourceSpan};
use paceline_kernel::{Rng, Time};
use paceline_scenario::{Scenario, ScenarioError};
use proptest::prelude::*;

const SEED: &str = "# demo \u{2014} ü\n[model]\nkind = \"phold\"\nlps = 0x10\nmean = \"1.5h\"\nremote = 2.5e-1\n\
    where = 'a\\b'\ndate = 1979-05-27T07:32:00Z\nlist = [1, [2, {a = 3}]]\n\n[run]\nuntil = \"300s\"\nseed = 1_000\n\
    [run.more]\ntext = \"\"\"\nlines\n\"\"\"\n[[odd]]\nx = +inf\n";

fn read(text: &str, overrides: &[String]) -> Result<(), ScenarioError> {
    let mut scenario = Scenario::parse("fuzz.toml", text, "".as_ref(), overrides)?;
    let (mut model, mut run) = (scenario.section("model")?, scenario.section("run")?);
    model.choice("kind", &[("phold", 1), ("traffic", 2)], None)?;
    model.required::<u32>("lps")?;
    model.or("mean", Time::ZERO)?;
    model.or("remote", 0.0)?;
    model.optional::<String>("where")?;
    model.file("file")?;
    run.or("until", Time::MAX)?;
    run.or("seed", 1u64)?;
    run.optional::<bool>("pin")?;
    scenario.finish(&["model", "run"])?;
    model.finish()?;
    run.finish()
}

/// Reads a text; if it is refused, checks every part of the message.
fn look(text: &str, overrides: &[String]) {
    let Err(error) = read(text, overrides) else { return };
    assert!(!error.one_line().is_empty() && !error.allowed().is_empty() && !error.to_string().is_empty());
    let label = error.labels().and_then(|mut labels| labels.next()).expect("a text has places");
    let span: SourceSpan = *label.inner();
    let source = error.source_code().expect("a text is shown");
    source.read_span(&span, 1, 1).expect("the place is inside the text");
}

#[test]
fn damaged_files_are_refused_or_read() {
    let mut rng = Rng::new(1, 1);
    for _ in 0..20_000 {
        let mut bytes = SEED.as_bytes().to_vec();
        for _ in 0..=rng.below(4) {
            let (at, other) =
                (rng.below(bytes.len() as u64) as usize, rng.below(bytes.len() as u64) as usize);
            match rng.below(5) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = rng.u64() as u8,
                2 => bytes[at] ^= 1 << rng.below(8),
                3 => bytes.insert(at, b"\"'[]{}=.#\n\\,-_0"[rng.below(15) as usize]),
                _ => {
                    let piece = bytes[at.min(other)..at.max(other)].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        look(&String::from_utf8_lossy(&bytes), &[]);
    }
}

#[test]
fn deep_and_long_texts_are_refused_or_read() {
    for piece in ["[", "{a=", "a.", "\"", "'", "#", "[a.", "1", "=", "\\", "\u{0}"] {
        let long = piece.repeat(20_000);
        look(&long, &[]);
        look(&format!("[model]\nlps = {long}"), &[]);
        look(SEED, &[format!("model.lps={long}")]);
        look(SEED, &[long]);
    }
}

proptest! {
    #[test]
    fn any_text_is_refused_or_read(text in "(?s).{0,200}", argument in "(?s).{0,60}", value in "(?s).{0,40}") {
        look(&text, &[]);
        look(SEED, &[argument]);
        look("[model]\nkind = \"phold\"", &[format!("model.lps={value}"), format!("run.until={value}")]);
    }
}
