//! The live page of a machine: who ran on which PCPU, the LVTs of domains, messages between them; and its
//! requests, which the machine's thread serves where a VCPU leaves its PCPU.
//!
//! Invariants: what is shown is gathered by the machine's thread for itself, and copied only when the page
//! wants it; a machine that is watched, paused or slowed down computes the same.

mod gate;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_app::live::{About, Course, Drawing, Lanes, Messages, Now, Scene, Standing, Standings};
use paceline_app::text;
use paceline_machine::{DomId, MachineSpec, PcpuId};

use super::seconds;
use gate::Gate;

/// Spans that are kept of each PCPU, and PCPUs that are shown.
const SPANS: usize = 64;
const PCPUS_MAX: usize = 64;
/// Domains of which messages are counted; of more, neighbours are counted together.
const SIDE_MAX: usize = 64;

/// What is known of a machine before it runs.
#[derive(Debug)]
struct Facts {
    scenario: String,
    policy: &'static str,
    until_ns: Option<u64>,
    /// The names of PCPUs, and of domains, privileged ones first.
    pcpus: Vec<String>,
    domains: Vec<String>,
}

/// What the page shows of a machine.
#[derive(Debug)]
pub struct MachinePage {
    facts: Facts,
    /// Whether the page wants what is new.
    is_wanted: AtomicBool,
    seen: Mutex<Seen>,
    gate: Gate,
}

/// What happened in the machine.
#[derive(Clone, Debug, Default)]
struct Seen {
    now_ns: u64,
    /// How often a VCPU has left its PCPU, and for how long all of them ran.
    turns: u64,
    ran_ns: u64,
    /// By PCPU, the latest spans: domain, from when, to when.
    spans: Vec<VecDeque<(u32, u64, u64)>>,
    /// By domain: its LVT, where it has one, and the PCPU that it had last.
    lvts_ns: Vec<Option<u64>>,
    pcpus: Vec<Option<u32>>,
    /// Row by row, a row for each sender.
    messages: Vec<u64>,
}

/// Gathers what happens, on the machine's thread.
#[derive(Debug)]
pub struct Tracks {
    page: Arc<MachinePage>,
    seen: Seen,
    /// Domains that are counted together as one sender or receiver.
    block: usize,
}

impl MachinePage {
    /// Of a machine that waits before its first event if `is_paused`.
    pub fn new(
        scenario: &str,
        policy: &'static str,
        until_ns: Option<u64>,
        spec: &MachineSpec,
        is_paused: bool,
    ) -> Arc<Self> {
        let is_one = spec.hosts.len() == 1;
        let on = |what: String, host: &str| if is_one { what } else { format!("{host} {what}") };
        let pcpus = spec.hosts.iter().flat_map(|host| (0..host.pcpus).map(move |pcpu| (host, pcpu)));
        let privileged = spec.hosts.iter().map(|host| on("dom0".into(), &host.name));
        let facts = Facts {
            scenario: scenario.to_owned(),
            policy,
            until_ns,
            pcpus: pcpus.map(|(host, pcpu)| on(format!("PCPU {pcpu}"), &host.name)).collect(),
            domains: privileged.chain(spec.domains.iter().map(|domain| domain.name.clone())).collect(),
        };
        let (is_wanted, seen) = (AtomicBool::new(false), Mutex::new(Seen::of(&facts)));
        Arc::new(Self { facts, is_wanted, seen, gate: Gate::new(is_paused) })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Nothing that may panic is done while it is held.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn of(facts: &Facts) -> Self {
        let domains = facts.domains.len();
        let side = domains.div_ceil(block(domains));
        Self {
            spans: vec![VecDeque::new(); facts.pcpus.len().min(PCPUS_MAX)],
            lvts_ns: vec![None; domains],
            pcpus: vec![None; domains],
            messages: vec![0; side * side],
            ..Self::default()
        }
    }

    /// Since when all spans of every PCPU are known.
    fn since_ns(&self) -> u64 {
        // Where there are fewer than are kept, none was forgotten.
        let full = self.spans.iter().filter(|spans| spans.len() == SPANS);
        full.filter_map(|spans| Some(spans.front()?.1)).max().unwrap_or(0)
    }
}

/// How many neighbours among so many domains are counted together.
fn block(domains: usize) -> usize {
    domains.div_ceil(SIDE_MAX).max(1)
}

impl Tracks {
    /// For this page.
    pub fn new(page: &Arc<MachinePage>) -> Self {
        let seen = page.seen().clone();
        Self { page: Arc::clone(page), block: block(seen.lvts_ns.len()), seen }
    }

