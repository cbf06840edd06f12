//! `paceline network`: what it prints of a platform, of routes and of transfers, and how it reports mistakes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{folder_of, paceline, stderr, stdout};

/// The project, where the platform of the documents is.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a command prints that goes well.
#[track_caller]
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = paceline(folder, &[&["network"], arguments].concat());
    assert!(output.status.success() && stderr(&output).is_empty(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// A command that is refused with one message and status 2.
#[track_caller]
fn refused(folder: &Path, arguments: &[&str], message: &str) {
    let output = paceline(folder, &[&["network"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stderr(&output), format!("error: {message}\n"));
    assert!(output.stdout.is_empty(), "nothing but the message is printed");
}

const WIRE: &str = r#"<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="x, &quot;y&quot;" speed="1Gf"/>
<link id="wire" bandwidth="10MBps"/> <link id="back" bandwidth="10MBps"/>
<route src="a" dst="b" symmetrical="NO"><link_ctn id="wire"/></route>
<route src="b" dst="a" symmetrical="NO"><link_ctn id="back"/></route>
</zone></platform>
"#;

fn folder(transfers: &str) -> tempfile::TempDir {
    folder_of(&[("wire.xml", WIRE), ("t.csv", transfers)])
}

/// README.md and the pages of docs, as one text.
fn pages() -> String {
    let docs = fs::read_dir(project().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(project().join("README.md"));
    pages.sort();
    pages.iter().map(|page| fs::read_to_string(page).unwrap()).collect()
}

/// What begins a line with a command, and what the output of the command is shown behind.
const FORMS: [(&str, &str); 2] =
    [("target/release/paceline network ", "```text\n"), ("$ paceline network ", "")];

#[test]
fn the_documents_show_what_is_printed() {
    let (pages, mut seen) = (pages(), 0);
    for (line, (start, before)) in pages.lines().flat_map(|line| FORMS.map(|form| (line, form))) {
        let Some(command) = line.strip_prefix(start) else { continue };
        let command = command.split('#').next().unwrap_or_default();
        let text = printed(&project(), &command.split_whitespace().collect::<Vec<_>>());
        let shown = if before.is_empty() { format!("{line}\n{text}") } else { format!("{before}{text}```") };
        assert!(pages.contains(&shown), "{command} prints, and the documents must show:\n{text}");
        seen += 1;
    }
    assert!(seen >= 3, "the documents have {seen} commands");
}

#[test]
fn transfers_are_alone_or_share() {
    let folder = folder("source,destination,bytes\na,b,10000000\n\na,b,20e6\r\nb, \"a\" ,0\n");
    let times = |arguments: &[&str]| {
        let all = [&["wire.xml", "--transfers", "t.csv"], arguments].concat();
        let text = printed(folder.path(), &all);
        let mut lines = text.lines().map(str::to_owned);
        assert_eq!(lines.next().as_deref(), Some("source,destination,bytes,seconds"));
        let ends = ["a,b,10000000,", "a,b,20000000,", "b,a,0,"];
        let seconds =
            lines.by_ref().zip(ends).map(|(line, start)| line.strip_prefix(start).unwrap().to_owned());
        let seconds: Vec<String> = seconds.collect();
        assert_eq!((seconds.len(), lines.next()), (3, None));
        seconds
    };
    assert_eq!(times(&["--model", "CM02", "--mode", "single"]), ["1", "2", "0"]);
    assert_eq!(times(&["--model", "CM02", "--mode", "all"]), ["2", "3", "0"]);
    assert_eq!(times(&["--model", "cm02"]), ["1", "2", "0"], "each alone, unless asked for all");
    // 97 % of the bandwidth are for the bytes.
    assert_eq!(times(&["--model", "LV08"]), ["1.03092784", "2.06185567", "0"]);
    assert_eq!(times(&[]), times(&["--model", "LV08", "--mode", "single"]));
    assert_eq!(times(&["--model", "constant", "--mode", "all"]), ["1", "1", "1"]);
}

#[test]
fn a_transfer_that_a_link_ends_has_no_time() {
    let folder = folder("source,destination,bytes\na,b,50e6\na,b,1e6\n");
    let traces = "</zone><trace id=\"t\" periodicity=\"10\">2 0\n 3 1</trace><trace_connect kind=\"LINK_AVAIL\" trace=\"t\" element=\"wire\"/>";
    fs::write(folder.path().join("wire.xml"), WIRE.replace("</zone>", traces)).unwrap();
    let output = paceline(folder.path(), &["network", "wire.xml", "--transfers", "t.csv", "--model", "CM02"]);
    assert!(output.status.success());
    assert_eq!(stdout(&output), "source,destination,bytes,seconds\na,b,50000000,\na,b,1000000,0.1\n");
    assert_eq!(stderr(&output), "1 of 2 transfers did not arrive: a link on their way was off\n");
}

#[test]
fn routes_are_those_of_the_transfers_or_of_all_hosts() {
    let folder = folder("source,destination,bytes\nb,a,1\nb,a,2\na,a,1\n");
    let start = "source,destination,latency_seconds,links\n";
    let some = printed(folder.path(), &["wire.xml", "--routes", "--transfers", "t.csv"]);
    assert_eq!(some, format!("{start}b,a,0,back\na,a,0,__loopback__\n"));
    let output = paceline(folder.path(), &["network", "wire.xml", "--routes"]);
    assert!(output.status.success());
    let odd = "\"x, \"\"y\"\"\"";
    let all = format!("{start}a,b,0,wire\na,{odd},,\nb,a,0,back\nb,{odd},,\n{odd},a,,\n{odd},b,,\n");
    assert_eq!(stdout(&output), all);
    assert_eq!(stderr(&output), "4 of 6 pairs of hosts have no route\n");
    let cluster = r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-100" speed="1Gf" bw="1Bps" lat="0"/></platform>"#;
    fs::write(folder.path().join("many.xml"), cluster).unwrap();
    refused(
        folder.path(),
        &["many.xml", "--routes"],
        "--routes on a platform of 101 hosts; allowed: at most 100 hosts, or the pairs of a file with --transfers",
    );
}

#[test]
fn mistakes_in_transfers_are_reported_with_their_line() {
    let columns = "source,destination,bytes";
    let number = "allowed: a number from 0 to 1e18";
    for (text, message) in [
        ("", format!("t.csv:1: there are no columns; allowed: {columns}")),
        ("a,b,1\n", format!("t.csv:1: the columns `a,b,1`; allowed: {columns}")),
        ("source,bytes,destination\n", format!("t.csv:1: the columns `source,bytes,destination`; allowed: {columns}")),
        ("source,destination,bytes\n\na,b\n", format!("t.csv:3: 2 fields; allowed: three, {columns}")),
        ("source,destination,bytes\na,b,1,2\n", format!("t.csv:2: 4 fields; allowed: three, {columns}")),
        ("source,destination,bytes\na,b,1\na,b,many\n", format!("t.csv:3: `many` as a number of bytes; {number}")),
        ("source,destination,bytes\na,b,-1\n", format!("t.csv:2: `-1` as a number of bytes; {number}")),
        ("source,destination,bytes\na,b,NaN\n", format!("t.csv:2: `NaN` as a number of bytes; {number}")),
        ("source,destination,bytes\na,b,1e19\n", format!("t.csv:2: `1e19` as a number of bytes; {number}")),
        (
            "source,destination,bytes\na,\"b,1\n",
            "t.csv:2: a quote that does not end; allowed: fields such as \"a\"".to_owned(),
        ),
        (
            "source,destination,bytes\na,z,1\n",
            "t.csv:2: there is no host `z`; allowed: a host of the platform, such as a, b, x, \"y\"".to_owned(),
        ),
        (
            "source,destination,bytes\na,b,1\na,\"x, \"\"y\"\"\",1\n",
            "t.csv:3: there is no route from `a` to `x, \"y\"`: zone `z` has none from `a` to `x, \"y\"`; allowed: \
             hosts with a route between them"
                .to_owned(),
        ),
    ] {
        refused(folder(text).path(), &["wire.xml", "--transfers", "t.csv"], &message);
    }
}

#[test]
fn files_that_cannot_be_read_and_options_that_do_not_fit() {
    let folder = folder("source,destination,bytes\n");
    let message = "nowhere.xml: cannot be read: No such file or directory (os error 2); allowed: a platform file in SimGrid's XML format";
    refused(folder.path(), &["nowhere.xml"], message);
    let message = "nowhere.csv: cannot be read: No such file or directory (os error 2); allowed: a CSV file with the columns source,destination,bytes";
    refused(folder.path(), &["wire.xml", "--transfers", "nowhere.csv"], message);
    fs::write(folder.path().join("bytes.xml"), b"\xff\xfe").unwrap();
    let message = "bytes.xml:1:1: a file in UTF-16; allowed: UTF-8, US-ASCII or ISO-8859-1";
    refused(folder.path(), &["bytes.xml"], message);
    fs::write(folder.path().join("bad.xml"), WIRE.replace("10MBps", "0")).unwrap();
    let message = "bad.xml:3:28: `bandwidth` cannot be \"0\": it is out of range; allowed: a bandwidth above 0, such as 125MBps or 1Gbps (0.001 Bps to 1 YBps)";
    refused(folder.path(), &["bad.xml"], message);
    let profile = WIRE.replace("bandwidth=", "latency_file=\"lost.trace\" bandwidth=");
    fs::write(folder.path().join("lost.xml"), profile).unwrap();
    let message = "lost.xml:3:31: the profile lost.trace cannot be read: No such file or directory (os error 2); allowed: a text file, sought beside the platform file";
    refused(folder.path(), &["lost.xml"], message);
    for arguments in [
        &["--model", "CM02"][..],
        &["--mode", "all"],
        &["--routes", "--mode", "all"],
        &["--routes", "--transfers", "t.csv", "--model", "CM02"],
        &["--transfers", "t.csv", "--model", "CM03"],
        &["--transfers", "t.csv", "--mode", "some"],
    ] {
        let output = paceline(folder.path(), &[&["network", "wire.xml"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
    }
    // Columns alone are a file without transfers.
    let none = printed(folder.path(), &["wire.xml", "--transfers", "t.csv"]);
    assert_eq!(none, "source,destination,bytes,seconds\n");
}

/// The times of transfers from a to b and from a to itself on [`WIRE`] with this `<config>`, and what is
/// noted.
#[track_caller]
fn configured(settings: &str, arguments: &[&str]) -> (Option<i32>, Vec<String>, String) {
    let folder = folder("source,destination,bytes\na,b,1e6\na,a,1e6\n");
    let config = format!("<platform version=\"4.1\"><config>{settings}</config>");
    fs::write(folder.path().join("wire.xml"), WIRE.replace("<platform version=\"4.1\">", &config)).unwrap();
    let all = [&["network", "wire.xml", "--transfers", "t.csv"], arguments].concat();
    let output = paceline(folder.path(), &all);
    let seconds = |line: &str| line.rsplit(',').next().unwrap_or_default().to_owned();
    (output.status.code(), stdout(&output).lines().skip(1).map(seconds).collect(), stderr(&output))
}

#[test]
fn the_files_config_chooses_the_model_unless_an_option_does() {
    let model = |name: &str| format!("<prop id=\"network/model\" value=\"{name}\"/>");
    let place = "wire.xml:1:65";
    let replaced =
        |name: &str| format!("note: {place}: the file's network/model is `{name}`; --model replaces it\n");
    // SimGrid 3.32 has these times for LV08 and CM02.
    let (lv08, cm02) = (["0.103092784", "0.000103092784"], ["0.1", "0.0001"]);
    for (settings, arguments, seconds, note) in [
        (String::new(), &[][..], lv08, String::new()),
        (model("CM02"), &[], cm02, String::new()),
        (model("cm02"), &["--model", "CM02"], cm02, String::new()),
        (model("Constant"), &[], ["1", "1"], String::new()),
        (
            model("Constant") + "<prop id=\"network/latency-factor\" value=\"13.01\"/>",
            &[],
            ["13.01", "13.01"],
            String::new(),
        ),
        (model("LV08"), &["--model", "CM02"], cm02, replaced("LV08")),
        (model("SMPI"), &["--model", "LV08"], lv08, replaced("SMPI")),
        (
            "<prop id=\"cpu/optim\" value=\"TI\"/>".to_owned(),
            &[],
            lv08,
            "note: wire.xml:1:25: settings in <config> that have no effect here: cpu/optim\n".to_owned(),
        ),
    ] {
        let (status, found, noted) = configured(&settings, arguments);
        assert_eq!(
            (status, &found[..], noted),
            (Some(0), &seconds.map(str::to_owned)[..], note),
            "{settings}"
        );
    }
    for name in ["SMPI", "IB", "ns-3", "LV09", ""] {
        let message = format!(
            "error: {place}: the network model `{name}` is not supported; allowed: LV08, CM02 or Constant there, or one of \
             these with --model instead\n"
        );
        assert_eq!(configured(&model(name), &[]), (Some(2), Vec::new(), message));
    }
}

#[test]
fn platforms_and_profiles_of_other_encodings_are_read() {
    let folder = folder("source,destination,bytes\na,b,1e6\n");
    let latin =
        WIRE.replace("<zone", "<!-- caf\u{e9} --><zone").replace("10MBps", "1MBps\" bandwidth_file=\"p.txt");
    let latin: Vec<u8> = latin.chars().map(|letter| letter as u8).collect();
    let declaration = b"<?xml version='1.0' encoding='iso-8859-1'?>\n";
    fs::write(folder.path().join("wire.xml"), [&declaration[..], &latin].concat()).unwrap();
    // From the start 2 MB/s; a comment in Latin-1, and a byte order mark.
    fs::write(folder.path().join("p.txt"), b"\xef\xbb\xbf# d\xe9bit\n0 2e6\n").unwrap();
    let arguments = ["wire.xml", "--transfers", "t.csv", "--model", "CM02"];
    assert_eq!(printed(folder.path(), &arguments), "source,destination,bytes,seconds\na,b,1000000,0.5\n");
    fs::write(folder.path().join("wire.xml"), &latin).unwrap();
    let output = paceline(folder.path(), &["network", "wire.xml"]);
    assert!(
        stderr(&output).starts_with("error: wire.xml:1:33: the byte 0xe9 is no UTF-8"),
        "{}",
        stderr(&output)
    );
    fs::write(folder.path().join("wire.xml"), format!("\u{feff}{WIRE}")).unwrap();
    assert!(printed(folder.path(), &["wire.xml"]).starts_with("wire.xml\n"));
}

#[test]
fn disks_and_storage_are_counted_where_there_are_any() {
    let folder = folder("");
    let host = "<host id=\"d\" speed=\"1Gf\"><disk read_bw=\"1\" write_bw=\"1\"/></host>\
                <storage_type id=\"t\" size=\"1\"/><storage id=\"s\" typeId=\"t\" attach=\"d\"/></zone>";
    fs::write(folder.path().join("wire.xml"), WIRE.replace("</zone>", host)).unwrap();
    let text = printed(folder.path(), &["wire.xml"]);
    assert!(text.contains("\n  disks         1\n  storages      1\n"), "{text}");
}
