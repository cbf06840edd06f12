//! Reductions over all federates by messages: each contributes a value, and each gets the reduced value.
//!
//! A state machine: values and notes go in, notes to others come out of `out`, and `whole` has the result. A
//! federate contributes to one pass after the other, to each once it has the result of the one before.
//!
//! Invariant: a whole joins exactly one contribution of every federate. With the butterfly a note may come a
//! pass early, from a partner that is through already; never earlier, since no federate completes a pass
//! before all have contributed to it.

#[cfg(test)]
mod test;

use std::ops::Range;

use paceline_kernel::Time;

use super::Reduction;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// No event is before this: the minimum over all federates.
    pub least: Time,
    /// Messages sent and not received: the sum over all federates.
    pub transit: i64,
    /// Whether any federate cannot continue.
    pub failed: bool,
}

impl Value {
    const NONE: Self = Self { least: Time::MAX, transit: 0, failed: false };

    fn join(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.transit += other.transit;
        self.failed |= other.failed;
    }
}

/// What federates send each other in a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// The part of some; of a butterfly, from which exchange of which pass.
    Part {
        odd: bool,
        stage: u8,
        value: Value,
    },
    Whole(Value),
}

/// One federate's part in the reductions.
#[derive(Debug)]
pub(super) struct AllReduce {
    way: Way,
    /// Notes to be sent.
    pub out: Vec<(u32, Note)>,
    whole: Option<Value>,
}

#[derive(Debug)]
enum Way {
    Tree(Tree),
    Butterfly(Butterfly),
}

#[derive(Debug)]
struct Tree {
    parent: Option<u32>,
    children: Range<u32>,
    /// Parts that have not come yet, that of this federate included.
    missing: u32,
    sum: Value,
}

#[derive(Debug)]
struct Butterfly {
    me: u32,
    /// Federates from this on hand their part to the one so many before them, and get the whole from there.
    power: u32,
    /// The one that hands its part to this federate.
    extra: Option<u32>,
    odd: bool,
    /// The exchange that is waited for, once this federate has contributed; 0 is for the part of `extra`.
    stage: Option<u8>,
    sum: Value,
    /// Parts that have come, by pass and exchange.
    slots: [Vec<Option<Value>>; 2],
}

impl AllReduce {
    /// For federate `me` of `count`.
    pub fn new(reduction: Reduction, me: u32, count: u32) -> Self {
        let tree = |fan_in: u32| {
            let first = |node: u32| node.saturating_mul(fan_in).saturating_add(1).min(count);
            let children = first(me)..first(me + 1);
            let missing = 1 + children.len() as u32;
            Way::Tree(Tree {
                parent: me.checked_sub(1).map(|n| n / fan_in),
                children,
                missing,
                sum: Value::NONE,
            })
        };
        let way = match reduction {
            Reduction::Tree { fan_in } => tree(fan_in),
            Reduction::Central => tree(count.max(1)),
            Reduction::Butterfly => {
                let power = 1u32 << count.max(1).ilog2();
                let slots = || vec![None; power.ilog2() as usize + 1];
                let extra = (me < power && me + power < count).then_some(me + power);
                let slots = [slots(), slots()];
                Way::Butterfly(Butterfly {
                    me,
                    power,
                    extra,
                    odd: false,
                    stage: None,
                    sum: Value::NONE,
                    slots,
                })
            }
        };
        Self { way, out: Vec::new(), whole: None }
    }

    /// Takes part in the next pass.
    pub fn contribute(&mut self, value: Value) {
        assert!(self.whole.is_none(), "a federate contributes once it has the result of the pass before");
        match &mut self.way {
            Way::Tree(tree) => self.whole = tree.part(value, &mut self.out),
            Way::Butterfly(butterfly) => self.whole = butterfly.contribute(value, &mut self.out),
        }
    }

