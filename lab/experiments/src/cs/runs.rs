//! Runs of parallel applications under a scheduler, and what is measured of them.
//!
//! Invariant: times are those of the whole work; if less was done, they are scaled up in proportion, each
//! phase of a run by itself.

use std::collections::BTreeMap;

use paceline_machine::guests::class::Class;
use paceline_machine::{Report, run};

use super::machine::{Application, HOSTS, PCPUS, Part, Rig};
use crate::parameters::kinds::{Kind, count};
use crate::prelude::*;

/// LU's iterations of all classes that are run, and what it does before the first, in iterations: the
/// right-hand side, 480 of 1,985 operations (`ssor.f`).
const ITERATIONS: f64 = 250.0;
const BEFORE: f64 = 480.0 / 1_985.0;

/// How much of the work is done, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One in so many parts of it; runs that are short anyway are not shortened.
    Part(u64),
    /// Of LU among EP.
    Mixed(Repeats),
}

/// How often LU runs among EP, with other starts each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The part of the first run, in which EP comes to its end. If that is not the same of both, all of LU
    /// is run among the part of EP.
    pub first: Part,
    /// The part that is done of the rest of EP, alone.
    pub alone: u64,
    /// The part of later runs, and of those under other assumptions: they show differences that are the same
    /// in every iteration.
    pub later: u64,
    pub runs: u64,
}

/// A part of the work: one in so many.
pub fn part() -> Kind<u64> {
    count(1..=250)
}

impl Repeats {
    pub fn read(parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let [lu, ep, alone, later] =
            ["lu_part", "ep_part", "alone_part", "later_part"].map(|key| parameters.one(key, &part()));
        let first = Part { lu: lu?, ep: ep? };
        if first.lu != first.ep && first.lu != 1 {
            let problem = format!("is {}, and `lu_part` is {}", first.ep, first.lu);
            return Err(parameters.refuse("ep_part", problem, "what `lu_part` is, or any part if that is 1"));
        }
        let runs = parameters.one("runs", &count(1..=1_000))?;
        Ok(Self { first, alone: alone?, later: later?, runs })
    }
}

impl Work {
    fn name(self) -> String {
        match self {
            Self::Part(part) => format!("part{part}"),
            Self::Mixed(Repeats { first, alone, later, runs }) => {
                format!("first{}-{}/alone{alone}/later{later}/{runs}runs", first.lu, first.ep)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    pub name: &'static str,
    pub kind: &'static str,
    /// How it finds the VCPU with most messages, if it needs that.
    pub choice: Option<&'static str>,
}

/// The scheduler of Xen itself, which the others build on.
pub const SEDF: Scheduler = Scheduler { name: "SEDF", kind: "sedf", choice: None };
/// The scheduler of the co-scheduling thesis that treats all domains alike.
pub const CSDE: Scheduler = Scheduler { name: "CSDE", kind: "csde", choice: Some("scan") };
/// The scheduler of the co-scheduling thesis that takes DOM0 first.
pub const CSDD: Scheduler = Scheduler { name: "CSDD", kind: "csdd", choice: Some("scan") };
/// CSDE and CSDD with an ordered index instead of a scan.
pub const CSDE_INDEXED: Scheduler = Scheduler { name: "CSDE, indexed", kind: "csde", choice: Some("index") };
pub const CSDD_INDEXED: Scheduler = Scheduler { name: "CSDD, indexed", kind: "csdd", choice: Some("index") };

pub const PUBLISHED: [Scheduler; 3] = [SEDF, CSDE, CSDD];
/// The schedulers of the tables, and ours.
pub const ALL: [Scheduler; 5] = [SEDF, CSDE, CSDD, CSDE_INDEXED, CSDD_INDEXED];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// This many EP at once, each on four VMs, one on every PCPU.
    Ep(Class, u32),
    /// The same with LU.
    Lu(Class, u32),
    /// LU on four VMs, one on every PCPU, among two groups of VMs that run EP; each host has one group, of
    /// this many VMs.
    Mixed(u32),
    /// The two groups alone.
    Groups(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub load: Load,
    pub scheduler: Scheduler,
    pub variant: Variant,
    pub work: Work,
}

/// What is assumed where the co-scheduling thesis leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// DOM0 on PCPU 0, which has the odd VM; polling; acknowledgements, and events of packets that have left.
    Usual,
    /// DOM0 on PCPU 1.
    Dom0Apart,
    /// Processes block while they wait for a message.
    Blocking,
    /// No packets that acknowledge messages.
    NoAcknowledgements,
    /// No events of packets that have left.
    NoResponses,
    /// Guests of 64 bits: 4,096 ports to look at instead of 1,024.
    MorePorts,
    /// Turns of extra time of so many microseconds; whether processes block when they have polled for a
    /// while.
    Turns { turn_us: u64, blocks: bool },
    /// A slice of so many microseconds for DOM0 in each of its periods of 20 ms.
    Dom0Slice(u64),
}

impl Variant {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "as everywhere here",
            Self::Dom0Apart => "DOM0 on the PCPU with fewer VMs",
            Self::Blocking => "MPI blocks instead of polling",
            Self::NoAcknowledgements => "no TCP acknowledgements",
            Self::NoResponses => "no events of packets that have left",
            Self::MorePorts => "4,096 ports to scan (64-bit guests)",
            Self::Turns { .. } => "other turns of extra time",
            Self::Dom0Slice(_) => "another slice of DOM0",
        }
    }
}

