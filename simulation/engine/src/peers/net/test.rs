//! A process that says what it cannot mean: the other ends the run with an error that names it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use paceline_kernel::{Context, LpId, Model, Rng, Time};
use paceline_transport::marshal::{AddError, Gather, Marshalling, Reason};
use paceline_transport::{Handed, Memory, Path, PeerError, PeerErrorKind, Transport};

use super::codec::{self, read_frame};
use super::rounds::Saying;
use super::{Contribution, PeersError, PeersErrorKind};
use crate::{Protocol, Report, RunError, Simulation};

/// Tokens that walk round a ring of LPs, one step a second.
struct Ring;

impl Model for Ring {
    type State = u64;
    type Event = u8;
    type Output = u32;

    fn lps(&self) -> u32 {
        8
    }

    fn lookahead(&self) -> Time {
        Time::secs(1)
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
        cx.send(LpId((lp.0 + 1) % 8), Time::secs(1), 1);
        0
    }

    fn handle(&self, seen: &mut u64, event: &u8, cx: &mut Context<Self>) {
        *seen += 1;
        cx.send(LpId((cx.lp().0 + 3) % 8), Time::secs(1), *event);
    }
}

/// What a contribution is replaced by.
type Lie = fn(Contribution) -> Vec<Contribution>;

/// What a bundle is replaced by.
type Forge = fn(&[u8]) -> Vec<Vec<u8>>;

/// The number of the bundle, from 0 on, that is replaced, and how.
type Forgery = (u32, Box<dyn Fn(&[u8]) -> Vec<Vec<u8>> + Send + Sync>);

/// The transport of a process that lies to the one above it.
struct Liar {
    honest: Memory,
    lie: Lie,
    forgery: Option<Forgery>,
    bundles: AtomicU32,
}

impl std::fmt::Debug for Liar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Liar").field(&self.honest).finish()
    }
}

impl Liar {
    fn new(honest: Memory, lie: Lie, forgery: Option<Forgery>) -> Self {
        Self { honest, lie, forgery, bundles: AtomicU32::new(0) }
    }

    /// What is sent instead of a message that is no contribution.
    fn forged(&self, message: &[u8]) -> Vec<Vec<u8>> {
        if codec::is_bundle(message) {
            let number = self.bundles.fetch_add(1, Ordering::Relaxed);
            if let Some((_, forge)) = self.forgery.as_ref().filter(|(which, _)| *which == number) {
                return forge(message);
            }
        }
        vec![message.to_vec()]
    }
}

impl Transport for Liar {
    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        let mut changed = Gather::new(Marshalling::default(), 4096, self.honest.frame_limit(to));
        let mut put =
            |message: &[u8]| changed.add(message, 0).map(drop).map_err(|error: AddError| error.to_string());
        let read = read_frame(&mut Vec::new(), frame, |message| {
            let Some(contribution) = codec::contribution(message) else {
                return self.forged(message).iter().try_for_each(|message| put(message));
            };
            for lie in (self.lie)(contribution) {
                let mut written = Vec::new();
                codec::saying(&mut written, &Saying::Up(lie)).map_err(|error| error.to_string())?;
                put(&written)?;
            }
            Ok(())
        });
        read.expect("so little is said that it fits one frame");
        changed.hand_over(Reason::Asked, |frame| self.honest.send(to, frame))
    }

    fn rank(&self) -> u32 {
        self.honest.rank()
    }

    fn ranks(&self) -> u32 {
        self.honest.ranks()
    }

    fn frame_limit(&self, to: u32) -> usize {
        self.honest.frame_limit(to)
    }

    fn unit(&self, to: u32) -> usize {
        self.honest.unit(to)
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        self.honest.receive(take)
    }

    fn is_pending(&self) -> bool {
        self.honest.is_pending()
    }

    fn wait(&self, most: Duration) {
        self.honest.wait(most);
    }

    fn wake(&self) {
        self.honest.wake();
    }

    fn paths(&self) -> Vec<Path> {
        self.honest.paths()
    }

    fn close(&self) {
        self.honest.close();
    }
}

