//! The reference: everything in plain lists, all of which are looked through for whatever is to be done.

use super::*;

/// A request that waits, is served, or holds units.
#[derive(Clone, Debug)]
struct Claim {
    /// For the order of coming; less than others where it was preempted later.
    order: i64,
    process: usize,
    step: usize,
    units: u32,
    priority: i64,
    /// What is left of its service.
    left: Option<u64>,
    until: u64,
    seized: u64,
}

#[derive(Clone, Default)]
struct Units {
    capacity: u32,
    waiting: Vec<Claim>,
    holding: Vec<Claim>,
}

#[derive(Default)]
struct Model {
    now: u64,
    orders: i64,
    seizures: u64,
    units: Vec<Units>,
    items: Vec<u64>,
    putting: Vec<(usize, u64, u64)>,
    getting: Vec<(usize, bool, u64)>,
    tank: u32,
    filling: Vec<(usize, u32, u64)>,
    drawing: Vec<(usize, u32, u64)>,
    sleeping: Vec<(usize, u64)>,
    /// By process: its next step, and the step that it waits for.
    next: Vec<usize>,
    waits: Vec<Option<usize>>,
    lost: Vec<u32>,
    /// Units, and what was in the tank, when the round began.
    seen: (Vec<Units>, u32),
    /// By process: the steps at which it got units that it has not released, be they lost or not.
    guards: Vec<Vec<usize>>,
    ready: Vec<(usize, &'static str)>,
    log: Vec<Entry>,
}

pub(super) fn run(programs: &[Vec<Step>]) -> Vec<Entry> {
    let mut model = Model { next: vec![0; PROCESSES], waits: vec![None; PROCESSES], ..Model::default() };
    (model.lost, model.guards) = (vec![0; PROCESSES], vec![Vec::new(); PROCESSES]);
    model.units = CAPACITY.map(|capacity| Units { capacity, ..Units::default() }).into();
    model.ready = (0..PROCESSES).map(|process| (process, "")).collect();
    loop {
        while !model.ready.is_empty() {
            let mut round = std::mem::take(&mut model.ready);
            round.sort_unstable();
            for (process, what) in &round {
                if let Some(step) = model.waits[*process].take() {
                    model.log.push((model.now, *process, step, what));
                    if *what == "ok" && matches!(programs[*process][step], Step::Seize { .. }) {
                        model.guards[*process].push(step);
                    }
                }
            }
            model.seen = (model.units.clone(), model.tank);
            for (process, _) in round {
                model.act(process, &programs[process]);
            }
        }
        let Some(next) = model.times().map(|(at, _)| at).min() else { break };
        model.now = next;
        loop {
            let due = model.times().filter(|(at, _)| *at == next).map(|(_, process)| process).min();
            let Some(process) = due else { break };
            model.due(process);
        }
    }
    model.log.sort_unstable();
    model.log
}

impl Model {
    /// All times at which something is due, and whose it is.
    fn times(&self) -> impl Iterator<Item = (u64, usize)> {
        let claims = self.units.iter().flat_map(|units| units.waiting.iter().chain(&units.holding));
        let claims = claims.map(|claim| (claim.until, claim.process));
        let puts = self.putting.iter().map(|(process, _, until)| (*until, *process));
        let gets = self.getting.iter().map(|(process, _, until)| (*until, *process));
        let amounts = self.filling.iter().chain(&self.drawing).map(|(process, _, until)| (*until, *process));
        let sleeps = self.sleeping.iter().map(|(process, until)| (*until, *process));
        let all: Vec<_> = claims.chain(puts).chain(gets).chain(amounts).chain(sleeps).collect();
        all.into_iter().filter(|(at, _)| *at < u64::MAX)
    }

    fn answer(&mut self, process: usize, what: &'static str) {
        self.ready.push((process, what));
    }

    /// What is in use of units, or in the tank.
    fn level(units: &[Units], tank: u32, at: usize) -> &'static str {
        let used = |units: &Units| units.holding.iter().map(|claim| claim.units).sum();
        LEVELS[units.get(at).map_or(tank, used) as usize]
    }

