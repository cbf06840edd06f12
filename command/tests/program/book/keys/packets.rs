//! Scenarios of packet networks of which the keys are those of a table.

/// A platform file of two hosts, the least that is a network.
pub const PLATFORM: &str = r#"<?xml version='1.0'?><platform version="4.1"><cluster id="c" prefix="host-" suffix="" radical="0-1"
    speed="1Gf" bw="125MBps" lat="50us"/></platform>"#;

/// A packet network of this topology, or with such a queue, loss or source.
pub fn packets(of: &str) -> Option<String> {
    let link = |name: &str, more: &str| format!("{name} = {{ rate = \"1Gbps\", latency = \"1us\"{more} }}\n");
    let plain = |names: &[&str]| names.iter().map(|name| link(name, "")).collect::<String>();
    let star = |more: &str| ("star", format!("hosts = 2\n{}", link("link", more)));
    let udp = "transport = \"udp\"\nrate = \"1Mbps\"\nwire_bytes = 100\n";
    let queue = |keys: &str| star(&format!(", queue = {{ kind = {keys} }}"));
    let (topology, keys) = match of {
        "line" => ("line", "hosts = 2\n".to_owned() + &plain(&["access", "trunk"])),
        "leaf-spine" => {
            ("leaf-spine", "leaves = 2\nspines = 2\nhosts = 2\n".to_owned() + &plain(&["access", "fabric"]))
        }
        "torus" => ("torus", "sides = [2, 2]\n".to_owned() + &plain(&["access", "trunk"])),
        "dragonfly" => {
            let numbers = "groups = 2\nrouters = 2\nhosts = 2\nglobal = 1\n";
            ("dragonfly", numbers.to_owned() + &plain(&["access", "local", "between"]))
        }
        "random" => ("random", "hosts = 3\nlinks = 3\n".to_owned() + &plain(&["access", "trunk"])),
        "red" => queue("\"red\", low = 5, high = 15"),
        "threshold" => queue("\"threshold\", mark_packets = 20"),
        "codel" => queue("\"codel\""),
        "fq-codel" => queue("\"fq-codel\""),
        "priority" => queue("\"priority\", classes = [{ kind = \"drop-tail\", packets = 9 }]"),
        "drr" => queue("\"drr\", classes = [{ kind = \"drop-tail\", packets = 9 }]"),
        "switch" => {
            let switch = "switch = { buffer = \"1MB\", pfc = { classes = [3], xoff = \"9kB\" } }\n";
            ("star", format!("{switch}hosts = 2\n{}", link("link", "")))
        }
        "bursts" => star(", burst_loss = { to_bad = 0.01, to_good = 0.5 }"),
        "jitter" => star(", jitter = { kind = \"uniform\", most = \"1ms\" }"),
        "exponential-jitter" => star(", jitter = { kind = \"exponential\", mean = \"1ms\" }"),
        "outages" => star(", outages = [{ down = \"1s\", up = \"2s\" }]"),
        "file" => {
            let changes = "[[model.changes]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\n";
            let path = "path = \"net.edges\"\nnumbers = \"weight\"\n".to_owned();
            ("file", path + &plain(&["link", "access"]) + changes)
        }
        "platform" => {
            let queue = "queue = { kind = \"drop-tail\", packets = 9 }\n";
            ("platform", format!("path = \"net.xml\"\n{queue}"))
        }
        "samples" => {
            let links = "links = [{ from = \"host-0\", to = \"switch\" }]";
            let keys = format!("hosts = 2\nsample = {{ every = \"1ms\", {links} }}\n");
            ("star", keys + &link("link", ""))
        }
        "capture" => ("star", format!("hosts = 2\ncapture = [\"*\"]\n{}", link("link", ""))),
        "star" | "on-off" | "trace" | "list" | "load" | "rdma" | "tcp" | "after" => star(""),
        _ if application(of).is_some() => star(""),
        _ => return None,
    };
    let ends = "from = \"host-*\"\nto = \"opposite\"\n";
    let sources = match of {
        "on-off" => format!("{ends}{udp}drive = \"on-off\"\non = \"1ms\"\noff = \"1ms\"\n"),
        "trace" => {
            let keys = "drive = \"trace\"\ntrace = \"voice.csv\"\nrepeat = \"1s\"\n";
            format!("{ends}transport = \"udp\"\n{keys}")
        }
        "rdma" => format!("{ends}transport = \"rdma\"\n"),
        "tcp" => format!("{ends}transport = \"tcp\"\n"),
        "after" => {
            let table = |from, to| {
                format!("from = \"host-{from}\"\nto = \"host-{to}\"\ntransport = \"tcp\"\nbytes = \"1kB\"\n")
            };
            let (before, behind) = (table(0, 1), table(1, 0));
            format!("{before}name = \"a\"\n[[model.flows]]\n{behind}after = \"a\"\n")
        }
        "list" => "transport = \"tcp\"\nlist = \"flows.csv\"\n".to_owned(),
        "load" => {
            let load = "transport = \"tcp\"\nload = 0.5\nsizes = \"sizes.txt\"\nuntil = \"1ms\"\n";
            format!("{ends}{load}")
        }
        _ => format!("{ends}{udp}"),
    };
    let flow = match application(of) {
        Some(keys) => format!("[[model.applications]]\n{keys}"),
        None => format!("[[model.flows]]\n{sources}"),
    };
    Some(format!("[model]\nkind = \"packets\"\ntopology = \"{topology}\"\n{keys}{flow}"))
}

/// The keys of an application, or of one with such a distribution of sizes.
fn application(of: &str) -> Option<String> {
    let ends = "from = \"host-0\"\nto = \"host-1\"\n";
    let asks = |response: &str| {
        format!("kind = \"request-response\"\n{ends}request = \"1kB\"\nresponse = {response}\n")
    };
    let table = |keys: &str| asks(&format!("{{ kind = {keys} }}"));
    let ranks = "ranks = \"hosts\"\nbytes = \"1MB\"\n";
    Some(match of {
        "request-response" => asks("\"1kB\""),
        "pareto" => table("\"pareto\", shape = 1.5, most = \"1MB\""),
        "log-normal" => table("\"log-normal\", mean = \"1kB\", deviation = \"1kB\", most = \"1MB\""),
        "sizes" => table("\"file\", path = \"sizes.txt\""),
        "http" => format!("kind = \"http\"\n{ends}"),
        "video" => format!("kind = \"video\"\n{ends}ladder_kbps = [500, 1000]\n"),
        "incast" => {
            let hosts = "client = \"host-0\"\nservers = \"host-1\"\n";
            format!("kind = \"incast\"\n{hosts}request = \"1kB\"\nresponse = \"1kB\"\n")
        }
        "all-reduce" | "all-to-all" => format!("kind = \"{of}\"\n{ranks}"),
        _ => return None,
    })
}