impl Case {
    pub fn new(load: Load, scheduler: Scheduler, work: Work) -> Self {
        Self { load, scheduler, variant: Variant::Usual, work }
    }

    /// Names everything on which the result depends.
    pub fn key(self) -> String {
        let load = match self.load {
            Load::Ep(class, count) => format!("ep-{}x{count}", class.name()),
            Load::Lu(class, count) => format!("lu-{}x{count}", class.name()),
            Load::Mixed(vms) => format!("mixed-{vms}"),
            Load::Groups(vms) => format!("groups-{vms}"),
        };
        format!("cs/{load}/{}/{:?}/{}", self.scheduler.name, self.variant, self.work.name())
    }

    /// Its cell. Values `lu` and `ep` are the mean run times of each kind of application, in seconds. Where
    /// both run, that of LU is the mean over runs whose VMs start at other times; under an assumption
    /// that is varied, only LU is waited for.
    pub fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.of_run(&self.key());
        let job = move || {
            let values = match self.work {
                Work::Mixed(repeats) => self.mixed(repeats, &calibration)?,
                Work::Part(part) => self.measure(&calibration, Part::of(self.divisor(part)), 0, false)?,
            };
            let seconds = values.get("ep").or(values.get("lu")).copied().unwrap_or_default();
            Ok(Measure { seconds, values, ..Measure::default() })
        };
        Cell { key: self.key(), weight: self.weight(), alone: false, job: Box::new(job) }
    }

    /// One in so many parts of the work is done.
    fn divisor(self, part: u64) -> u64 {
        match self.load {
            // Runs that are short anyway are not shortened.
            Load::Ep(Class::A | Class::B, _) => 1,
            _ => part,
        }
    }

    /// LU among EP.
    fn mixed(self, repeats: Repeats, calibration: &Calibration) -> Found<BTreeMap<&'static str, f64>> {
        let usual = self.variant == Variant::Usual;
        let Repeats { first, later, runs, .. } = repeats;
        let later = Part::of(later);
        let mut values = match usual {
            false => self.measure(calibration, later, 0, true)?,
            true if first.lu == first.ep => self.measure(calibration, first, 0, false)?,
            true => self.outlasted(repeats, calibration)?,
        };
        let mut times: Vec<f64> = values.get("lu").copied().into_iter().collect();
        for number in 1..runs {
            times.extend(self.measure(calibration, later, number, true)?.get("lu"));
        }
        let times = mean(&times);
        values.extend([("lu", times.mean), ("lu_half_width", times.half_width)]);
        Ok(values)
    }

    /// All of LU among a part of EP, which goes on alone when LU is done. As no time is lost or won by
    /// waiting then, the rest of EP takes in proportion what the groups take alone.
    fn outlasted(
        self,
        Repeats { first, alone, .. }: Repeats,
        calibration: &Calibration,
    ) -> Found<BTreeMap<&'static str, f64>> {
        let Load::Mixed(vms) = self.load else {
            return Err(CellError::Guests("there is no EP beside LU".into()));
        };
        let mut values = self.measure(calibration, first, 0, false)?;
        let rest = Self { load: Load::Groups(vms), ..self };
        let alone = rest.measure(calibration, Part::of(alone), 0, false)?;
        let (Some(among), Some(lu)) = (values.get("ep").copied(), values.get("lu")) else {
            return Err(CellError::Guests("EP is not done".into()));
        };
        let part = 1.0 / first.ep as f64;
        if among * part <= *lu {
            return Err(CellError::Guests("EP is done before LU".into()));
        }
        let rest = alone.get("ep").copied().unwrap_or_default() * (1.0 - part);
        values.insert("ep", among * part + rest);
        Ok(values)
    }

    fn weight(self) -> f64 {
        match self.load {
            Load::Ep(Class::D, _) => 1_700.0,
            Load::Ep(_, count) => 100.0 * f64::from(count),
            Load::Lu(_, count) => 300.0 * f64::from(count),
            Load::Mixed(_) | Load::Groups(_) => 10_000.0,
        }
    }

    /// One run. `lu_only` ends it when LU is done.
    fn measure(
        self,
        calibration: &Calibration,
        part: Part,
        number: u64,
        lu_only: bool,
    ) -> Found<BTreeMap<&'static str, f64>> {
        let Rig { mut spec, applications, .. } = Rig::new(self, calibration, part, number)?;
        for application in applications.iter().filter(|application| lu_only && !application.is_lu) {
            application.domains.iter().for_each(|domain| spec.domains[*domain].background = true);
        }
        let starts: Vec<u64> = spec.domains.iter().map(|domain| domain.arrives_ns).collect();
        let report = run(spec)?.report;
        let mut values = BTreeMap::from([("overhead", overhead(&report))]);
        for (name, is_lu) in [("lu", true), ("ep", false)] {
            if is_lu || !lu_only {
                let alike = applications.iter().filter(|application| application.is_lu == is_lu);
                let scale = match is_lu {
                    true => (ITERATIONS + BEFORE) / (ITERATIONS / part.lu as f64 + BEFORE),
                    false => part.ep as f64,
                };
                let times = alike.map(|application| Ok(application.seconds(&report, &starts)? * scale));
                let times = times.collect::<Found<Vec<f64>>>()?;
                values.extend((!times.is_empty()).then(|| (name, mean(&times).mean)));
            }
        }
        let lus = applications.iter().filter(|application| application.is_lu);
        let lus = lus.flat_map(|application| &application.domains).map(|domain| &report.domains[*domain]);
        let (polled, ran) =
            lus.fold((0, 0), |sums, domain| (sums.0 + domain.polled_ns, sums.1 + domain.ran_ns));
        if ran > 0 {
            values.insert("lu_polled", 100.0 * polled as f64 / ran as f64);
        }
        Ok(values)
    }
}

