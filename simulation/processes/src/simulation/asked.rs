//! What other threads ask a run: why processes wait, and to take one step after the other.
//!
//! A step is the turn of one process. While a run is stepped, each round runs on this thread, and what a
//! process asks for is handed in before the next has its turn, unless something is to be done at the end of a
//! process: so nothing of the result depends on it.

use paceline_kernel::Time;
use paceline_network::Network;

use super::run::Run;
use crate::control::{Question, Stepping};
use crate::core::{ProcessId, Stuck, WaitEnd};

/// So many processes of a name are listed.
const LISTED: usize = 20;

impl<P: Send + 'static, N: Network> Run<P, N> {
    /// Answers what is asked before these processes have their turns; where the run is stepped, until it is
    /// asked to go on.
    pub(super) fn attend(&mut self) {
        let control = self.settings.control.clone();
        let exchange = control.exchange();
        loop {
            let waits = self.stepping == Stepping::Holds;
            let Some(question) = exchange.question(waits, || control.stopped()) else { return };
            match question {
                Question::Why(who) => exchange.answer(self.why(&who)),
                Question::Step => return self.stepping = Stepping::Steps,
                Question::Hold => {
                    self.stepping = Stepping::Holds;
                    exchange.answer(format!("the run waits, at {}", self.core.now()));
                }
                Question::Go => {
                    self.stepping = Stepping::No;
                    return exchange.answer(format!("the run goes on, from {}", self.core.now()));
                }
            }
        }
    }

    /// A process has had its turn: says so, where it was asked to step.
    pub(super) fn stepped(&mut self, process: ProcessId, outcome: WaitEnd) {
        if self.stepping != Stepping::Steps {
            return;
        }
        self.stepping = Stepping::Holds;
        let after = match self.core.waits_for(process) {
            Some(waits_for) => format!("waits for {waits_for}"),
            None => "has ended".into(),
        };
        let (name, host) = self.core.about(process);
        let heard = match outcome {
            WaitEnd::Failed(failure) => format!(", as {failure}"),
            WaitEnd::Message => " with a message".into(),
            WaitEnd::Done | WaitEnd::Truth(_) => String::new(),
        };
        let (now, host) = (self.core.now(), host.0);
        let step = format!("at {now} process {process} `{name}` on host {host} resumed{heard}, and {after}");
        self.settings.control.exchange().answer(step);
    }

    /// Why the processes of this number or name wait, in a line.
    fn why(&self, who: &str) -> String {
        let now = self.core.now();
        let found = self.core.find(who);
        if found.is_empty() {
            return format!(
                "at {now} there is no process {who}: none of this number or name, or it has ended"
            );
        }
        let line = |(stuck, since): &(Stuck, Time)| format!("{stuck}, since {since}");
        let mut lines: Vec<String> = found.iter().take(LISTED).map(line).collect();
        lines.extend((found.len() > LISTED).then(|| format!("and {} more", found.len() - LISTED)));
        format!("at {now} {}", lines.join("; "))
    }
}

#[cfg(test)]
mod test {
    use std::time::Duration;

    use paceline_network::{Constant, HostId};

    use super::*;
    use crate::control::AskError;
    use crate::{Control, EndedBy, Process, Simulation};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn world(control: &Control) -> Simulation<u32, Constant> {
        let mut world = Simulation::new(Constant::new(1.0), &[(1e9, 1); 2]).control(control);
        world.spawn("owner", HostId(0), async |cx: Process<u32>| {
            let mutex = cx.mutex();
            let waits = async move |cx: Process<u32>| drop(mutex.lock(&cx).await.unwrap());
            let _held = mutex.lock(&cx).await.unwrap();
            cx.spawn("waits", HostId(1), waits).await.unwrap();
            cx.sleep(Time::secs(3)).await;
        });
        world.spawn("ticks", HostId(1), async |cx: Process<u32>| {
            for _ in 0..5 {
                cx.sleep(Time::secs(1)).await;
            }
        });
        world
    }

