//! Runs of simulations on the host of the PSX paper, under a scheduler.
//!
//! Host: 24 PCPUs that are hyper-threads of 12 cores; DOM0 carries the messages; one federate a guest, one
//! VCPU a guest.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_kernel::{Model, Optimism, Saving, Settings, TieBreak, Time};
use paceline_machine::guests::federate::{
    GuestSettings, Protocol, Reduction, Reported, Series, collect, federates,
};
use paceline_machine::guests::hog::Hog;
use paceline_machine::{Costs, DomainSpec, HostSpec, MachineSpec, ProcessId, Program, Wait, run};
use paceline_models::phold::{Destination, Phold};
use paceline_policy::Setting;

use crate::prelude::*;

pub const PCPUS: u32 = 24;

const SEED: u64 = 1;

/// Who polls for so long never comes to block.
const POLLS_ON_US: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Xen's credit scheduler, with this multiple of the guests' weight for DOM0.
    Csx(u64),
    Psx,
    /// PSX+, with what federates report to it.
    PsxPlus(Reports),
}

named! {
    /// What federates report to PSX+: each of these and all before it.
    #[derive(PartialOrd)]
    pub enum Reports {
        /// What they report to PSX: the earliest committable time, once a lookahead.
        AsToPsx = "PSX+ with PSX's reports",
        /// The time of the next event that could be processed, in place of the committable one.
        Processable = "and the processable time",
        /// Ten reports a lookahead in place of one.
        Finer = "and ten times as often",
        /// A flag while a federate waits.
        Waiting = "and whether a federate waits",
    }
}

named! {
    /// How federates are synchronized.
    pub enum Gear {
        Cons = "CONS",
        Opt = "OPT",
    }
}

/// PHOLD as the PSX paper uses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// LPs of a federate (NLP).
    pub lps: u32,
    /// Messages of an LP (NMSG).
    pub messages: f64,
    /// Percentage of messages to an LP of the same federate (LOC).
    pub local: u32,
    /// The horizon, in simulated seconds.
    pub until_s: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    pub load: Load,
    /// Guests, and federates.
    pub domains: u32,
    pub gear: Gear,
    pub scheduler: Scheduler,
    /// How federates wait; as the vector of the paper has it if nothing else is said.
    pub wait: Option<Wait>,
}

/// How federates wait by the vector of the paper.
pub fn usual_wait(calibration: &Calibration) -> Wait {
    match calibration.get("psx.poll") {
        long_us if long_us >= POLLS_ON_US => Wait::Poll,
        poll_us => Wait::PollThenBlock(1_000 * poll_us),
    }
}

impl Scheduler {
    /// The schedulers that are compared, CSX in its best configuration, the others with the same reports.
    pub const COMPARED: [Self; 3] = [Self::Csx(32), Self::Psx, Self::PsxPlus(Reports::AsToPsx)];

    pub fn name(self) -> String {
        match self {
            Self::Csx(weight) => format!("CSX-{weight}x"),
            Self::Psx => "PSX".into(),
            Self::PsxPlus(Reports::AsToPsx) => "PSX+".into(),
            Self::PsxPlus(reports) => format!("PSX+, {reports:?}"),
        }
    }

    /// Whether federates report to it what `reports` says.
    fn has_report(self, reports: Reports) -> bool {
        matches!(self, Self::PsxPlus(given) if given >= reports)
    }

    /// Whether guests report their LVT to it.
    fn takes_reports(self) -> bool {
        !matches!(self, Self::Csx(_))
    }

    fn host(self, calibration: &Calibration) -> HostSpec {
        let kind = match self {
            Self::Csx(_) => "credit",
            Self::Psx => "psx",
            Self::PsxPlus(_) => "psx-plus",
        };
        let mut host = HostSpec::new("host", PCPUS, kind);
        host.smt = true;
        if self == Self::Psx {
            host.policy.settings.set("rereads", Setting::Count(calibration.get("psx.rereads")));
        }
        if let Self::Csx(weight) = self {
            host.dom0_settings.set("weight", Setting::Count(256 * weight));
        }
        host
    }
}

impl Case {
    /// Names everything on which the result depends.
    pub fn key(&self) -> String {
        let Load { lps, messages, local, until_s } = self.load;
        let (scheduler, wait) = (self.scheduler.name(), self.wait);
        let gear = self.gear.name();
        let wait = wait.map_or("usual".to_owned(), |wait| format!("{wait:?}"));
        format!("psx/{lps}x{messages}/loc{local}/{until_s}s/{}dom/{gear}/{scheduler}/{wait}", self.domains)
    }

    fn model(&self) -> Phold {
        Phold {
            lps: self.load.lps * self.domains,
            messages_per_lp: self.load.messages,
            lookahead: Time::secs(1),
            mean: Time::secs(1),
            work_ns: 0,
            destination: Destination::Group {
                groups: self.domains,
                locality: f64::from(self.load.local) / 100.0,
            },
        }
    }

    pub fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.of_run(&self.key());
        let events =
            f64::from(self.load.lps * self.domains) * self.load.messages * self.load.until_s as f64 / 2.0;
        let job = move || {
            let until = Time::secs(self.load.until_s);
            let wait = self.wait.unwrap_or_else(|| usual_wait(&calibration));
            let Self { domains, gear, scheduler, .. } = self;
            let event_ns = calibration.get("psx.event");
            let guests = Guests { domains, gear, scheduler, wait, event_ns, taken: None };
            simulate(self.model(), until, guests, &calibration)
        };
        Cell { key: self.key(), weight: events, alone: false, job: Box::new(job) }
    }
}

