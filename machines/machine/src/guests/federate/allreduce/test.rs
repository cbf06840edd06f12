//! Reductions among federates that contribute when they please, with notes that are late.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use paceline_kernel::Rng;

use super::*;

/// Federates contribute when they please; notes are late, in order between each two.
#[test]
fn everybody_gets_the_whole_of_every_pass() {
    let mut rng = Rng::new(1, 2);
    for case in 0..400 {
        let count = 1 + rng.below(20) as u32;
        let fan_in = 1 + rng.below(4) as u32;
        let ways = [Reduction::Tree { fan_in }, Reduction::Butterfly, Reduction::Central];
        let way = ways[case % 3];
        let mut all: Vec<_> = (0..count).map(|me| AllReduce::new(way, me, count)).collect();
        let mut passes = vec![0; count as usize];
        let mut waits = vec![false; count as usize];
        let mut lines: BTreeMap<(u32, u32), VecDeque<Note>> = BTreeMap::new();
        let value = |me: u32, pass: u64| Value {
            least: Time::nanos((u64::from(me) * 7 + pass * 13) % 31),
            transit: i64::from(me) - pass as i64,
            failed: pass == 3 && me == count / 2,
        };
        while passes.iter().any(|pass| *pass < 6) {
            let me = rng.below(u64::from(count)) as u32;
            let at = me as usize;
            if !waits[at] && passes[at] < 6 {
                all[at].contribute(value(me, passes[at]));
                waits[at] = true;
            }
            let full: Vec<_> = lines.keys().copied().filter(|(_, to)| *to == me).collect();
            if !full.is_empty() {
                let line = full[rng.below(full.len() as u64) as usize];
                let notes = lines.get_mut(&line).expect("it was listed");
                all[at].take(notes.pop_front().expect("empty lines are removed"));
                if notes.is_empty() {
                    lines.remove(&line);
                }
            }
            for (to, note) in all[at].out.drain(..) {
                assert_ne!(to, me, "{way:?} of {count}");
                lines.entry((me, to)).or_default().push_back(note);
            }
            if let Some(whole) = all[at].whole() {
                let mut expected = Value::NONE;
                (0..count).for_each(|other| expected.join(value(other, passes[at])));
                assert_eq!(whole, expected, "{way:?} of {count}, pass {}", passes[at]);
                passes[at] += 1;
                waits[at] = false;
            }
        }
        assert!(lines.is_empty(), "{way:?} of {count}: everything was needed");
    }
}