    /// Takes in a note.
    pub fn take(&mut self, note: Note) {
        let whole = match (&mut self.way, note) {
            (Way::Tree(tree), Note::Part { value, .. }) => tree.part(value, &mut self.out),
            (Way::Tree(tree), Note::Whole(value)) => Some(tree.whole(value, &mut self.out)),
            (Way::Butterfly(butterfly), Note::Part { odd, stage, value }) => {
                let slot = &mut butterfly.slots[usize::from(odd)][usize::from(stage)];
                assert!(slot.is_none(), "nobody is more than a pass ahead");
                *slot = Some(value);
                butterfly.proceed(&mut self.out)
            }
            (Way::Butterfly(butterfly), Note::Whole(value)) => {
                butterfly.stage = None;
                Some(value)
            }
        };
        // A part of the next pass completes nothing, and must not hide a result that was not taken yet.
        self.whole = self.whole.or(whole);
    }

    /// Whether the result of the pass is there.
    pub fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// The result of the pass, once.
    pub fn whole(&mut self) -> Option<Value> {
        self.whole.take()
    }

    /// What is waited for, for people.
    pub fn awaits(&self) -> String {
        match &self.way {
            Way::Tree(tree) if tree.missing as usize <= tree.children.len() => {
                let Range { start, end } = tree.children;
                format!("{} of the parts of federates {start} to {}", tree.missing, end - 1)
            }
            Way::Tree(tree) => format!("the result from federate {}", tree.parent.unwrap_or(0)),
            Way::Butterfly(Butterfly { me, power, .. }) if me >= power => {
                format!("the result from federate {}", me - power)
            }
            Way::Butterfly(butterfly) => {
                format!("the part of federate {}", butterfly.partner(butterfly.stage.unwrap_or(0)))
            }
        }
    }
}

impl Tree {
    fn part(&mut self, value: Value, out: &mut Vec<(u32, Note)>) -> Option<Value> {
        self.sum.join(value);
        self.missing -= 1;
        if self.missing > 0 {
            return None;
        }
        self.missing = 1 + self.children.len() as u32;
        let value = std::mem::replace(&mut self.sum, Value::NONE);
        match self.parent {
            Some(parent) => {
                // Without a parity: a child begins the next pass only after the whole that comes from here.
                out.push((parent, Note::Part { odd: false, stage: 0, value }));
                None
            }
            None => Some(self.whole(value, out)),
        }
    }

    fn whole(&mut self, value: Value, out: &mut Vec<(u32, Note)>) -> Value {
        out.extend(self.children.clone().map(|child| (child, Note::Whole(value))));
        value
    }
}

impl Butterfly {
    fn partner(&self, stage: u8) -> u32 {
        if stage == 0 { self.extra.unwrap_or(self.me) } else { self.me ^ 1 << (stage - 1) }
    }

    fn contribute(&mut self, value: Value, out: &mut Vec<(u32, Note)>) -> Option<Value> {
        self.sum = value;
        if self.me >= self.power {
            self.stage = Some(0);
            out.push((self.me - self.power, Note::Part { odd: self.odd, stage: 0, value }));
            // Its only part in this pass is sent: the next one has the other parity.
            self.odd = !self.odd;
            return None;
        }
        // The part of the federate beyond the power of two is waited for first: the exchanges include it.
        match self.extra {
            Some(_) => self.stage = Some(0),
            None => self.enter(1, out),
        }
        self.proceed(out)
    }

    fn enter(&mut self, stage: u8, out: &mut Vec<(u32, Note)>) {
        self.stage = Some(stage);
        if usize::from(stage) < self.slots[0].len() {
            out.push((self.partner(stage), Note::Part { odd: self.odd, stage, value: self.sum }));
        }
    }

    /// Advances as far as the received parts allow.
    fn proceed(&mut self, out: &mut Vec<(u32, Note)>) -> Option<Value> {
        loop {
            let stage = self.stage?;
            let slots = &mut self.slots[usize::from(self.odd)];
            if usize::from(stage) == slots.len() {
                break;
            }
            let part = slots[usize::from(stage)].take()?;
            self.sum.join(part);
            self.enter(stage + 1, out);
        }
        self.stage = None;
        self.odd = !self.odd;
        out.extend(self.extra.map(|extra| (extra, Note::Whole(self.sum))));
        Some(self.sum)
    }
}