    /// A process that lets the run wait until another thread has asked something.
    #[expect(clippy::unused_async, reason = "it is the code of a process")]
    async fn gate(_: Process<u32>, control: Control) {
        while !control.exchange().is_asked() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_run_that_is_stepped_shows_each_process_and_gives_the_same_result() {
        let control = Control::default();
        let (mut stepped, asked) = (world(&control), control.clone());
        stepped.spawn("gate", HostId(0), |cx| gate(cx, asked));
        assert_eq!(control.step(Duration::ZERO), Err(AskError::NotBegun));
        let asks = control.clone();
        let asker = std::thread::spawn(move || {
            let mut said = Vec::new();
            loop {
                match asks.step(PATIENCE) {
                    Ok(step) => said.extend([step, asks.why("waits", PATIENCE).unwrap_or_default()]),
                    Err(_) => return said,
                }
            }
        });
        let digest = stepped.run().unwrap().digest;
        let said = asker.join().unwrap();
        let blocked = "process 3 `waits` on host 1 waits for mutex 0 of process 0, held by process 0 `owner`";
        assert!(said.contains(&format!("at 1s {blocked}, since 0s")), "{said:#?}");
        let ends = "at 3s process 0 `owner` on host 0 resumed, and has ended";
        assert!(said.iter().any(|line| line == ends), "{said:#?}");
        assert!(said.iter().any(|line| line.starts_with("at 4s there is no process waits")), "{said:#?}");
        let mut plain = world(&Control::default());
        plain.spawn("gate", HostId(0), async |_: Process<u32>| ());
        assert_eq!(plain.run().unwrap().digest, digest);
    }

    #[test]
    fn a_run_that_is_held_before_it_begins_waits_at_its_start() {
        let control = Control::default();
        control.hold();
        let held = world(&control);
        let asks = control.clone();
        // These questions come before the run, most often.
        let asker =
            std::thread::spawn(move || (asks.step(PATIENCE), asks.pause(PATIENCE), asks.go_on(PATIENCE)));
        let digest = held.run().unwrap().digest;
        let (first, paused, on) = asker.join().unwrap();
        assert!(first.as_ref().is_ok_and(|said| said.starts_with("at 0s process 0 `owner`")), "{first:?}");
        assert_eq!(paused, Ok("the run waits, at 0s".into()));
        assert_eq!(on, Ok("the run goes on, from 0s".into()));
        assert_eq!(world(&Control::default()).run().unwrap().digest, digest);
    }

    #[test]
    fn a_run_on_federates_says_that_it_cannot_be_asked_and_when_it_has_ended() {
        let control = Control::default();
        let asks = control.clone();
        let mut ticks = Simulation::<u32, _>::new(Constant::new(1.0), &[(1e9, 1); 2]).control(&control);
        let said = std::sync::Arc::new(std::sync::Mutex::new(None));
        let heard = said.clone();
        ticks.spawn("asks", HostId(0), async move |cx: Process<u32>| {
            cx.sleep(Time::secs(1)).await;
            *heard.lock().unwrap() = Some(asks.step(PATIENCE));
        });
        ticks.federates(2).run().unwrap();
        assert_eq!(*said.lock().unwrap(), Some(Err(AskError::Federates)));
        assert_eq!(control.step(PATIENCE), Err(AskError::Ended));
    }

    #[test]
    fn a_run_that_is_held_goes_on_or_ends_when_it_is_asked_to() {
        for stops in [false, true] {
            let control = Control::default();
            let mut world = world(&control);
            let asked = control.clone();
            world.spawn("gate", HostId(0), |cx| gate(cx, asked));
            let asks = control.clone();
            let asker = std::thread::spawn(move || {
                asks.step(PATIENCE).unwrap();
                if stops { asks.stop() } else { drop(asks.go_on(PATIENCE).unwrap()) }
            });
            let ended = world.run().unwrap().ended_by;
            asker.join().unwrap();
            assert_eq!(ended, if stops { EndedBy::Interrupted } else { EndedBy::Processes });
        }
    }
}
