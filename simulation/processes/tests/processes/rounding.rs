//! Times are whole nanoseconds, and roundings do not add up: a series of short transfers ends at the
//! nanosecond nearest to its sum.

use paceline_kernel::Time;
use paceline_network::{Constant, FlowModel, Flows, HostId, Network, Platform, read};
use paceline_processes::{Activity, Process, Report, Simulation};

/// Pairs of hosts with links of 3 GB/s, the second with a latency of 1.3 ns; without routes that share links
/// both ways.
fn pairs() -> Platform {
    let text = r#"<platform version="4.1"><zone id="z" routing="Full">
        <host id="a" speed="3Gf"/> <host id="b" speed="3Gf"/> <host id="c" speed="3Gf"/> <host id="d" speed="3Gf"/>
        <link id="l" bandwidth="3GBps"/> <link id="m" bandwidth="3GBps"/>
        <link id="n" bandwidth="3GBps" latency="1.3ns"/> <link id="o" bandwidth="3GBps"/>
        <route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/></route>
        <route src="b" dst="a" symmetrical="NO"><link_ctn id="m"/></route>
        <route src="c" dst="d" symmetrical="NO"><link_ctn id="n"/></route>
        <route src="d" dst="c" symmetrical="NO"><link_ctn id="o"/></route>
    </zone></platform>"#;
    read("pairs.xml", text, &mut |_| Err("there are no other files".into())).expect("it is well-formed")
}

fn end<N: Network + Send + Sync>(world: Simulation<u32, N>) -> u64 {
    let report: Report = world.run().unwrap_or_else(|error| panic!("{error}"));
    report.end_time.as_nanos()
}

/// Adds a sender and a receiver of so many messages, one after the other.
fn series<N: Network>(
    world: &mut Simulation<u32, N>,
    (from, to): (HostId, HostId),
    bytes: f64,
    number: u32,
    mailbox: u64,
) {
    world.spawn("sender", from, async move |cx: Process<u32>| {
        for message in 0..number {
            cx.send(mailbox, message, bytes).await.expect("there is a route");
        }
    });
    world.spawn("receiver", to, async move |cx: Process<u32>| {
        for message in 0..number {
            assert_eq!(cx.receive(mailbox).await, Ok(message));
        }
    });
}

#[test]
fn a_series_of_short_transfers_ends_with_simgrids() {
    let platform = pairs();
    let host = |name: &str| platform.host(name).unwrap();
    // SimGrid 3.32, in nanoseconds, rounded once.
    for (model, from, to, bytes, number, end_ns) in [
        (FlowModel::CM02, "a", "b", 4.0, 1000, 1333),
        (FlowModel::CM02, "a", "b", 1.0, 1000, 333),
        (FlowModel::LV08, "a", "b", 4.0, 1000, 1375),
        (FlowModel::LV08, "a", "b", 1000.0, 1000, 343_643),
        (FlowModel::CM02, "c", "d", 4.0, 1000, 2633),
        (FlowModel::CM02, "c", "d", 0.0, 1000, 1300),
        (FlowModel::LV08, "c", "d", 4.0, 1000, 18_288),
        (FlowModel::CM02, "a", "a", 4.0, 1000, 400),
        (FlowModel::LV08, "a", "a", 4.0, 1000, 412),
        (FlowModel::CM02, "a", "b", 4.0, 100_000, 133_333),
    ] {
        let mut world = Simulation::on_platform(&platform, model);
        series(&mut world, (host(from), host(to)), bytes, number, 0);
        assert_eq!(end(world), end_ns, "{from} to {to}, {number} times {bytes} bytes, {model:?}");
    }
}

#[test]
fn it_does_whoever_else_has_transfers_in_the_same_nanoseconds() {
    let platform = pairs();
    let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
    // On the loopback nobody shares: the series of nine bytes a message is the last, after 1000 times 0.9 ns.
    let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
    for bytes in 1..10u32 {
        series(&mut world, (a, a), f64::from(bytes), 1000, bytes.into());
    }
    assert_eq!(end(world), 900);
    // Both have half of the link, without a gap after each short message: 1,004,000 bytes at 3 GB/s.
    let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
    series(&mut world, (a, b), 4.0, 1000, 1);
    series(&mut world, (a, b), 1e6, 1, 2);
    assert_eq!(end(world), 334_667);
    // Two series that share: each message takes twice as long.
    let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
    series(&mut world, (a, b), 4.0, 1000, 1);
    series(&mut world, (a, b), 4.0, 1000, 2);
    assert_eq!(end(world), 2667);
}

