//! RDMA flows from scenarios.

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_packets::{Dcqcn, Flow, Rdma};

use super::{DUMBBELL, file, read, refused, run, value};

fn rdma(keys: &str) -> String {
    DUMBBELL.replace("\"udp\"\nrate = \"4Mbps\"\nwire_bytes = 1000", &format!("\"rdma\"\n{keys}"))
}

/// Four flows of 100 packets of 1000 bytes of data in 1062 share 10 Mb/s, and lose packets at a queue of 50.
#[test]
fn flows_end_and_have_their_lines() {
    let summary = run(&rdma("bytes = \"100kB\""), Time::secs(30));
    assert_eq!(value(&summary, "flows_done"), 4.0);
    assert!(value(&summary, "retransmissions") > 10.0);
    assert!(value(&summary, "mean_completion_s") > 4.0 * 0.1 * 8.0 * 1.062 / 10.0);
    let flows = file(summary, "flows.csv");
    for line in flows.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!((fields[3], fields[8]), ("rdma", "100000"), "{line}");
        assert!(fields[7].parse::<f64>().unwrap() > 1.0, "{line}");
    }
}

#[test]
fn every_key_reaches_the_model() {
    let text = rdma(
        "bytes = \"1MB\"\nmtu = 4000\nheader_bytes = 58\ncontrol_bytes = 64\nack_every = 4\ntimeout = \"1ms\"\n\
         gain = 0.0625\nalpha_timer = \"1us\"\nrate_timer = \"300us\"\nbyte_counter = \"150kB\"\n\
         fast_recovery = 1\nadditive_increase = \"5Mbps\"\nhyper_increase = \"50Mbps\"\nleast_rate = \"1Mbps\"\n\
         notification_interval = \"4us\"\nclass = 3",
    );
    let micro = 1_000_000;
    let dcqcn = Dcqcn {
        gain_shift: 4,
        alpha_timer_ps: micro,
        rate_timer_ps: 300 * micro,
        byte_counter: 150_000,
        fast_recovery: 1,
        additive_increase: 5_000_000,
        hyper_increase: 50_000_000,
        least_rate: 1_000_000,
        notification_ps: 4 * micro,
    };
    let wanted = Rdma {
        bytes: Some(1_000_000),
        mtu: 4_000,
        header_bytes: 58,
        control_bytes: 64,
        ack_every: 4,
        timeout_ps: 1_000 * micro,
        dcqcn: Some(dcqcn),
    };
    let model = read(&text).unwrap_or_else(|error| panic!("{}", error.one_line()));
    let first = &model.flows()[0];
    assert_eq!(first, &Flow::rdma(first.from, first.to, Arc::new(wanted)).class(3));
    let usual = read(&rdma("")).unwrap();
    let flow = &usual.flows()[0];
    assert_eq!(flow, &Flow::rdma(flow.from, flow.to, Arc::new(Rdma::default())));
}

#[test]
fn mistakes_in_rdma_flows() {
    for (keys, words) in [
        ("congestion = \"dctcp\"", &["`congestion`", "\"dcqcn\", \"none\""][..]),
        ("mtu = 0", &["`mtu` is 0", "from 1 to 500000"]),
        ("ack_every = 0", &["`ack_every` is 0", "from 1"]),
        ("timeout = \"0s\"", &["`timeout` is 0", "above 0"]),
        ("gain = \"2/3\"", &["a gain of 2/3", "\"1/256\""]),
        ("congestion = \"none\"\ngain = 1", &["unknown key `gain`"]),
        ("rate_timer = \"0us\"", &["`rate_timer` is 0", "above 0"]),
        ("rate = \"1Mbps\"", &["unknown key `rate`"]),
        ("timeout = \"12d\"", &["timeout", "10^18 ps"]),
    ] {
        refused(&rdma(keys), words);
    }
}
