//! What a file is, is found out before it is read: texts as they are meant, everything else by its name.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const MOST: u64 = 1 << 20;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn wide(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn texts_are_read_in_whatever_form_they_come() {
    let text = "0 10 20\n0 15 20\n";
    let twice = [gzip(b"0 10 20\n"), gzip(b"0 15 20\n")].concat();
    for (what, bytes) in [
        ("plain", text.as_bytes().to_vec()),
        ("with a byte order mark", format!("\u{feff}{text}").into_bytes()),
        ("with DOS's end mark", format!("{text}\u{1a}").into_bytes()),
        ("compressed", gzip(text.as_bytes())),
        ("compressed, with a byte order mark", gzip(format!("\u{feff}{text}").as_bytes())),
        ("compressed in two members", twice),
        ("line ends of old systems", text.replace('\n', "\r").into_bytes()),
    ] {
        assert_eq!(text_of(bytes, MOST).as_deref(), Ok(text), "{what}");
    }
    // Latin-1 and its extension by Windows: one byte a character.
    assert_eq!(text_of(b"# Stra\xdfe \x80\n1".to_vec(), MOST).as_deref(), Ok("# Stra\u{df}e \u{80}\n1"));
    assert_eq!(text_of("# Straße\n1".into(), MOST).as_deref(), Ok("# Straße\n1"));
}

#[test]
fn everything_else_is_named_and_none_of_its_bytes_are_shown() {
    let mut tar = vec![b'a'; 300];
    tar[257..262].copy_from_slice(b"ustar");
    let noise: Vec<u8> = (0..400_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    for (bytes, word) in [
        (Vec::new(), "empty"),
        (gzip(b""), "empty, compressed by gzip"),
        (b"PK\x03\x04\x14\0".to_vec(), "zip archive"),
        (b"\xfd7zXZ\0\0".to_vec(), "xz"),
        (b"BZh91AY&SY".to_vec(), "bzip2"),
        (b"\x28\xb5\x2f\xfd$".to_vec(), "zstd"),
        (b"<!DOCTYPE html><html>".to_vec(), "HTML"),
        (b"\n\n <HTML lang=\"en\">".to_vec(), "HTML"),
        (b"\xef\xbb\xbf<?xml version=\"1.0\"?>".to_vec(), "XML"),
        (b"\xff\xfe1\0 \x002\0".to_vec(), "UTF-16"),
        (wide("0 10 20\n", false), "UTF-16"),
        (wide("0 10 20\n", true), "UTF-16"),
        (b"0 10 20\n\0".to_vec(), "binary"),
        (noise, "binary"),
        (tar.clone(), "tar archive"),
        (gzip(&tar), "tar archive, compressed by gzip"),
        (gzip(&gzip(b"0 0 0")), "gzip, compressed by gzip"),
        (b"%PDF-1.7".to_vec(), "PDF"),
        (b"\x7fELF\x02".to_vec(), "program"),
        (b"{\"a\": 1}".to_vec(), "JSON"),
        (b"version https://git-lfs.github.com/spec/v1\noid 1".to_vec(), "Git LFS"),
    ] {
        let (problem, allowed) = text_of(bytes, MOST).expect_err(word);
        assert!(problem.contains("seems to be") && problem.contains(word), "{word}: {problem}");
        assert!(!allowed.is_empty() && !problem.contains(char::is_control), "{problem}");
    }
}

/// A file that inflates to a thousand times its size takes no more memory than a text may have.
#[test]
fn lengths_are_bounded_before_and_after_inflating() {
    let bomb = gzip(&vec![b'0'; 3 * MOST as usize]);
    assert!(bomb.len() < 10_000);
    for (bytes, word) in [(bomb, "uncompressed"), (vec![b'0'; MOST as usize + 1], "too long")] {
        assert!(text_of(bytes, MOST).expect_err(word).0.contains(word));
    }
    let whole = gzip("0 1 2\n".repeat(1000).as_bytes());
    for end in [3, 10, 17, whole.len() / 2, whole.len() - 1] {
        let (problem, allowed) = text_of(whole[..end].to_vec(), MOST).expect_err("it is cut");
        assert!(problem.contains("gzip") && allowed.contains("gzip -t"), "cut at {end}: {problem}");
    }
    let mut flipped = whole;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    assert!(text_of(flipped, MOST).is_err(), "its checksum is another one");
}

#[test]
fn words_in_messages_are_short_and_harmless() {
    assert_eq!(shown("1.5"), "1.5");
    assert_eq!(shown(&"x".repeat(5000)), format!("{}...", "x".repeat(40)));
    assert_eq!(shown("a\u{1b}[31mb\u{7}\u{202e}"), "a\\u{1b}[31mb\\u{7}\\u{202e}");
    assert_eq!(shown("Straße"), "Straße");
}
