//! Guests: their kernels receive packets, and their schedulers run processes on their VCPUs in turn.
//!
//! Invariants: a process is on at most one VCPU, or in the queue of those that are ready, or `off`; a process
//! that waits for a message and has none is `idle`, and `active` counts those of the foreground that are
//! neither idle nor done.

use super::Machine;
use crate::MachineError;
use crate::calendar::Event;
use crate::ids::{GuestId, VcpuId};
use crate::process::Stage;
use crate::program::{Guest as View, Message, Op, Page, ProcessId, Wait};
use crate::state::{Doing, Errand, Place};

/// What is to be done with a process.
enum Next {
    /// It needs the CPU for so long.
    Run(u64),
    Poll(Option<u64>),
    Yield,
    /// It does not need the VCPU any more.
    Off,
}

impl Machine<'_> {
    /// Starts the next work of a guest's VCPU: packets first, then its process, then the process that has
    /// been ready for longest.
    pub fn proceed_guest(&mut self, vcpu: VcpuId, guest: GuestId) {
        loop {
            if let Some(errand) = self.vcpus[vcpu].kernel.errand {
                let left_ns = self.vcpus[vcpu].kernel.left_ns;
                if left_ns > 0 {
                    return self.begin(vcpu, Doing::Kernel, Some(left_ns));
                }
                self.vcpus[vcpu].kernel.errand = None;
                if let Errand::Receive(packet) = errand {
                    self.deliver(packet);
                }
            }
            // Before any process: kernels handle interrupts first.
            if vcpu == self.guests[guest].vcpus.first() && self.take_interrupt(vcpu, guest) {
                continue;
            }
            // All packets are taken up: the next one costs an event again.
            self.vcpus[vcpu].kernel.attends = false;
            let Some(process) = self.vcpus[vcpu].current else {
                if !self.take_ready(vcpu, guest) {
                    return self.block(vcpu);
                }
                continue;
            };
            if self.vcpus[vcpu].quantum_ns == 0 {
                if self.shares_vcpu(guest) {
                    self.rotate(vcpu, guest, process);
                    continue;
                }
                self.vcpus[vcpu].quantum_ns = self.costs.guest_quantum_ns;
            }
            if !self.run_process(vcpu, guest, process) {
                return;
            }
            // The run ends with this event; until then no process may go on.
            if self.fault.is_some() {
                return self.block(vcpu);
            }
        }
    }

    /// The kernel of a guest takes up, on its first VCPU, what has come by an interrupt. Whether there is
    /// anything.
    fn take_interrupt(&mut self, vcpu: VcpuId, guest: GuestId) -> bool {
        let (errand, left_ns) = if self.take_response(guest) {
            (Errand::Response, self.costs.response_ns)
        } else if let Some(packet) = self.take_from_ring(guest) {
            let copy_ns = self.costs.copy_ns(self.network.packets.get(packet).message.bytes);
            (Errand::Receive(packet), self.attend(vcpu) + self.costs.receive_ns + copy_ns)
        } else {
            return false;
        };
        let kernel = &mut self.vcpus[vcpu].kernel;
        (kernel.errand, kernel.left_ns) = (Some(errand), left_ns);
        true
    }

    /// Puts the process that has been ready for longest on `vcpu`. Returns whether there is one.
    fn take_ready(&mut self, vcpu: VcpuId, guest: GuestId) -> bool {
        let guest_state = &mut self.guests[guest];
        let process = match guest_state.threads {
            false => guest_state.ready.pop_front(),
            true => {
                // A domain of threads has a VCPU for each process, and no scheduler of its own.
                let thread = guest_state.processes.at(guest_state.vcpus.offset_of(vcpu));
                guest_state
                    .ready
                    .iter()
                    .position(|ready| *ready == thread)
                    .and_then(|place| guest_state.ready.remove(place))
            }
        };
        let Some(process) = process else { return false };
        let vcpu_state = &mut self.vcpus[vcpu];
        vcpu_state.current = Some(process);
        vcpu_state.quantum_ns = self.costs.guest_quantum_ns;
        if vcpu_state.previous.replace(process).is_some_and(|previous| previous != process) {
            (vcpu_state.kernel.errand, vcpu_state.kernel.left_ns) =
                (Some(Errand::Switch), self.costs.guest_switch_ns);
        }
        self.processes[process].last_vcpu = self.guests[guest].vcpus.offset_of(vcpu);
        true
    }

    /// The process on `vcpu` does what comes next. Whether the VCPU is to look on for something to do at
    /// once: the process has left it.
    fn run_process(&mut self, vcpu: VcpuId, guest: GuestId, process: ProcessId) -> bool {
        let next = self.next_of(process, vcpu);
        // It may have woken others of its guest just now.
        let is_shared = self.shares_vcpu(guest);
        let quantum_ns = if is_shared { self.vcpus[vcpu].quantum_ns } else { u64::MAX };
        match next {
            Next::Run(work_ns) => self.begin(vcpu, Doing::Process, Some(work_ns.min(quantum_ns))),
            // Alone on its VCPU a process polls until a message stops it: no end is planned.
            Next::Poll(None) => self.begin(vcpu, Doing::Polling, Some(quantum_ns).filter(|_| is_shared)),
            Next::Poll(Some(left_ns)) => self.begin(vcpu, Doing::Polling, Some(left_ns.min(quantum_ns))),
            Next::Yield if is_shared => {
                self.rotate(vcpu, guest, process);
                return true;
            }
            Next::Yield => self.yield_vcpu(vcpu),
            Next::Off => {
                self.vcpus[vcpu].current = None;
                return true;
            }
        }
        false
    }

    /// Whether others of the guest are ready that could have a VCPU instead of who has it.
    fn shares_vcpu(&self, guest: GuestId) -> bool {
        let guest_state = &self.guests[guest];
        !guest_state.threads && !guest_state.ready.is_empty()
    }

    /// The process on `vcpu` goes to the end of those that are ready.
    fn rotate(&mut self, vcpu: VcpuId, guest: GuestId, process: ProcessId) {
        self.vcpus[vcpu].current = None;
        self.guests[guest].ready.push_back(process);
    }

    /// What a process does next, after everything that takes no time.
    fn next_of(&mut self, process: ProcessId, vcpu: VcpuId) -> Next {
        loop {
            let process_state = &mut self.processes[process];
            if let Some(left_ns) = process_state.stage.left()
                && *left_ns > 0
            {
                return Next::Run(*left_ns);
            }
            match std::mem::replace(&mut process_state.stage, Stage::Fresh) {
                Stage::Fresh => self.ask(process, vcpu),
                Stage::Compute(_) => {}
                Stage::Paying(_, then) => process_state.stage = *then,
                Stage::Sending(_, outgoing) => {
                    if let Err(outgoing) = self.send(process, outgoing) {
                        self.processes[process].stage = Stage::Stalled(outgoing);
                        self.processes[process].off = true;
                        return Next::Off;
                    }
                }
                Stage::Yielding(_) => return Next::Yield,
                Stage::Retiring(_, span_ns) => {
                    process_state.stage = Stage::Asleep;
                    process_state.off = true;
                    self.calendar.plan(self.now_ns.saturating_add(span_ns), Event::Awake { process });
                    return Next::Off;
                }
                Stage::Waiting(wait, left_ns) if process_state.inbox.is_empty() => {
                    process_state.stage = Stage::Waiting(wait, left_ns);
                    self.note_idle(process);
                    let process_state = &mut self.processes[process];
                    match wait {
                        Wait::Poll => return Next::Poll(None),
                        // After the yield it polls for a whole span again; one of no length would yield
                        // forever at this instant.
                        Wait::PollThenYield(span_ns) if left_ns == 0 => {
                            process_state.stage = Stage::Waiting(wait, span_ns.max(1));
                            return Next::Yield;
                        }
                        Wait::PollThenYield(_) => return Next::Poll(Some(left_ns)),
                        Wait::PollThenBlock(_) if left_ns > 0 => return Next::Poll(Some(left_ns)),
                        Wait::PollThenBlock(_) | Wait::Block => {
                            process_state.off = true;
                            return Next::Off;
                        }
                    }
                }
                Stage::Waiting(..) => self.note_active(process),
                other @ (Stage::Stalled(_) | Stage::Asleep | Stage::Done) => {
                    process_state.stage = other;
                    process_state.off = true;
                    return Next::Off;
                }
            }
            if self.fault.is_some() {
                return Next::Off;
            }
        }
    }

    /// Asks a program for its next operation, and reports to the policy what it has put on the shared page.
    fn ask(&mut self, process: ProcessId, vcpu: VcpuId) {
        /// More steps at one instant than any program takes.
        const MOST: u32 = 1_000_000;
        let process_state = &mut self.processes[process];
        process_state.asked = if process_state.asked_ns == self.now_ns { process_state.asked + 1 } else { 1 };
        process_state.asked_ns = self.now_ns;
        // A program whose operations take no time would keep the clock from going on.
        if process_state.asked > MOST {
            let guest = &self.guests[process_state.guest];
            let (domain, process) = (guest.name.clone(), guest.processes.offset_of(process));
            self.fault = Some(MachineError::Endless { domain, process, at_ns: self.now_ns });
            return;
        }
        let mut view =
            View { now_ns: self.now_ns, me: process, inbox: &mut process_state.inbox, page: Page::default() };
        let op = process_state.program.next(&mut view);
        let page = view.page;
        let extra_ns = u64::from(page.writes) * self.costs.page_write_ns;
        let guest = process_state.guest;
        let stage = match op {
            Op::Compute(work_ns) => Stage::Compute(work_ns.saturating_add(extra_ns)),
            Op::Send(outgoing) => {
                let to = self.processes.get(outgoing.to);
                let cost_ns = match to.is_some_and(|to| to.guest == guest) {
                    true => self.costs.loopback_ns,
                    false => self.costs.send_ns + self.costs.copy_ns(outgoing.bytes),
                };
                Stage::Sending(cost_ns + extra_ns, outgoing)
            }
            Op::Receive(wait) => {
                let left_ns = match wait {
                    Wait::Poll | Wait::Block => 0,
                    Wait::PollThenYield(span_ns) | Wait::PollThenBlock(span_ns) => span_ns,
                };
                Stage::Waiting(wait, left_ns)
            }
            Op::Yield => Stage::Yielding(extra_ns),
            Op::Sleep(span_ns) => Stage::Retiring(extra_ns, span_ns),
            Op::Done => Stage::Done,
        };
        // What a program writes before it waits costs time too.
        let ends = matches!(stage, Stage::Done);
        let process_state = &mut self.processes[process];
        process_state.stage = match stage {
            waiting @ Stage::Waiting(..) if extra_ns > 0 => Stage::Paying(extra_ns, Box::new(waiting)),
            other => other,
        };
        if ends {
            self.end_process(process);
        }
        if page.writes > 0 {
            self.report_page(guest, vcpu, page);
        }
    }

    fn report_page(&mut self, guest: GuestId, vcpu: VcpuId, page: Page) {
        let (host, dom) = (self.guests[guest].host, self.dom_of(guest));
        let policy = &mut self.hosts[host].policy;
        let now_ns = self.now_ns;
        // The mode goes first: with it the policy forgets LVTs of an earlier simulation.
        if let Some(simulates) = page.simulating {
            policy.mode(now_ns, vcpu, simulates, &mut self.decisions.orders);
        }
        if let Some(lvt_ns) = page.lvt_ns {
            policy.lvt(now_ns, vcpu, lvt_ns, &mut self.decisions.orders);
            self.observer.lvt(dom, now_ns, lvt_ns);
        }
        if let Some(waits) = page.waiting {
            policy.waiting(now_ns, vcpu, waits, &mut self.decisions.orders);
        }
        self.fulfil_orders(host);
    }

    /// A process has worked for so long, or polled.
    pub fn book_work(&mut self, process: ProcessId, work_ns: u64) {
        match &mut self.processes[process].stage {
            Stage::Waiting(_, left_ns) => *left_ns = left_ns.saturating_sub(work_ns),
            stage => {
                if let Some(left_ns) = stage.left() {
                    *left_ns = left_ns.saturating_sub(work_ns);
                }
            }
        }
    }

    /// A process waits for a message and has none.
    fn note_idle(&mut self, process: ProcessId) {
        let process_state = &mut self.processes[process];
        if !std::mem::replace(&mut process_state.idle, true) && !self.guests[process_state.guest].background {
            self.progress.note_idle();
        }
    }

    /// A process has a message, or does not wait any more.
    fn note_active(&mut self, process: ProcessId) {
        let process_state = &mut self.processes[process];
        if std::mem::replace(&mut process_state.idle, false) && !self.guests[process_state.guest].background {
            self.progress.note_active();
        }
    }

    /// A process is no more.
    pub fn end_process(&mut self, process: ProcessId) {
        self.note_active(process);
        let process_state = &mut self.processes[process];
        let guest = &mut self.guests[process_state.guest];
        process_state.stage = Stage::Done;
        // Those of a domain that has never come, or that are done already, are not counted any more.
        if guest.alive == 0 || std::mem::replace(&mut process_state.ended, true) {
            return;
        }
        guest.alive -= 1;
        if !guest.background {
            self.progress.end_process();
        }
        if guest.alive == 0 && guest.here {
            guest.report.done_ns = Some(self.now_ns);
        }
    }

    /// A message has reached its process.
    pub fn hand_over(&mut self, to: ProcessId, message: Message, sent_ns: u64) {
        let from = self.processes[message.from].guest;
        let process_state = &mut self.processes[to];
        let guest = process_state.guest;
        // A process that is done reads no messages.
        if matches!(process_state.stage, Stage::Done) {
            return;
        }
        let (off, waits) = (process_state.off, matches!(process_state.stage, Stage::Waiting(..)));
        process_state.inbox.push_back(message);
        self.observer.message(self.dom_of(from), self.dom_of(guest), sent_ns, self.now_ns);
        self.note_active(to);
        if waits && off {
            self.make_ready(to);
        } else if waits {
            let vcpu = self.guests[guest].vcpus.at(self.processes[to].last_vcpu);
            let vcpu_state = &self.vcpus[vcpu];
            // A process that polls sees the message at once, not at the end of its segment.
            if vcpu_state.current == Some(to)
                && vcpu_state.segment.is_some_and(|segment| segment.doing == Doing::Polling)
            {
                self.stop(vcpu);
                self.proceed(vcpu);
            }
        }
    }

    /// A process that was off can continue: on a VCPU that is looking for one, or one that is woken.
    pub fn make_ready(&mut self, process: ProcessId) {
        let process_state = &mut self.processes[process];
        process_state.off = false;
        let (guest, last) = (process_state.guest, process_state.last_vcpu);
        let guest_state = &mut self.guests[guest];
        guest_state.ready.push_back(process);
        let vcpus = guest_state.vcpus;
        if guest_state.threads {
            let thread = guest_state.processes.offset_of(process);
            return self.notify(vcpus.at(thread));
        }
        let last = vcpus.at(last);
        let place = |vcpu: VcpuId| self.vcpus[vcpu].place;
        let looks = |vcpu: VcpuId| {
            matches!(place(vcpu), Place::On(_) | Place::Waits(_)) && self.vcpus[vcpu].current.is_none()
        };
        // Each of those takes one.
        if vcpus.iter().filter(|vcpu| looks(*vcpu)).count() >= guest_state.ready.len() {
            return;
        }
        let asleep = std::iter::once(last).chain(vcpus.iter()).find(|vcpu| place(*vcpu) == Place::Asleep);
        if let Some(vcpu) = asleep {
            return self.notify(vcpu);
        }
        // All are busy: from now on their processes share them by quanta.
        for vcpu in vcpus.iter() {
            self.notify(vcpu);
        }
    }

    /// A process has slept enough.
    pub fn end_sleep(&mut self, process: ProcessId) {
        let process_state = &mut self.processes[process];
        if matches!(process_state.stage, Stage::Asleep) {
            process_state.stage = Stage::Fresh;
            self.make_ready(process);
        }
    }
}
