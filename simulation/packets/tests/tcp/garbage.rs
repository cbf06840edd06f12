//! Whatever segments arrive, a connection does not fail, and what it sends makes sense.

use paceline_kernel::Time;
use paceline_packets::tcp::{
    Algorithm, Block, Connection, Ecn, Flags, Options, SackBlocks, Segment, Settings, Step,
};
use proptest::prelude::*;

const FLAGS: [Flags; 6] = [Flags::SYN, Flags::FIN, Flags::RST, Flags::ECE, Flags::CWR, Flags::TIMESTAMPS];

fn segments() -> impl Strategy<Value = (u64, Segment, bool)> {
    let block = (0..20_000u64, 0..6_000u64).prop_map(|(start, length)| Block { start, end: start + length });
    let sack = proptest::collection::vec(block, 0..4).prop_map(|all| {
        let mut blocks = SackBlocks::default();
        all.into_iter().for_each(|block| blocks.push(block));
        Options::Sack(blocks)
    });
    let syn = (0..2000u16, proptest::option::of(0..14u8), any::<bool>())
        .prop_map(|(mss, scale, sack)| Options::Syn { mss, scale, sack });
    let options = proptest::option::weighted(0.4, prop_oneof![4 => sack, 1 => syn].prop_map(Box::new));
    let flags = (0..FLAGS.len() * 8, any::<bool>()).prop_map(|(which, has_ack)| {
        let other = FLAGS.get(which).copied().unwrap_or(Flags::NONE);
        Flags::NONE.with(Flags::ACK, has_ack || which > 2).with(other, true)
    });
    let numbers = (0..5000u64, 0..20_000u64, 0..40_000u32, any::<u32>(), any::<u32>());
    (0..400_000u64, numbers, prop_oneof![Just(0u16), 0..1500u16], flags, options, any::<bool>()).prop_map(
        |(micros, (sequence, ack, window, stamp, echo), length, flags, options, ce)| {
            (micros, Segment { sequence, ack, window, stamp, echo, length, flags, options }, ce)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]
    #[test]
    fn a_connection_takes_whatever_arrives(
        arrivals in proptest::collection::vec(segments(), 1..60),
        algorithm in proptest::sample::select(vec![
            Algorithm::NewReno, Algorithm::Cubic, Algorithm::Dctcp, Algorithm::Bbr,
        ]),
        sack in any::<bool>(),
        is_open in any::<bool>(),
    ) {
        let settings = Settings {
            algorithm,
            sack,
            ecn: Ecn::Classic,
            receive_buffer: 4000,
            reads_at_once: false,
            ..Settings::default()
        };
        let (mut now, mut out) = (Time::ZERO, vec![]);
        let mut connection = Connection::connect(&mut Step::new(&settings, now, &mut out), 1);
        connection.write(&mut Step::new(&settings, now, &mut out), 20_000);
        if is_open {
            let flags = Flags::SYN | Flags::ACK | Flags::ECE;
            let options = Some(Box::new(Options::Syn { mss: 1460, scale: None, sack }));
            let answer = Segment { ack: 1, window: 20_000, flags, options, ..Segment::default() };
            connection.on_segment(&mut Step::new(&settings, now, &mut out), &answer, false);
        }
        for (micros, segment, ce) in arrivals {
            let until = now + Time::micros(micros);
            while let Some(deadline) = connection.deadline().filter(|&deadline| deadline <= until) {
                prop_assert!(deadline > now || now == Time::ZERO, "a timer stands still at {}", now);
                now = deadline;
                connection.on_timer(&mut Step::new(&settings, now, &mut out));
            }
            now = until;
            connection.on_segment(&mut Step::new(&settings, now, &mut out), &segment, ce);
            connection.read(&mut Step::new(&settings, now, &mut out), 100);
            prop_assert!(connection.readable() <= 4000);
            prop_assert!(connection.is_consistent(), "{:?}", connection);
            for sent in out.drain(..) {
                prop_assert!(sent.sequence + u64::from(sent.length) <= 20_001 && sent.length <= 1460);
                prop_assert!(sent.header_bytes() <= 60, "{:?}", sent);
            }
        }
    }
}
