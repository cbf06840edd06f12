//! The rows of the table: what a victim and its peer do, and the right log under each fate.

use paceline_processes::Process;

use super::{Body, State, World};

/// What a process does, as a function.
macro_rules! body {
    (|$cx:ident, $world:ident| $code:expr) => {{
        let body: Body = |$cx: Process<u32>, $world: World| {
            Box::pin(async move {
                let _ = &$world;
                $code
            })
        };
        body
    }};
}

pub(super) fn nobody() -> Body {
    body!(|cx, _world| drop(cx))
}

/// A peer that receives at this time, for 3 s.
macro_rules! receives {
    ($at:expr) => {
        body!(|cx, world| {
            cx.sleep(secs($at)).await;
            let got = cx.receive_within("box", secs(3.0)).await;
            world.note(&cx, "p", outcome(&got));
        })
    };
}

/// A peer that sends at this time, for 3 s.
macro_rules! sends {
    ($at:expr) => {
        body!(|cx, world| {
            cx.sleep(secs($at)).await;
            let sent = cx.send_within("box", 1, 1.0, secs(3.0)).await;
            world.note(&cx, "p", outcome(&sent));
        })
    };
}

/// A row in which the peer does nothing, and the victim only what `$code` says, which gives what it notes.
macro_rules! alone {
    ($name:expr, |$cx:ident, $world:ident| $code:expr, $right:expr) => {
        State {
            name: $name,
            victim: body!(|$cx, $world| {
                let what = $code;
                $world.note(&$cx, "v", what);
            }),
            peer: crate::states::tables::nobody(),
            right: $right,
        }
    };
}

macro_rules! pair {
    ($name:expr, |$cx:ident, $world:ident| $code:expr, $peer:expr, $right:expr) => {
        State { peer: $peer, ..alone!($name, |$cx, $world| $code, $right) }
    };
}

mod computations;
mod messages;
mod objects;
mod others;

pub(super) fn states() -> Vec<State> {
    [computations::rows(), messages::rows(), objects::rows(), others::rows()].into_iter().flatten().collect()
}
