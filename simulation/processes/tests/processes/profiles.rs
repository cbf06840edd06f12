//! Hosts and links of a platform follow their profiles: times are computed by hand.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use paceline_kernel::Time;
use paceline_network::{Constant, FlowModel, HostId, Platform, read};
use paceline_processes::{Process, RequestError, RunError, Simulation};

use super::{HERE, THERE, secs};

/// Two hosts of 1 Gf with two cores, a link of 1 MB/s without latency, and a profile for one thing.
fn platform(kind: &str, element: &str, profile: &str) -> Platform {
    let text = format!(
        r#"<platform version="4.1"><zone id="z" routing="Full">
             <host id="here" speed="1Gf" core="2"/> <host id="there" speed="3Gf,1Gf" core="2" pstate="1"/>
             <link id="wire" bandwidth="1MBps"/>
             <route src="here" dst="there"><link_ctn id="wire"/></route>
             <trace id="t">{profile}</trace>
             <trace_connect kind="{kind}" trace="t" element="{element}"/>
           </zone></platform>"#
    );
    read("test.xml", &text, &mut |_| Err("there are no other files".into())).unwrap()
}

fn millis(ms: u64) -> Time {
    Time::millis(ms)
}

fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// When computations of `flops` that begin at the starts of a list are over.
fn ends(platform: &Platform, host: HostId, flops: f64, starts: &[u64]) -> Vec<Time> {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let mut world = Simulation::<(), _>::on_platform(platform, FlowModel::CM02);
    for start in starts {
        let (start, ends) = (millis(*start), Arc::clone(&ends));
        world.spawn("computes", host, async move |cx: Process<()>| {
            cx.sleep(start).await;
            cx.compute(flops).await.unwrap();
            ends.lock().unwrap().push(cx.now());
        });
    }
    world.run().unwrap_or_else(|error| panic!("{error}"));
    let ends = ends.lock().unwrap();
    ends.clone()
}

#[test]
fn a_change_of_speed_scales_what_is_computed() {
    // Full speed up to 1 s, then a quarter, from 3 s on a half.
    let once = platform("SPEED", "here", "1 0.25\n3 0.5");
    assert_eq!(ends(&once, HERE, 1e9, &[0]), [secs(1)]);
    assert_eq!(ends(&once, HERE, 2e9, &[0]), [secs(4)]);
    assert_eq!(ends(&once, THERE, 2e9, &[0]), [secs(2)], "the other host is its own, at its slower state");
    // Four on two cores, half as fast each: 0.5 Gf by 1 s, 0.25 Gf by 3 s, 0.25 Gf a second after that.
    assert_eq!(ends(&once, HERE, 1e9, &[0; 4]), [secs(4); 4]);
    // It begins while the host is slow.
    assert_eq!(ends(&once, HERE, 1e9, &[2000]), [millis(4500)]);
    // No speed in every second second, from the start on and for ever.
    let nights = platform("SPEED", "here", "0 0\n1 1\nLOOPAFTER 1");
    assert_eq!(ends(&nights, HERE, 3e9, &[0]), [secs(6)]);
    assert_eq!(ends(&nights, HERE, 1e9, &[500, 1500]), [secs(2), millis(3500)]);
}

#[test]
fn a_host_that_is_switched_off_for_a_span_comes_back_on_any_federates() {
    for federates in [None, Some(1), Some(2)] {
        let starts = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&starts);
        let mut world = Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1); 2]);
        world.spawn_restarting("fails", THERE, move |cx: Process<()>| {
            let noted = Arc::clone(&noted);
            async move {
                noted.lock().unwrap().push(cx.now());
                cx.sleep(secs(2)).await;
                if cx.now() < secs(6) {
                    cx.switch_off_for(THERE, secs(3));
                    cx.yield_now().await;
                    panic!("it has gone with its host");
                }
            }
        });
        let world = match federates {
            Some(federates) => world.federates(federates),
            None => world,
        };
        let report = world.run().unwrap_or_else(|error| panic!("{federates:?}: {error}"));
        assert_eq!((&starts.lock().unwrap()[..], report.end_time), (&[secs(0), secs(5)][..], secs(7)));
    }
}

