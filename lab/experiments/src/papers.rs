//! The sources of the experiments, and the words that they use: what a reader of a report must know before
//! the first check.

/// A source: what the names of its experiments begin with, what it is, and its terms.
struct Paper {
    prefix: &'static str,
    is: &'static str,
    terms: &'static str,
}

const PAPERS: [Paper; 8] = [
    Paper {
        prefix: "psx-",
        is: "S. B. Yoginath and K. S. Perumalla, \"Optimized Hypervisor Scheduler for Parallel Discrete Event Simulations on Virtual Machine Platforms\", \
             SIMUTools 2013.",
        terms: "CSX is Xen's credit scheduler, with the weight of DOM0 as a multiple of the guests'; PSX runs the VCPU with the least simulation time first; PSX+ is \
                ours, with the same reports of federates as PSX where nothing else is said. CONS and OPT: federates are synchronized conservatively or optimistically. Loads are PHOLD: BLB (balanced: 1 LP a federate), ULB \
                (unbalanced: 1.5 messages an LP) and HLB (high: 100 LPs a federate, 100 messages an LP); VSB is traffic on a grid of roads. LOC is the \
                percentage of messages that stay in their federate. A gain is the run time under CSX by that under the other scheduler.",
    },
    Paper {
        prefix: "nsx-",
        is: "S. B. Yoginath and K. S. Perumalla, \"Efficiently Scheduling Multi-core Guest Virtual Machines on Multi-core Hosts in Network Simulation\", PADS 2011.",
        terms: "NSX gives each VCPU a clock that goes on while it runs, and runs the least one first; with 2x or 4x DOM0 the ticks of DOM0 are so much longer. NSX+ is ours; \
                CSX is Xen's credit scheduler. An error is a round in which C gets the message that came through B before the one that A sent first.",
    },
    Paper {
        prefix: "sg-",
        is: "E. Torti Lopez, internship report on running the code of SimGrid's processes in parallel, Inria, 2014.",
        terms: "A round is the processes that go on at one instant of simulated time. \"Always\": all rounds of several run on many threads; \"auto\": those for which it \
                pays, by measured times; \"static:N\": those of at least N processes; \"adaptive5\": the report's threshold, moved every five rounds.",
    },
    Paper {
        prefix: "cs-",
        is: "C. Kerti, \"Virtual Machine Co-Scheduling Modules\", MSc thesis, Cranfield University, 2012.",
        terms: "SEDF is Xen's deadline scheduler. CSDE takes, of those in extra time, the VCPU with most pending messages; CSDD takes DOM0 first if it has any. EP and LU are of \
                the NAS Parallel Benchmarks: independent work with one reduction, and waves through a grid.",
    },
    Paper {
        prefix: "artis-",
        is: "L. Bononi, M. Bracuto, G. D'Angelo and L. Donatiello, \"Analysis of High Performance Communication and Computation Solutions for Parallel and Distributed \
             Simulation\", HPCC 2005.",
        terms: "HT is hyper-threading: two threads share a CPU. Hosts of the wireless model are dealt to LPs in strips, or scattered by number. Marshalling puts messages for \
                the same receiver into one frame.",
    },
    Paper {
        prefix: "net-",
        is: "formulas; programs of ns-3 3.37; M. Alizadeh et al., \"Data Center TCP (DCTCP)\", SIGCOMM 2010; UNISON for ns-3.",
        terms: "Goodput is what applications get, without headers and without what is sent twice.",
    },
    Paper {
        prefix: "netwarp-",
        is: "S. B. Yoginath and K. S. Perumalla, \"Efficiently Scheduling Multi-core Guest Virtual Machines on Multi-core Hosts in Network Simulation\", PADS 2011, \
             and what its NetWarp is for: real systems as hosts of a simulated network.",
        terms: "A guest is a machine of QEMU with Debian's Linux, whose clock is simulated time: it counts instructions, and advances as far as the network allows.",
    },
    Paper {
        prefix: "cluster-",
        is: "no source: a prediction of our own, from costs measured on one node.",
        terms: "",
    },
];

/// What a report says first of the experiment `name`: its source and the source's terms, a paragraph each.
pub fn introduction(name: &str) -> Vec<String> {
    let Some(paper) = PAPERS.iter().find(|paper| name.starts_with(paper.prefix)) else { return Vec::new() };
    let terms = (!paper.terms.is_empty()).then(|| paper.terms.to_owned());
    std::iter::once(format!("Source: {}", paper.is)).chain(terms).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_names_its_source_first() {
        for experiment in crate::experiments() {
            let paragraphs = introduction(experiment.name);
            assert!(
                paragraphs.first().is_some_and(|first| first.starts_with("Source: ")),
                "{}",
                experiment.name
            );
        }
        assert!(introduction("of-nobody").is_empty());
    }
}
