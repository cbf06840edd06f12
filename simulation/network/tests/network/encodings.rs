//! Byte order marks and encodings: read, or refused by name; no byte is guessed.

use paceline_network::{Deployment, decode, read};

use crate::refused::BASE;
use crate::{host, platform};

const LATIN: &[u8] =
    b"<?xml version='1.0' encoding='ISO-8859-1'?>\n<!-- h\xf4te -->\n<platform version='4.1'>\
    <zone id='z' routing='Full'><host id='caf\xe9' speed='1Gf'/></zone></platform>";

fn attempt(bytes: &[u8]) -> Result<String, String> {
    decode("demo.xml", bytes).map_err(|mistake| mistake.to_string())
}

#[test]
fn a_latin_1_file_that_says_so_is_read() {
    for name in ["ISO-8859-1", "iso-8859-1", "latin1", "Latin-1", "ISO_8859-1", "l1"] {
        let bytes = [
            &b"<?xml version=\"1.0\" encoding = \""[..],
            name.as_bytes(),
            b"\" standalone='no' ?>",
            &LATIN[43..],
        ];
        let text = attempt(&bytes.concat()).unwrap_or_else(|message| panic!("{message}"));
        assert!(platform(&text).host("caf\u{e9}").is_some(), "{name}");
    }
}

#[test]
fn utf_8_may_have_a_byte_order_mark() {
    let declared = format!("<?xml version='1.0' encoding='utf-8'?>\n{BASE}");
    for text in [BASE.to_owned(), declared, BASE.replace("\"a\"", "\"a\u{304}\"")] {
        let marked = format!("\u{feff}{text}");
        assert_eq!(attempt(text.as_bytes()).as_deref(), Ok(text.as_str()));
        assert_eq!(attempt(marked.as_bytes()).as_deref(), Ok(text.as_str()));
        // Who reads the text himself need not look for the mark.
        let platform = platform(&marked);
        host(&platform, "b");
        let deployment =
            "\u{feff}<?xml version='1.0'?><platform version='4.1'><actor host='b' function='f'/></platform>";
        assert_eq!(Deployment::read("d.xml", deployment, &platform).unwrap().actors.len(), 1);
    }
    let mistake =
        read("demo.xml", &format!("\u{feff}{}", BASE.replace("4.1", "5")), &mut |_| Err(String::new()));
    assert_eq!(mistake.unwrap_err().to_string(), "demo.xml:1:21: a file of version `5`; allowed: 4 or 4.1");
}

#[test]
fn other_encodings_are_refused_by_name() {
    let allowed = "allowed: UTF-8, US-ASCII or ISO-8859-1";
    for (bytes, message) in [
        (&b"\xff\xfe<\0?\0"[..], format!("demo.xml:1:1: a file in UTF-16; {allowed}")),
        (b"\xfe\xff\0<\0?", format!("demo.xml:1:1: a file in UTF-16; {allowed}")),
        (b"<\0?\0x\0", format!("demo.xml:1:1: a file in UTF-16; {allowed}")),
        (b"\xff\xfe\0\0<\0\0\0", format!("demo.xml:1:1: a file in UTF-32; {allowed}")),
        (
            b"<?xml version='1.0' encoding='windows-1252'?>",
            format!("demo.xml:1:31: the encoding windows-1252 is not supported; {allowed}"),
        ),
        (
            b"<?xml version='1.0' encoding=\"ISO-8859-15\"?>",
            format!("demo.xml:1:31: the encoding iso-8859-15 is not supported; {allowed}"),
        ),
        (
            b"<?xml version='1.0' encoding='UTF-16'?>",
            format!("demo.xml:1:31: the encoding utf-16 is not supported; {allowed}"),
        ),
        (
            b"<?xml version='1.0' encoding='us-ascii'?>\n<a b='\xe9'/>",
            format!("demo.xml:2:7: the byte 0xe9 in a file declared as us-ascii; {allowed}"),
        ),
        (
            b"\xef\xbb\xbf<?xml version='1.0' encoding='latin1'?>",
            "demo.xml:1:34: a file declared as latin1 with the byte order mark of UTF-8; allowed: one of the two".into(),
        ),
        (
            b"<?xml version='1.0'?>\n<!-- \xe9 -->",
            "demo.xml:2:6: the byte 0xe9 is no UTF-8; allowed: UTF-8, or encoding=\"ISO-8859-1\" in the XML declaration \
             of a file in Latin-1"
                .into(),
        ),
    ] {
        assert_eq!(attempt(bytes), Err(message));
    }
    assert_eq!(attempt(b"").as_deref(), Ok(""));
}