    /// Waits before the first event, if the machine is to.
    pub fn begin(&self) {
        self.serve();
    }

    /// A VCPU of a domain ran on a PCPU.
    pub fn ran(&mut self, pcpu: PcpuId, dom: DomId, from_ns: u64, to_ns: u64) {
        let seen = &mut self.seen;
        seen.now_ns = to_ns;
        seen.turns += 1;
        seen.ran_ns += to_ns - from_ns;
        seen.pcpus[dom.index()] = Some(pcpu.0);
        if let Some(spans) = seen.spans.get_mut(pcpu.0 as usize) {
            if spans.len() == SPANS {
                spans.pop_front();
            }
            spans.push_back((dom.0, from_ns, to_ns));
        }
        if self.page.gate.is_asked() {
            let facts = &self.page.facts;
            let (page, seen) = (&self.page, &self.seen);
            let said = || {
                // Before the answer: who has it may ask where the machine is.
                page.seen().clone_from(seen);
                let (domain, pcpu) = (&facts.domains[dom.index()], &facts.pcpus[pcpu.0 as usize]);
                let ran = text::seconds(seconds(to_ns - from_ns));
                format!("{domain} leaves {pcpu} at {} after {ran}", text::seconds(seconds(to_ns)))
            };
            self.page.gate.stepped(said);
        }
        self.serve();
    }

    /// A process of a domain is this far.
    pub fn lvt(&mut self, dom: DomId, lvt_ns: u64) {
        self.seen.lvts_ns[dom.index()] = Some(lvt_ns);
    }

    /// A message has arrived.
    pub fn message(&mut self, from: DomId, to: DomId) {
        let side = self.seen.lvts_ns.len().div_ceil(self.block);
        self.seen.messages[from.index() / self.block * side + to.index() / self.block] += 1;
    }

    /// Gives the page what it wants, and waits as long as the machine is held.
    fn serve(&self) {
        let Self { page, seen, .. } = self;
        let leave = || {
            // Reading first: to write is dear where another core reads.
            if page.is_wanted.load(Ordering::Relaxed) && page.is_wanted.swap(false, Ordering::AcqRel) {
                page.seen().clone_from(seen);
            }
        };
        leave();
        if page.gate.is_asked() {
            // Whoever asks a machine that waits sees where it is.
            if page.gate.is_paused() {
                page.seen().clone_from(seen);
            }
            page.gate.wait(seen.now_ns, leave);
        }
    }
}

impl Drop for Tracks {
    fn drop(&mut self) {
        // The machine has ended: the last frame shows where.
        *self.page.seen() = std::mem::take(&mut self.seen);
        self.page.gate.end();
    }
}

impl Scene for MachinePage {
    fn about(&self) -> About {
        let Facts { scenario, policy, .. } = &self.facts;
        let kind = format!("a simulated machine under policy {policy}");
        About { name: scenario.clone(), kind, step: "One turn" }
    }

    fn requests(&self) -> &'static [&'static str] {
        &["pause", "go", "step", "pace"]
    }

    fn answer(&self, request: &str) -> Result<String, String> {
        self.gate.answer(request)
    }