#[test]
fn the_exact_time_is_handed_on_from_process_to_process() {
    let platform = pairs();
    let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
    // To and fro: 2000 messages of 4 bytes.
    let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
    for (host, inbox, other) in [(a, 1u64, 2u64), (b, 2, 1)] {
        world.spawn("player", host, async move |cx: Process<u32>| {
            if inbox == 1 {
                cx.send(other, 0, 4.0).await.unwrap();
            }
            for _ in 0..1000 - u32::from(inbox == 1) {
                cx.receive(inbox).await.unwrap();
                cx.send(other, 0, 4.0).await.unwrap();
            }
            if inbox == 1 {
                cx.receive(inbox).await.unwrap();
            }
        });
    }
    assert_eq!(end(world), 2667);
    // With a child for each message, a sleep of 10 ns, an activity that is waited for, and two at once.
    for (kind, end_ns) in [("child", 1333), ("sleep", 11_333), ("activity", 1333), ("all", 2667)] {
        let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
        world.spawn("sender", a, async move |cx: Process<u32>| {
            for _ in 0..1000 {
                match kind {
                    "child" => {
                        let child =
                            async |cx: Process<u32>| cx.send(1, 0, 4.0).await.expect("there is a route");
                        let child = cx.spawn("child", a, child).await.expect("its host is on");
                        cx.join(child).await.unwrap();
                    }
                    "activity" => {
                        let mut sent = cx.start_send(1, 0, 4.0);
                        sent.wait(&cx).await.unwrap();
                    }
                    "all" => {
                        let (mut one, mut other) = (cx.start_send(1, 0, 4.0), cx.start_send(1, 0, 4.0));
                        Activity::wait_all(&cx, &mut [&mut one, &mut other]).await.unwrap();
                    }
                    _ => {
                        cx.send(1, 0, 4.0).await.unwrap();
                        cx.sleep(Time::nanos(10)).await;
                    }
                }
            }
        });
        world.spawn("receiver", b, async move |cx: Process<u32>| {
            cx.daemonize();
            loop {
                cx.receive(1).await.unwrap();
            }
        });
        assert_eq!(end(world), end_ns, "{kind}");
    }
}

#[test]
fn messages_to_mailboxes_at_hosts_do_so_on_any_number_of_federates() {
    let ring = |federates: Option<u32>| {
        let mut world = Simulation::new(Constant::new(1e-9 * 41.0 / 3.0), &[(1e9, 1); 3]);
        for host in 0..3u32 {
            world.place(u64::from(host), HostId(host));
            world.spawn("link", HostId(host), async move |cx: Process<u32>| {
                let next = u64::from((host + 1) % 3);
                if host == 0 {
                    cx.send(next, 0, 1.0).await.unwrap();
                }
                for _ in 0..1000 - u32::from(host == 0) {
                    let number = cx.receive(u64::from(host)).await.unwrap();
                    cx.send(next, number + 1, 1.0).await.unwrap();
                }
            });
        }
        let world = match federates {
            Some(federates) => world.federates(federates).threads(2),
            None => world,
        };
        let report = world.run().unwrap_or_else(|error| panic!("{error}"));
        (report.end_time.as_nanos(), report.digest)
    };
    let whole = ring(None);
    // 3000 messages of 13.67 ns.
    assert_eq!(whole.0, 41_000);
    for federates in 1..=3 {
        assert_eq!(ring(Some(federates)), whole, "{federates} federates");
    }
}

#[test]
fn messages_that_share_links_do_so_on_any_number_of_federates() {
    let text = r#"<platform version="4.1">
        <cluster id="c" prefix="h" suffix="" radical="0-2" speed="1Gf" bw="3GBps" lat="100ns" bb_bw="7GBps" bb_lat="10.1ns"/>
    </platform>"#;
    let platform = read("c.xml", text, &mut |_| Err("there are no other files".into())).unwrap();
    let talk = |federates: Option<u32>| {
        let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
        for host in 0..3u32 {
            world.place(u64::from(host), HostId(host));
            world.spawn("talker", HostId(host), async move |cx: Process<u32>| {
                for number in 0..200 {
                    cx.send(u64::from((host + 1) % 3), number, f64::from(17 * host + 5)).await.unwrap();
                    cx.record(u64::from(cx.receive(u64::from(host)).await.unwrap()));
                }
            });
        }
        let world = match federates {
            Some(federates) => world.federates(federates).threads(2),
            None => world,
        };
        let report = world.run().unwrap_or_else(|error| panic!("{error}"));
        (report.end_time.as_nanos(), report.digest)
    };
    let whole = talk(None);
    for federates in 1..=3 {
        assert_eq!(talk(Some(federates)), whole, "{federates} federates");
    }
}

#[test]
fn whole_nanoseconds_stay_whole_however_late_it_is() {
    // A day of 0.1 s is no sum of binary fractions; what these lose is not carried.
    let late = async |cx: Process<u32>| {
        cx.sleep(Time::secs(1_000_000)).await;
        for message in 0..5000 {
            cx.send(1, message, 1.0).await.unwrap();
        }
    };
    let receive = async |cx: Process<u32>| {
        for message in 0..5000 {
            assert_eq!(cx.receive(1).await, Ok(message));
        }
    };
    let mut world = Simulation::new(Constant::new(0.1), &[(1e9, 1), (1e9, 1)]);
    world.spawn("sender", HostId(0), late);
    world.spawn("receiver", HostId(1), receive);
    assert_eq!(end(world), 1_000_500 * 1_000_000_000);
    let text = r#"<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
        <link id="l" bandwidth="10Bps"/> <link id="m" bandwidth="10Bps"/>
        <route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/></route>
        <route src="b" dst="a" symmetrical="NO"><link_ctn id="m"/></route></zone></platform>"#;
    let platform = read("slow.xml", text, &mut |_| Err("there are no other files".into())).unwrap();
    let mut world = Simulation::new(Flows::new(&platform, FlowModel::CM02), &[(1e9, 1), (1e9, 1)]);
    world.spawn("sender", HostId(0), late);
    world.spawn("receiver", HostId(1), receive);
    assert_eq!(end(world), 1_000_500 * 1_000_000_000);
}
