//! What a proxy hands over to a federate that runs ahead, and how it checks and takes in what that says.
//!
//! Invariants: hand-overs are numbered without gaps and made in this order; nothing of a standing goes
//! anywhere before all of it is found right; a standing is taken in before the floor that it gives is
//! reported.

use paceline_kernel::{Bounds, Effort, Event, Model, Outbox, Partition, Time};

use super::Proxy;
use crate::RunError;
use crate::outside::ahead::{MOST_UNDER_WAY, Permit, in_order};
use crate::outside::standing::Standing;
use crate::outside::{Answer, Answers, OutsideError, OutsideErrorKind};

impl<M: Model> Proxy<M> {
    /// Whether it stands for a federate that runs ahead.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Takes in what a federate that runs ahead has said; what it has sent goes to `outbox`.
    pub(crate) fn take_in_said(
        &mut self,
        partition: &Partition,
        outbox: &mut Outbox<M::Event>,
    ) -> Result<Effort, RunError> {
        let federate = self.id();
        let Self { ahead, stand_in, outside, answers, lookahead, lps, .. } = self;
        let Some(ahead) = ahead.as_mut().filter(|_| !outside.dropped) else { return Ok(Effort::default()) };
        let Some(standing) = ahead.said.take() else { return Ok(Effort::default()) };
        let wrong = |kind| Err(RunError::Outside(OutsideError { federate, kind }));
        let Standing { taken_in, floor, front, mail, effort } = standing;
        let (allowed, before) = (ahead.allowed, ahead.floor());
        let least = ahead.under_way.front().map_or(ahead.handed, |(number, _)| number - 1);
        if taken_in < least || taken_in > ahead.handed {
            return wrong(OutsideErrorKind::NotHandedOver { taken_in, least, most: ahead.handed });
        }
        // What was handed over since may lower its floor: that is in `before`.
        if floor < before {
            return wrong(OutsideErrorKind::FloorFell { floor, earliest: before });
        }
        if front > allowed {
            return wrong(OutsideErrorKind::BeyondPermit { front, allowed });
        }
        // Not `floor`: what it has sent may come from events before that.
        let earliest = before.saturating_add(*lookahead);
        let refusal = |event: &Event<M::Event>| {
            let (from, to, at) = (stand_in.origin(event), event.to(), event.time());
            match () {
                () if to.0 >= *lps => Some(OutsideErrorKind::UnknownLp { to, lps: *lps }),
                () if !stand_in.holds(from, partition) => Some(OutsideErrorKind::ForeignSender { from }),
                () if at < earliest => Some(OutsideErrorKind::TooEarly { from, to, at, earliest }),
                () => None,
            }
        };
        // This may fail half way: the run ends then, and nobody looks at `sent` any more.
        if let Err(kind) = ahead.note_sent(&mail, refusal, |event| stand_in.origin(event)) {
            return wrong(kind);
        }
        while ahead.under_way.front().is_some_and(|(number, _)| *number <= taken_in) {
            ahead.under_way.pop_front();
        }
        ahead.floor = floor;
        answers.met(federate);
        if ahead.owes() {
            answers.expect(federate, outside.limit);
        }
        for (event, receipt) in in_order(&mail) {
            match (event, receipt) {
                (Some(event), _) => outbox.push(partition.place(event.to()).0, event.clone()),
                (_, Some(receipt)) => outbox.push_anti(partition.place(receipt.to()).0, receipt.clone()),
                _ => {}
            }
        }
        self.track.ran(federate, self.start_ns, floor, effort.handled);
        self.start_ns = self.track.now();
        Ok(effort)
    }