#[test]
fn a_host_goes_and_comes_back_and_takes_its_processes_along() {
    let ended = Arc::new(AtomicU32::new(0));
    let days = platform("HOST_AVAIL", "there", "2 0\n5 1\nLOOPAFTER 2");
    let mut world = Simulation::<u32, _>::on_platform(&days, FlowModel::CM02).until(secs(20));
    let counted = Arc::clone(&ended);
    world.spawn_restarting("again", THERE, move |cx: Process<u32>| {
        let counted = Arc::clone(&counted);
        async move {
            cx.on_exit(move || count(&counted));
            cx.record(cx.now().as_nanos());
            // On from 5 s to 9 s, from 12 s to 16 s, and so on.
            assert!([0, 5, 12, 19].map(secs).contains(&cx.now()), "started at {}", cx.now());
            cx.compute(1e10).await.unwrap();
        }
    });
    world.spawn("once", THERE, async |cx: Process<u32>| cx.sleep(secs(1000)).await);
    world.spawn("sends", HERE, async |cx: Process<u32>| {
        cx.start_receive("other").detach();
        assert_eq!((cx.send("to", 1, 5e6).await, cx.now()), (Err(RequestError::HostOff), secs(2)));
    });
    world.spawn("receives", THERE, async |cx: Process<u32>| assert!(cx.receive("to").await.is_err()));
    let report = world.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.end_time, report.counts.processes), (secs(20), 7));
    assert_eq!(ended.load(Ordering::Relaxed), 3, "whoever a host takes along has its hooks called");
}

#[test]
fn the_last_processes_may_be_those_that_a_host_takes_along() {
    let ended = Arc::new(AtomicU32::new(0));
    let off = platform("HOST_AVAIL", "here", "3 0");
    let mut world = Simulation::<u32, _>::on_platform(&off, FlowModel::CM02);
    let counted = Arc::clone(&ended);
    world.spawn("waits", HERE, async move |cx: Process<u32>| {
        cx.on_exit(move || count(&counted));
        unreachable!("{:?}", cx.receive("nothing").await);
    });
    assert_eq!(world.run().unwrap().end_time, secs(3));
    assert_eq!(ended.load(Ordering::Relaxed), 1);
    // It is off from the start.
    let off = platform("HOST_AVAIL", "here", "0 0");
    let mut world = Simulation::<u32, _>::on_platform(&off, FlowModel::CM02);
    world.spawn("never", HERE, async |_: Process<u32>| unreachable!("its host is off"));
    assert_eq!(world.run().unwrap().counts.steps, 0);
}

#[test]
fn a_link_that_goes_fails_the_message_on_it() {
    let broken = platform("LINK_AVAIL", "wire", "2 0\n7 1");
    let mut world = Simulation::on_platform(&broken, FlowModel::CM02);
    world.spawn("sends", HERE, async |cx: Process<u32>| {
        assert_eq!((cx.send("to", 1, 5e6).await, cx.now()), (Err(RequestError::LinkOff), secs(2)));
        assert_eq!(cx.send("to", 1, 5e6).await, Err(RequestError::LinkOff), "it is still off");
        cx.sleep_until(secs(8)).await;
        assert_eq!((cx.send("to", 1, 5e6).await, cx.now()), (Ok(()), millis(13_250)));
    });
    world.spawn("receives", THERE, async |cx: Process<u32>| {
        for arrives in [false, false, true] {
            assert_eq!(cx.receive("to").await.is_ok(), arrives);
        }
    });
    world.run().unwrap_or_else(|error| panic!("{error}"));
    // A second at 1 MB/s, then a tenth; what goes back takes a twentieth of it.
    let slower = platform("BANDWIDTH", "wire", "1 1e5");
    let mut world = Simulation::on_platform(&slower, FlowModel::CM02);
    world.spawn("sends", HERE, async |cx: Process<u32>| cx.send("to", 1, 2e6).await.unwrap());
    world.spawn("receives", THERE, async |cx: Process<u32>| {
        assert_eq!((cx.receive("to").await, cx.now()), (Ok(1), secs(12)));
    });
    world.run().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn profiles_without_end_do_not_hide_a_deadlock() {
    for (kind, element, profile) in [
        ("SPEED", "here", "0 1\n1 0.5\nLOOPAFTER 1"),
        ("HOST_AVAIL", "there", "0 1\n1 0\nLOOPAFTER 1"),
        ("BANDWIDTH", "wire", "0 1e6\n1 1e5\nLOOPAFTER 1"),
    ] {
        let platform = platform(kind, element, profile);
        let mut world = Simulation::on_platform(&platform, FlowModel::CM02);
        world.spawn("waits", HERE, async |cx: Process<u32>| {
            cx.sleep(secs(3)).await;
            unreachable!("{:?}", cx.receive("nothing").await);
        });
        match world.run() {
            Err(RunError::Deadlock { time, stuck }) => {
                assert_eq!((time, stuck.len()), (secs(3), 1), "{kind}");
            }
            other => panic!("{kind}: {other:?}"),
        }
    }
}