impl Application {
    /// The time from the application's first start to its last end, in seconds.
    fn seconds(&self, report: &Report, starts: &[u64]) -> Found<f64> {
        let start_ns = self.domains.iter().map(|domain| starts[*domain]).min().unwrap_or(0);
        let mut ends = self.domains.iter().map(|domain| report.domains[*domain].done_ns);
        let end_ns = ends.try_fold(0, |latest, end| end.map(|end| end.max(latest)));
        let end_ns = end_ns.ok_or_else(|| CellError::Guests("an application is not done".into()))?;
        Ok((end_ns - start_ns) as f64 / 1e9)
    }
}

/// The scheduler's share of all PCPU time, in per cent.
fn overhead(report: &Report) -> f64 {
    let overhead_ns: u64 = report.hosts.iter().map(|host| host.overhead_ns).sum();
    100.0 * overhead_ns as f64 / (report.at_ns as f64 * f64::from(HOSTS * PCPUS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ep_that_goes_on_alone_takes_what_it_takes_in_proportion() {
        let calibration = Calibration::of_the_table().scaled("cs.pair", 1, 8).scaled("cs.point", 1, 100);
        let repeats = Repeats { first: Part { lu: 1, ep: 3 }, alone: 25, later: 5, runs: 5 };
        let case = Case::new(Load::Mixed(3), SEDF, Work::Mixed(repeats));
        let whole = case.measure(&calibration, Part::of(1), 0, false).expect("it runs");
        let part = case.outlasted(repeats, &calibration).expect("EP outlasts LU");
        assert_eq!(whole["lu"], part["lu"]);
        let error = part["ep"] / whole["ep"] - 1.0;
        assert!(error.abs() < 0.002, "{whole:?} {part:?}");
    }
}
