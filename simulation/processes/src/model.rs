//! Models of processes: parameters, the processes that they put into a simulation, and what they report of a
//! run.
//!
//! This is for processes what `Model` with its results is for logical processes: a program runs any type that
//! has it, and needs to know no more of it.

use paceline_network::Network;
use paceline_results::Summary;

use crate::{Report, Simulation};

/// A model whose parts are processes. Its value holds the parameters.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId, Network};
/// use paceline_processes::{ProcessModel, Simulation};
/// use paceline_results::Output;
///
/// /// Visitors that come to one door.
/// struct Door {
///     visitors: u32,
/// }
///
/// impl ProcessModel for Door {
///     type Message = ();
///     type Outcome = ();
///
///     fn hosts(&self) -> u32 {
///         self.visitors + 1
///     }
///
///     fn spawn<N: Network>(&self, simulation: &mut Simulation<(), N>, _seed: u64) {
///         let count = self.visitors;
///         simulation.measure([Output::count("visitors_seen"), Output::tally("seen_at_s")]);
///         simulation.spawn("door", HostId(0), async move |cx| {
///             for _ in 0..count {
///                 cx.receive("door").await.unwrap();
///                 cx.count("visitors_seen", 1);
///                 cx.tally("seen_at_s", cx.now().as_secs_f64());
///             }
///         });
///         for visitor in 1..=count {
///             simulation.spawn("visitor", HostId(visitor), async |cx| cx.send("door", (), 1e3).await.unwrap());
///         }
///     }
/// }
///
/// let door = Door { visitors: 3 };
/// let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 1); 4]);
/// door.spawn(&mut simulation, 1);
/// let report = simulation.run()?;
/// let lines = door.results((), &report)?.lines;
/// assert_eq!(lines, [("visitors_seen".into(), 3.into()), ("mean_seen_at_s".into(), 2.0.into())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ProcessModel {
    /// What messages carry.
    type Message: Send + 'static;
    /// What processes write while they run that no [output](Simulation::measure) is for, and
    /// [`results`](Self::results) reads at the end: `()` for most models. Processes run on several threads,
    /// so it must not depend on the order in which those of one instant add to it.
    type Outcome;

    /// How many hosts a network has that no platform describes, so that each process that needs one has a
    /// host of its own.
    fn hosts(&self) -> u32;

    /// Whether it can run on this many hosts of a platform.
    fn check(&self, hosts: u32) -> Result<(), TooFewHosts> {
        let _ = hosts;
        Ok(())
    }

    /// Whether its processes go on without end, so that a run must have a horizon.
    fn needs_horizon(&self) -> bool {
        false
    }

    /// Why its processes act on other hosts than their own without delay, so that hosts cannot run at
    /// different instants, and what to change where that helps: the end of a sentence that begins with the
    /// model. Where there is a reason, a run that is to be on federates has one of them, which has all hosts.
    fn acts_at_once(&self) -> Option<&'static str> {
        None
    }

    /// Adds its processes to a simulation whose hosts were [checked](Self::check). Random numbers that are
    /// drawn before the run come from `seed`; those of processes from
    /// [`Process::draw`](crate::Process::draw).
    fn spawn<N: Network>(&self, simulation: &mut Simulation<Self::Message, N>, seed: u64) -> Self::Outcome;

    /// What a process found that makes the results worthless. It is reported in place of the results, and of
    /// the error with which the run ended: others may have waited for that process in vain.
    fn failure(&self, outcome: &Self::Outcome) -> Option<String> {
        let _ = outcome;
        None
    }

    /// The results of a run that has ended: unless it is said otherwise, what its
    /// [outputs](Simulation::measure) say. The error says which totals do not match, for example when
    /// messages are missing.
    fn results(&self, outcome: Self::Outcome, report: &Report) -> Result<Summary, String> {
        let _ = outcome;
        Ok(report.summary())
    }
}

/// A platform has fewer hosts than a model needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFewHosts {
    /// What is wrong, in words.
    pub problem: String,
    /// How many hosts there must be.
    pub least: u32,
}