    /// What a process sees that has released what it got at these steps in its turn: nothing where it must
    /// ask, as that was what it looks at.
    fn look(&self, program: &[Step], at: usize, released: &[usize]) -> Option<&'static str> {
        let is_it = |step: &usize| matches!(program[*step], Step::Seize { which, .. } if which == at);
        let (units, tank) = &self.seen;
        (!released.iter().any(is_it)).then(|| Self::level(units, *tank, at))
    }

    /// A process runs until it waits or ends.
    fn act(&mut self, process: usize, program: &[Step]) {
        let mut released = Vec::new();
        while let Some(step) = program.get(self.next[process]).copied() {
            let number = self.next[process];
            self.next[process] += 1;
            match step {
                Step::ReleaseFirst => {
                    released.extend(self.guards[process].first());
                    self.release_first(process);
                    continue;
                }
                Step::Look(at) => {
                    if let Some(level) = self.look(program, at, &released) {
                        self.log.push((self.now, process, number, level));
                        continue;
                    }
                    self.waits[process] = Some(number);
                    return self.answer(process, Self::level(&self.units, self.tank, at));
                }
                _ => {}
            }
            self.waits[process] = Some(number);
            if self.lost[process] > 0 {
                self.lost[process] -= 1;
                return self.answer(process, "preempted");
            }
            return self.wait(process, number, step);
        }
        while self.release_first(process) {}
    }

    fn wait(&mut self, process: usize, number: usize, step: Step) {
        match step {
            Step::Hold(span) => self.sleeping.push((process, self.now + span)),
            Step::Serve { which, priority, preempts, takes, limit } => {
                let claim = self.claim((process, number), 1, priority, Some(takes), limit);
                self.seize(which, claim, preempts);
            }
            Step::Seize { which, priority, preempts, units, limit } => {
                let claim = self.claim((process, number), units, priority, None, limit);
                self.seize(which, claim, preempts);
            }
            Step::Put(item) => {
                self.putting.push((process, item, self.now + 700_000));
                self.move_items();
            }
            Step::Get { even, limit } => {
                self.getting.push((process, even, self.now + limit));
                self.move_items();
            }
            Step::Fill(amount) => {
                self.filling.push((process, amount, self.now + 700_000));
                self.move_amounts();
            }
            Step::Draw { amount, limit } => {
                self.drawing.push((process, amount, self.now + limit));
                self.move_amounts();
            }
            Step::ReleaseFirst | Step::Look(_) => unreachable!("that takes no wait"),
        }
    }

    fn claim(
        &mut self,
        (process, step): (usize, usize),
        units: u32,
        priority: i64,
        left: Option<u64>,
        limit: u64,
    ) -> Claim {
        self.orders += 1;
        let (order, until) = (self.orders, self.now + limit);
        Claim { order, process, step, units, priority, left, until, seized: 0 }
    }

    fn used(&self, which: usize) -> u32 {
        self.units[which].holding.iter().map(|claim| claim.units).sum()
    }

    fn seize(&mut self, which: usize, claim: Claim, preempts: bool) {
        let mut losers = Vec::new();
        let is_first = self.units[which].waiting.iter().all(|other| other.priority > claim.priority);
        if preempts && is_first {
            let weaker = self.units[which].holding.iter().filter(|other| other.priority > claim.priority);
            let weaker: u32 = weaker.map(|other| other.units).sum();
            let free = self.units[which].capacity - self.used(which);
            while free + weaker >= claim.units && self.units[which].capacity - self.used(which) < claim.units
            {
                losers.extend(self.preempt(which));
            }
        }
        self.units[which].waiting.push(claim);
        self.grant(which);
        // Who held units learns of it when the others have theirs.
        losers.into_iter().for_each(|loser| self.lose(loser));
    }

    /// Takes units from the least urgent holder; the process that is to learn of it.
    fn preempt(&mut self, which: usize) -> Option<usize> {
        let holding = &mut self.units[which].holding;
        let worst = holding.iter().enumerate().max_by_key(|(_, claim)| (claim.priority, claim.seized));
        let place = worst.expect("somebody holds units").0;
        let mut claim = holding.remove(place);
        if let Some(left) = &mut claim.left {
            *left = claim.until - self.now;
            // Before all that wait now.
            self.orders += 1;
            (claim.order, claim.until) = (-self.orders, u64::MAX);
            self.units[which].waiting.push(claim);
            return None;
        }
        Some(claim.process)
    }

    /// A process that held units ends its wait, or its next one.
    fn lose(&mut self, process: usize) {
        let is_answered = self.ready.iter().any(|(ready, _)| *ready == process);
        if is_answered || self.waits[process].is_none() {
            self.lost[process] += 1;
            return;
        }
        self.withdraw(process);
        self.answer(process, "preempted");
    }

    /// A process waits no longer.
    fn withdraw(&mut self, process: usize) {
        let step = self.waits[process];
        self.sleeping.retain(|(other, ..)| *other != process);
        self.putting.retain(|(other, ..)| *other != process);
        self.getting.retain(|(other, ..)| *other != process);
        self.filling.retain(|(other, ..)| *other != process);
        self.drawing.retain(|(other, ..)| *other != process);
        for which in 0..self.units.len() {
            let is_wait = |claim: &Claim| claim.process == process && Some(claim.step) == step;
            self.units[which].waiting.retain(|claim| !is_wait(claim));
            self.units[which].holding.retain(|claim| !is_wait(claim));
            self.grant(which);
        }
        self.move_items();
        self.move_amounts();
    }

    fn grant(&mut self, which: usize) {
        loop {
            let free = self.units[which].capacity - self.used(which);
            let Units { waiting, holding, .. } = &mut self.units[which];
            waiting.sort_by_key(|claim| (claim.priority, claim.order));
            if waiting.first().is_none_or(|first| first.units > free) {
                return;
            }
            let mut claim = waiting.remove(0);
            self.seizures += 1;
            claim.seized = self.seizures;
            claim.until = claim.left.map_or(u64::MAX, |left| self.now + left);
            let (process, is_held) = (claim.process, claim.left.is_none());
            holding.push(claim);
            if is_held {
                self.answer(process, "ok");
            }
        }
    }

    /// Whether it had anything to release.
    fn release_first(&mut self, process: usize) -> bool {
        if self.guards[process].is_empty() {
            return false;
        }
        let step = self.guards[process].remove(0);
        for which in 0..self.units.len() {
            self.units[which].holding.retain(|claim| (claim.process, claim.step) != (process, step));
            self.grant(which);
        }
        true
    }

    /// The time of a process is over.
    fn due(&mut self, process: usize) {
        let now = self.now;
        let is_over = |claim: &Claim| claim.process == process && claim.until == now;
        let is_served = self.units.iter().any(|units| units.holding.iter().any(is_over));
        let has_slept = self.sleeping.iter().any(|(other, _)| *other == process);
        self.withdraw(process);
        self.answer(process, if is_served || has_slept { "ok" } else { "late" });
    }

    fn move_items(&mut self) {
        loop {
            let takes = |even: bool, item: u64| !even || item.is_multiple_of(2);
            let mut pairs = self.getting.iter().enumerate().filter_map(|(place, (_, even, _))| {
                Some((place, self.items.iter().position(|item| takes(*even, *item))?))
            });
            if let Some((getter, item)) = pairs.next() {
                self.items.remove(item);
                let (process, ..) = self.getting.remove(getter);
                self.answer(process, "ok");
            } else if self.items.len() < 3 && !self.putting.is_empty() {
                let (process, item, _) = self.putting.remove(0);
                self.items.push(item);
                self.answer(process, "ok");
            } else {
                return;
            }
        }
    }

    fn move_amounts(&mut self) {
        loop {
            if let Some((process, amount, _)) = self.filling.first().copied()
                && self.tank + amount <= ROOM
            {
                self.filling.remove(0);
                self.tank += amount;
                self.answer(process, "ok");
            } else if let Some((process, amount, _)) = self.drawing.first().copied()
                && amount <= self.tank
            {
                self.drawing.remove(0);
                self.tank -= amount;
                self.answer(process, "ok");
            } else {
                return;
            }
        }
    }
}
