//! Readers: what they take from texts, and that nothing goes by without a word.

mod cdf;
mod graphs;
mod numbers;

use proptest::prelude::*;

use super::*;

const DEFAULTS: Defaults = Defaults { rate: 10_000_000_000, latency_ps: 3_000_000_000 };

/// Every reader on one text.
fn read_all(text: &str) -> Vec<Result<(), FileError>> {
    vec![
        graphml("f", text, &DEFAULTS).map(|_| ()),
        edges("f", text, EdgeNumber::LatencyMs, &DEFAULTS).map(|_| ()),
        edges("f", text, EdgeNumber::Weight, &DEFAULTS).map(|_| ()),
        links("f", text, &DEFAULTS).map(|_| ()),
        Cdf::read("f", text).map(|_| ()),
        flow_list("f", text).map(|_| ()),
    ]
}

/// Words that readers know, and some that nobody should.
fn words() -> impl Strategy<Value = String> {
    let known = [
        "<graphml>",
        "</graphml>",
        "<graph>",
        "</graph>",
        "<node id=\"a\">",
        "<node id='b'/>",
        "</node>",
        "<edge source=\"a\" target=\"b\"/>",
        "<data key=\"k\">",
        "</data>",
        "<key id=\"k\" for=\"node\"/>",
        "<!DOCTYPE x [",
        "<!ENTITY a \"b\">",
        "]>",
        "&a;",
        "&#x1F600;",
        "<![CDATA[",
        "]]>",
        "<?xml ?>",
        "<!--",
        "from",
        "to",
        "rate",
        "start",
        "bytes",
        "1",
        "100",
        "0.5",
        "1e9",
        "1e-400",
        "99999999999999999999",
        "-1",
        "NaN",
        "inf",
        "10Gbps",
        "5ms",
        ",",
        "\"",
        "#",
        "\u{feff}",
        "ñandú",
        "\u{202e}",
        "\0",
    ];
    let any = prop_oneof![
        8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => ".{0,6}",
    ];
    let separators = prop::sample::select(vec!["", " ", ",", "\n", "\r\n", "\t"]);
    prop::collection::vec((any, separators), 0..40)
        .prop_map(|parts| parts.into_iter().map(|(word, separator)| word + separator).collect())
}

proptest! {
    /// No text makes a reader panic; a refusal names a line of the file, on one line.
    #[test]
    fn any_text_is_read_or_refused_at_a_line(text in words()) {
        for error in read_all(&text).into_iter().filter_map(Result::err) {
            prop_assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error:?} in {text:?}");
            prop_assert!(!error.to_string().contains(['\n', '\r']), "{error:?}");
        }
    }
}

#[test]
fn flows_are_listed_as_they_stand() {
    let text = "\u{feff}# a list\n\nto,start,bytes,from\nb,1.5ms,1448000,a\n\"Köln, 2\",0.25, 1e3 ,\"say \"\"hi\"\"\"\n";
    let flows = flow_list("flows.csv", text).unwrap().flows;
    let of = |start_ps, from: &str, to: &str, bytes, line| ListedFlow {
        start_ps,
        from: from.into(),
        to: to.into(),
        bytes,
        line,
    };
    let second = of(250_000_000_000, "say \"hi\"", "Köln, 2", 1000, 5);
    assert_eq!(flows, [of(1_500_000_000, "a", "b", 1_448_000, 4), second]);
    let flows = flow_list("flows.txt", "2\n0 5 3 100 1448000 2.000001\n 7 1 3 100 1 0\n").unwrap();
    assert!(flows.notices.is_empty());
    let flows = flows.flows;
    assert_eq!(flows, [of(2_000_001_000_000, "0", "5", 1_448_000, 2), of(0, "7", "1", 1, 3)]);
    let list = flow_list("flows.txt", "1\n0 5 3 100 8 0\n\nsource sink and so on\n").unwrap();
    assert_eq!(
        (list.flows.len(), &list.notices[..]),
        (1, &["line 1 says 1 flows: from line 4 on nothing is read".into()][..])
    );
    assert_eq!(flow_list("empty.csv", "start,from,to,bytes\n").unwrap(), FlowList::default());
}

#[test]
fn lists_that_are_none_are_refused_at_their_line() {
    let header = "start,from,to,bytes\n";
    for (text, message) in [
        ("", "f:1: a file without a header; allowed: a header of start,from,to,bytes"),
        ("start,from,bytes\n", "f:1: no column \"to\"; allowed: a header of start,from,to,bytes"),
        ("start,from,to,size\n", "f:1: a column \"size\"; allowed: a header of start,from,to,bytes"),
        ("to,to\n", "f:1: two columns \"to\"; allowed: a header of start,from,to,bytes"),
        ("{}0,a,b\n", "f:2: 3 values in a table of 4 columns; allowed: 4 values"),
        ("{}0,a,a,1\n", "f:2: a flow from \"a\" to itself; allowed: a flow between two hosts"),
        ("{}\n0,a,b,0\n", "f:3: \"0\" bytes; allowed: a whole number above 0"),
        ("{}0,a,b,1.5\n", "f:2: \"1.5\" bytes; allowed: a whole number above 0"),
        (
            "{}soon,a,b,1\n",
            "f:2: a start of \"soon\"; allowed: a time up to 11 days, such as 20ms, 1.5us or 0.02s, or a number of seconds",
        ),
        ("{}0,\"a,b,1\n", "f:2: a quote that is not closed; allowed: \"...\" on one line"),
        ("{}0,\"a\"x,b,1\n", "f:2: a text after a closing quote; allowed: a comma, or the end of the line"),
        ("{}0,,b,1\n", "f:2: a flow without a sender or a receiver; allowed: the names of two hosts"),
        (
            "2\n0 1 3 100 5 0\n",
            "f:1: 1 flows in a file that says 2; allowed: the number of flows in the first line",
        ),
        (
            "1\n0 1 3 100 5\n",
            "f:2: 5 words in a flow; allowed: sender, receiver, priority, port, bytes and start",
        ),
    ] {
        let error = flow_list("f", &text.replace("{}", header)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let name = "x".repeat(1000);
    let error = flow_list("f", &format!("{header}0,{name},{name},1\n")).unwrap_err();
    assert!(error.problem.len() < 400, "long names are cut off");
    let error = flow_list("f", &format!("{header}\u{7}\t,a,b,1\n")).unwrap_err();
    assert_eq!(error.problem, "a start of \"\\u{7}\"");
}