/// What the process of rank 0 comes to beside one that lies.
fn beside(protocol: Protocol, lie: Lie) -> Result<Report<u32>, RunError> {
    let mut ends = Memory::mesh(2);
    let liar = Arc::new(Liar::new(ends.remove(1), lie, None));
    let run = || Simulation::new(Ring).protocol(protocol).federates(2).threads(1).until(Time::secs(500));
    let honest = run().join(Arc::new(ends.remove(0)));
    thread::scope(|scope| {
        // Whatever it comes to itself.
        scope.spawn(|| run().join(liar).run().map(drop));
        honest.run()
    })
}

/// What the process of rank 0 comes to beside one that forges a bundle, where LPs move.
fn beside_forger(protocol: Protocol, forgery: Forgery) -> Result<Report<u32>, RunError> {
    let mut ends = Memory::mesh(2);
    let liar = Arc::new(Liar::new(ends.remove(1), |contribution| vec![contribution], Some(forgery)));
    let run = || {
        let run = Simulation::new(Ring).protocol(protocol).federates(2).threads(1).until(Time::secs(200));
        run.shuffle_lps(7).leg_events(40)
    };
    let honest = run().join(Arc::new(ends.remove(0)));
    thread::scope(|scope| {
        // Whatever it comes to itself.
        scope.spawn(|| run().join(liar).run().map(drop));
        honest.run()
    })
}

/// Of the process that is named, what is wrong.
fn damage(ended: Result<Report<u32>, RunError>) -> String {
    match ended {
        Err(RunError::Peers(PeersError {
            rank: 1,
            kind: PeersErrorKind::Lost(PeerErrorKind::Damaged(what)),
        })) => what,
        other => panic!("the run ends because of process 1, not by {other:?}"),
    }
}

#[test]
fn who_goes_back_behind_gvt_is_named() {
    let lie: Lie = |contribution| {
        let least = if contribution.asks && contribution.least > Time::secs(100) {
            Time::ZERO
        } else {
            contribution.least
        };
        vec![Contribution { least, ..contribution }]
    };
    let what = damage(beside(Protocol::Optimistic, lie));
    assert!(what.contains("before GVT"), "{what}");
}

/// Two contributions could be of two rounds; and between legs the rounds follow each other without a look at
/// what else has come.
#[test]
fn who_contributes_three_times_to_a_round_is_named() {
    let lie: Lie = |contribution| {
        vec![
            contribution.clone();
            if contribution.least > Time::secs(100) && contribution.least < Time::MAX { 3 } else { 1 }
        ]
    };
    for protocol in [Protocol::Window, Protocol::Optimistic] {
        let what = damage(beside(protocol, lie));
        assert!(what.contains("not of the round"), "{what}");
    }
}

#[test]
fn whose_outputs_cannot_be_read_is_named() {
    let lie: Lie = |contribution| {
        let extra = if contribution.gathers { vec![(1, vec![0xff; 3])] } else { contribution.extra.clone() };
        vec![Contribution { extra, ..contribution }]
    };
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        damage(beside(protocol, lie));
    }
}

/// What the process of rank 2 of three comes to where that of rank 1 lies.
fn below_with(protocol: Protocol, lie: Lie) -> Result<Report<u32>, RunError> {
    let mut ends = Memory::mesh(3);
    let (last, liar) = (Arc::new(ends.remove(2)), Arc::new(Liar::new(ends.remove(1), lie, None)));
    let run = || {
        let limited = Simulation::new(Ring).silence_limit(Duration::from_secs(2));
        limited.protocol(protocol).federates(3).threads(1).until(Time::secs(500))
    };
    let first = run().join(Arc::new(ends.remove(0)));
    thread::scope(|scope| {
        scope.spawn(|| run().join(liar).run().map(drop));
        scope.spawn(|| first.run().map(drop));
        run().join(last).run()
    })
}

