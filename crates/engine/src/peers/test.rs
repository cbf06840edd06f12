//! A process that says what it cannot mean: the other ends the run with an error that names it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use paceline_kernel::{Context, LpId, Model, Time};
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

/// The transport of a process that lies to the one above it.
#[derive(Debug)]
struct Liar(Memory, Lie);

impl Transport for Liar {
    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        let mut changed = Gather::new(Marshalling::default(), 4096, self.0.frame_limit(to));
        let mut put =
            |message: &[u8]| changed.add(message, 0).map(drop).map_err(|error: AddError| error.to_string());
        let read = read_frame(&mut Vec::new(), frame, |message| {
            let Some(own) = codec::contribution(message) else { return put(message) };
            for lie in (self.1)(own) {
                let mut written = Vec::new();
                codec::saying(&mut written, &Saying::Up(lie)).map_err(|error| error.to_string())?;
                put(&written)?;
            }
            Ok(())
        });
        read.expect("so little is said that it fits one frame");
        changed.hand_over(Reason::Asked, |frame| self.0.send(to, frame))
    }

    fn rank(&self) -> u32 {
        self.0.rank()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn frame_limit(&self, to: u32) -> usize {
        self.0.frame_limit(to)
    }

    fn unit(&self, to: u32) -> usize {
        self.0.unit(to)
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        self.0.receive(take)
    }

    fn is_pending(&self) -> bool {
        self.0.is_pending()
    }

    fn wait(&self, most: Duration) {
        self.0.wait(most);
    }

    fn wake(&self) {
        self.0.wake();
    }

    fn paths(&self) -> Vec<Path> {
        self.0.paths()
    }

    fn close(&self) {
        self.0.close();
    }
}

/// What the process of rank 0 comes to beside one that lies.
fn beside(protocol: Protocol, lie: Lie) -> Result<Report<u32>, RunError> {
    let mut ends = Memory::mesh(2);
    let liar = Arc::new(Liar(ends.remove(1), lie));
    let run = || Simulation::new(Ring).protocol(protocol).federates(2).threads(1).until(Time::secs(500));
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
    let lie: Lie = |own| {
        let least = if own.asks && own.least > Time::secs(100) { Time::ZERO } else { own.least };
        vec![Contribution { least, ..own }]
    };
    let what = damage(beside(Protocol::Optimistic, lie));
    assert!(what.contains("before GVT"), "{what}");
}

/// Two contributions could be of two rounds; and between legs the rounds follow each other without a look at what else has come.
#[test]
fn who_contributes_three_times_to_a_round_is_named() {
    let lie: Lie =
        |own| vec![own.clone(); if own.least > Time::secs(100) && own.least < Time::MAX { 3 } else { 1 }];
    for protocol in [Protocol::Window, Protocol::Optimistic] {
        let what = damage(beside(protocol, lie));
        assert!(what.contains("not of the round"), "{what}");
    }
}

#[test]
fn whose_outputs_cannot_be_read_is_named() {
    let lie: Lie = |own| {
        let extra = if own.gathers { vec![(1, vec![0xff; 3])] } else { own.extra.clone() };
        vec![Contribution { extra, ..own }]
    };
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        damage(beside(protocol, lie));
    }
}

/// What the process of rank 2 of three comes to where that of rank 1 lies.
fn below_with(protocol: Protocol, lie: Lie) -> Result<Report<u32>, RunError> {
    let mut ends = Memory::mesh(3);
    let (last, liar) = (Arc::new(ends.remove(2)), Arc::new(Liar(ends.remove(1), lie)));
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

/// All are there and give signs of life; and between process 2 and the one that lies stands process 0, which adds up what both say.
#[test]
fn messages_that_are_claimed_and_never_sent_are_not_waited_for() {
    fn claim(own: Contribution) -> Contribution {
        let mut own = own;
        match own.sent.last_mut() {
            Some((2, sent)) => *sent += 3,
            _ => own.sent.push((2, 3)),
        }
        own
    }
    let at_once: Lie = |own| vec![claim(own)];
    let later: Lie = |own| vec![if own.least > Time::secs(100) { claim(own) } else { own }];
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

#[test]
fn beside_one_that_does_not_lie_the_run_ends() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let report = beside(protocol, |own| vec![own]).expect("nobody lies");
        let alone = Simulation::new(Ring).protocol(Protocol::Sequential).until(Time::secs(500)).run();
        assert_eq!(report.digest, alone.expect("the model keeps the rules").digest);
    }
}