/// Guests with a federate each.
#[derive(Clone, Copy, Debug)]
pub struct Guests {
    pub domains: u32,
    pub gear: Gear,
    pub scheduler: Scheduler,
    pub wait: Wait,
    /// CPU time of an event.
    pub event_ns: u64,
    pub taken: Option<Taken>,
}

/// PCPUs, the last ones of the host, that a tenant takes: a domain that computes and does not simulate, so
/// that PSX and PSX+ let it go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub pcpus: u32,
    /// The tenant has them for half of each such period, first; without one it always has them.
    pub period_us: Option<u64>,
}

/// Periods in which a tenant comes and goes: a run that is not done then fails.
const PERIODS: u64 = 400;

impl Taken {
    /// The tenants of a run, one a period.
    fn tenants(self) -> Vec<DomainSpec> {
        let tenant = |arrives_ns, leaves_ns| {
            let processes = (0..self.pcpus).map(|_| Box::new(Hog::new(1_000_000, 0)) as Box<dyn Program>);
            let mut tenant = DomainSpec::new("tenant", 0, processes.collect());
            (tenant.vcpus, tenant.threads) = (self.pcpus, true);
            tenant.pins = (PCPUS - self.pcpus..PCPUS).collect();
            (tenant.arrives_ns, tenant.leaves_ns, tenant.background) = (arrives_ns, leaves_ns, true);
            tenant
        };
        let Some(period_us) = self.period_us else { return vec![tenant(0, None)] };
        let period_ns = 1_000 * period_us;
        (0..PERIODS).map(|place| tenant(place * period_ns, Some(place * period_ns + period_ns / 2))).collect()
    }

    /// Whether a run that took so long had its tenants to its end.
    fn covers(self, ran_ns: u64) -> bool {
        self.period_us.is_none_or(|period_us| ran_ns < PERIODS * 1_000 * period_us)
    }
}

/// Runs `model` in guests.
pub fn simulate<M: Model + 'static>(
    model: M,
    until: Time,
    Guests { domains, gear, scheduler, wait, event_ns, taken }: Guests,
    calibration: &Calibration,
) -> Found<Measure> {
    let failed = |error: &dyn std::fmt::Display| CellError::Guests(error.to_string());
    let model = Arc::new(model);
    let partition = Arc::new(model.partition(domains));
    let settings = Settings { seed: SEED, ties: TieBreak::Fixed, window: model.lookahead() };
    let guests = GuestSettings {
        sync: match gear {
            Gear::Cons => Protocol::Conservative,
            Gear::Opt => Protocol::Optimistic(Optimism {
                saving: Saving::Periodic,
                ahead: Some(Time::secs(calibration.get("psx.ahead"))),
                ..Optimism::default()
            }),
        },
        until,
        wait,
        event_ns,
        reduce_ns: calibration.get("psx.reduce"),
        reduction: Reduction::Tree { fan_in: calibration.get("psx.fan_in") as u32 },
        gvt_period: calibration.get("psx.gvt_period") as u32,
        batch: calibration.get("psx.batch") as u32,
        per_packet: calibration.get("psx.per_packet") as u32,
        reports: scheduler.takes_reports(),
        reported: match scheduler.has_report(Reports::Processable) {
            true => Reported::Processable,
            false => Reported::Committable,
        },
        reports_per_lookahead: if scheduler.has_report(Reports::Finer) { 10 } else { 1 },
        flags_waiting: scheduler.has_report(Reports::Waiting),
        ..GuestSettings::default()
    };
    let programs = federates(Arc::clone(&model), partition, settings, guests, ProcessId(0));
    let programs = programs.map_err(|error| failed(&error))?;
    let mut spec =
        MachineSpec { costs: calibration.costs("psx", Costs::default()), ..MachineSpec::default() };
    let dom0_vcpus = calibration.get("psx.dom0_vcpus") as u32;
    spec.hosts.push(HostSpec { dom0_vcpus, ..scheduler.host(calibration) });
    for (number, program) in programs.into_iter().enumerate() {
        spec.domains.push(DomainSpec::new(format!("DOM{}", number + 1), 0, vec![program]));
    }
    spec.domains.extend(taken.into_iter().flat_map(Taken::tenants));
    let ran = run(spec)?;
    if taken.is_some_and(|taken| !taken.covers(ran.report.at_ns)) {
        let problem = format!("the run takes longer than {PERIODS} periods of the tenant");
        return Err(CellError::Guests(problem));
    }
    let report = &ran.report;
    let seconds = report.at_ns as f64 / 1e9;
    let values = BTreeMap::from([("waiting_share", report.waiting_share())]);
    let outcome =
        collect::<M>(ran.programs.into_iter().take(domains as usize)).map_err(|error| failed(&error))?;
    let points = |series: &Series| {
        series.samples().iter().map(|(at_ns, events)| (*at_ns as f64 / 1e9, *events as f64)).collect()
    };
    let series = outcome.series.iter().map(points);
    Ok(Measure { seconds, values, series: series.collect(), digest: Some(outcome.digest.value()) })
}