    /// Hands over what a federate that runs ahead is to know, if there is anything and it keeps up. Says at
    /// which GVT it is to be looked after again.
    pub(crate) fn hand_over(&mut self, bounds: Bounds) -> Time {
        let Bounds { gvt, until, width, ahead: wide, .. } = bounds;
        let federate = self.id();
        let Some(ahead) = self.ahead.as_mut().filter(|_| !self.outside.dropped) else { return Time::MAX };
        ahead.until = until;
        while ahead.sent.first_key_value().is_some_and(|((key, _), _)| key.time() < gvt) {
            ahead.sent.pop_first();
        }
        let news = !ahead.waiting.is_empty() || ahead.handed == 0 || gvt >= ahead.wants();
        if news && ahead.under_way.len() < MOST_UNDER_WAY {
            let far = gvt.saturating_add(wide.max(self.lookahead)).min(until);
            ahead.allowed = ahead.allowed.max(far);
            // It gets GVT twice in a stride.
            ahead.step = Time::ticks((width.as_ticks() / 2).max(1));
            // A limit that runs already goes on: more to take in does not give it more time.
            let owed = ahead.handed > 0 && ahead.owes();
            let handed = ahead.hand_over(gvt, Permit::Run { until, ahead: wide, width }, Time::MAX);
            if !owed {
                self.start_ns = self.track.now();
                self.answers.expect(federate, self.outside.limit);
            }
            self.outside.runner.run_ahead(handed);
        }
        ahead.wants()
    }

    /// Has a federate that runs ahead take back all that it has done at or after `gvt`; once a stretch.
    fn call_back(&mut self, gvt: Time) {
        let federate = self.id();
        let Some(ahead) = self.ahead.as_mut().filter(|_| !self.outside.dropped) else { return };
        // It owes nothing by its floor any more, only by what is under way.
        ahead.until = Time::ZERO;
        let handed = ahead.hand_over(gvt, Permit::Retreat, gvt);
        self.answers.met(federate);
        self.answers.expect(federate, self.outside.limit);
        self.outside.runner.run_ahead(handed);
    }

    /// Takes in an answer of a federate that runs ahead.
    pub(in crate::outside) fn hear_ahead(
        &mut self,
        answer: Answer<M>,
        partition: &Partition,
        outbox: &mut Outbox<M::Event>,
    ) -> Result<(), RunError> {
        match answer {
            Answer::Stands => self.take_in_said(partition, outbox).map(drop),
            // It may cross what it has said on the way.
            Answer::Late if !self.ahead.as_ref().is_some_and(|ahead| ahead.owes()) => Ok(()),
            Answer::Late => self.late(),
            Answer::Failed(failure) => Err(self.failed(failure)),
            Answer::Gone => Err(self.error(OutsideErrorKind::Gone)),
            Answer::Done { .. } | Answer::Promise(_) | Answer::Ended(_) => {
                Err(self.error(OutsideErrorKind::NotAsked))
            }
        }
    }

    /// Whether a federate that runs ahead has said that it has taken in everything.
    fn keeps_up(&self) -> bool {
        self.outside.dropped || self.ahead.as_ref().is_none_or(|ahead| ahead.under_way.is_empty())
    }

    /// Hands over the last mail of a stretch, for a federate that has been called back.
    pub(in crate::outside) fn hand_over_last(&mut self) {
        if let Some(ahead) = &mut self.ahead
            && !ahead.waiting.is_empty()
        {
            let handed = ahead.hand_over(ahead.known_gvt, Permit::Retreat, Time::MAX);
            self.outside.runner.run_ahead(handed);
        }
    }
}

/// Has all federates that run ahead take back what is not final, and waits until they have; what they cancel
/// by that, and have sent before, goes to `outbox`.
pub(crate) fn call_back<M: Model>(
    proxies: &mut [&mut Proxy<M>],
    answers: &Answers<M>,
    partition: &Partition,
    gvt: Time,
    outbox: &mut Outbox<M::Event>,
) -> Result<(), RunError> {
    for proxy in proxies.iter_mut() {
        // What it has said, and no worker has taken in, comes before what it says from now on.
        proxy.take_in_said(partition, outbox)?;
        proxy.call_back(gvt);
    }
    while proxies.iter().any(|proxy| !proxy.keeps_up()) {
        let (id, answer) = answers.wait();
        let proxy = proxies.iter_mut().find(|proxy| proxy.id() == id);
        proxy.expect("whoever answers has a proxy").hear(answer, partition, outbox)?;
    }
    Ok(())
}