    fn now(&self) -> Now {
        self.is_wanted.store(true, Ordering::Release);
        let seen = self.seen().clone();
        let Facts { until_ns, policy, .. } = &self.facts;
        let busy = seen.ran_ns as f64 / (seen.now_ns as f64 * self.facts.pcpus.len() as f64).max(1.0);
        let until = until_ns.map_or("all are done".into(), |until_ns| text::seconds(seconds(until_ns)));
        let course = |name, unit, value, is_total| Course { name, unit, value, is_total };
        let lvts = || seen.lvts_ns.iter().flatten().map(|ns| seconds(*ns));
        let spread = lvts().fold(0.0, f64::max) - lvts().fold(f64::MAX, f64::min).min(f64::MAX / 2.0);
        Now {
            done: until_ns.map(|until_ns| seen.now_ns as f64 / until_ns.max(1) as f64),
            is_paused: self.gate.is_paused(),
            pace: self.gate.pace(),
            numbers: vec![
                ("Machine time", text::seconds(seconds(seen.now_ns))),
                ("Until", until),
                ("Policy", (*policy).to_owned()),
                ("PCPUs", self.facts.pcpus.len().to_string()),
                ("PCPUs busy", format!("{:.1} %", 100.0 * busy)),
                ("Turns of VCPUs", text::count(seen.turns)),
                ("Messages", text::count(seen.messages.iter().sum())),
            ],
            courses: vec![
                course("Turns of VCPUs a second", "", seen.turns as f64, true),
                course("Machine time", "s", seconds(seen.now_ns), false),
                course("Spread of LVTs", "s", spread.max(0.0), false),
            ],
            standings: self.standings(&seen),
            lanes: Some(self.lanes(&seen)),
            ..Now::default()
        }
    }

    fn drawing(&self) -> Drawing {
        let counts = self.seen().messages.clone();
        let part = if block(self.facts.domains.len()) > 1 { "group of domain" } else { "domain" };
        let messages = Messages { part, side: counts.len().isqrt(), counts };
        Drawing { messages: Some(messages), ..Drawing::default() }
    }
}

impl MachinePage {
    /// The domains that have LVTs, by those.
    fn standings(&self, seen: &Seen) -> Option<Standings> {
        let known = seen.lvts_ns.iter().enumerate().filter_map(|(dom, lvt_ns)| Some((dom, (*lvt_ns)?)));
        let rows: Vec<_> = known
            .map(|(dom, lvt_ns)| Standing {
                name: self.facts.domains[dom].clone(),
                at: Some(seconds(lvt_ns)),
                front: None,
                colour: seen.pcpus[dom],
                busy: 1.0,
            })
            .collect();
        let least = rows.iter().filter_map(|row| row.at).min_by(f64::total_cmp)?;
        Some(Standings {
            title: "Domains in simulated time",
            part: "domain",
            unit: "s",
            origin: (least, "the least LVT"),
            rows,
            colours: "PCPUs",
            ..Standings::default()
        })
    }

    /// Who ran on which PCPU of late.
    fn lanes(&self, seen: &Seen) -> Lanes {
        let (from_ns, to_ns) = (seen.since_ns(), seen.now_ns);
        let mut by_domain = vec![0; self.facts.domains.len()];
        let mut spans = Vec::new();
        for (lane, (dom, from, to)) in seen.spans.iter().enumerate().flat_map(|(lane, spans)| {
            spans.iter().filter(|(.., to)| *to > from_ns).map(move |span| (lane, *span))
        }) {
            by_domain[dom as usize] += to - from.max(from_ns);
            spans.push((lane as u32, dom, seconds(from.max(from_ns)), seconds(to)));
        }
        let shown = seen.spans.len();
        let ran_ns: u64 = by_domain.iter().sum();
        let part = |ns: u64| 100.0 * ns as f64 / ((to_ns - from_ns) as f64 * shown as f64).max(1.0);
        let most = by_domain.iter().enumerate().max_by_key(|(_, ns)| **ns).filter(|(_, ns)| **ns > 0);
        let most = most.map_or(String::new(), |(dom, ns)| {
            format!("; {} had most of them, {:.1} %", self.facts.domains[dom], part(*ns))
        });
        let all = self.facts.pcpus.len();
        let which = if shown < all { format!("the first {shown} of {all}") } else { all.to_string() };
        let span = text::seconds(seconds(to_ns - from_ns));
        Lanes {
            title: "Who runs on which PCPU",
            lanes: self.facts.pcpus[..shown].to_vec(),
            names: self.facts.domains.clone(),
            from: seconds(from_ns),
            to: seconds(to_ns),
            spans,
            said: format!(
                "The latest {span} of machine time on {which} PCPUs, which were busy for {:.1} % of it{most}. A colour is a \
                 domain.",
                part(ran_ns)
            ),
        }
    }
}