/// All are there and give signs of life; and between process 2 and the one that lies stands process 0, which
/// adds up what both say.
#[test]
fn messages_that_are_claimed_and_never_sent_are_not_waited_for() {
    fn claim(contribution: Contribution) -> Contribution {
        let mut contribution = contribution;
        match contribution.sent.last_mut() {
            Some((2, sent)) => *sent += 3,
            _ => contribution.sent.push((2, 3)),
        }
        contribution
    }
    let at_once: Lie = |contribution| vec![claim(contribution)];
    let later: Lie = |contribution| {
        vec![if contribution.least > Time::secs(100) { claim(contribution) } else { contribution }]
    };
    let cases = [
        (Protocol::Window, at_once),
        (Protocol::Window, later),
        (Protocol::NullMessage, later),
        (Protocol::Optimistic, later),
    ];
    thread::scope(|scope| {
        let ends = cases.map(|(protocol, lie)| scope.spawn(move || (protocol, below_with(protocol, lie))));
        for (protocol, end) in ends.map(|end| end.join().expect("no panic")) {
            let Err(RunError::Peers(PeersError { rank: 2, kind: PeersErrorKind::Missing(3) })) = end else {
                panic!("{protocol:?}: three messages are missing, not {end:?}");
            };
        }
    });
}

/// At a look each process sends how its federates stand, then what its LPs have done, then the LPs that move.
const BUNDLES_OF_A_LOOK: u32 = 3;

#[test]
fn who_sends_a_bundle_that_cannot_be_is_named() {
    let forgeries: [(&str, Forge); 4] = [
        ("nothing in it", |bundle| vec![bundle[..1].to_vec()]),
        ("its end is missing", |bundle| vec![bundle[..bundle.len() - 1].to_vec()]),
        ("sent twice", |bundle| vec![bundle.to_vec(), bundle.to_vec()]),
        ("all bytes are 0xff", |bundle| {
            vec![std::iter::once(bundle[0]).chain(bundle[1..].iter().map(|_| 0xff)).collect()]
        }),
    ];
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        for number in 0..BUNDLES_OF_A_LOOK {
            for (what, forge) in forgeries {
                let ended = beside_forger(protocol, (number, Box::new(forge)));
                assert!(ended.is_err(), "{protocol:?}, bundle {number}: {what}");
                damage(ended);
            }
        }
    }
}

/// A bundle with one byte that is wrong may be one that could be; else its sender is named.
#[test]
fn whatever_byte_of_a_bundle_is_wrong_no_process_panics() {
    let mut named = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed, 0x62_7974);
        let protocol = [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic][seed as usize % 3];
        let (number, place, mask) = (rng.below(6) as u32, rng.u64(), 1 + rng.below(255) as u8);
        let forge = move |bundle: &[u8]| {
            let mut changed = bundle.to_vec();
            let at = 1 + (place % (changed.len() as u64 - 1)) as usize;
            changed[at] ^= mask;
            vec![changed]
        };
        let ended = beside_forger(protocol, (number, Box::new(forge)));
        if ended.is_err() {
            named += 1;
            assert!(
                matches!(&ended, Err(RunError::Peers(PeersError { rank: 1, .. }))),
                "seed {seed}: bundle {number}: {ended:?}"
            );
        }
    }
    assert!(named > 10, "{named} were noticed");
}

#[test]
fn beside_one_that_does_not_lie_the_run_ends() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let report = beside(protocol, |contribution| vec![contribution]).expect("nobody lies");
        let alone = Simulation::new(Ring).protocol(Protocol::Sequential).until(Time::secs(500)).run();
        assert_eq!(report.digest, alone.expect("the model keeps the rules").digest);
    }
}
