//! How well running ahead paid in an optimistic or mixed run: to people in a short block, to programs in
//! full.
//!
//! Invariant: nothing of this goes into the output folder, whose files are the same under every protocol.

use paceline_engine::{Report, Speculation};
use paceline_kernel::{Depths, Rollbacks, Time};
use serde_json::{Value, json};

use crate::settings::speculation::{CANCELLATIONS, GVTS, SAVINGS, name};
use crate::text::{self, Row};

/// LPs named as the worst.
const WORST: usize = 10;

/// What there is to say of rollbacks.
#[derive(Debug)]
pub struct Explained<'r> {
    counts: &'r Rollbacks,
    speculation: &'r Speculation,
    lps: u32,
    gvt_rounds: u64,
    gvt_lag: Time,
}

impl<'r> Explained<'r> {
    /// Of a run that ran ahead; else `None`.
    pub fn of(report: &'r Report<()>, speculation: &'r Speculation) -> Option<Self> {
        Some(Self {
            counts: report.rollbacks.as_ref()?,
            speculation,
            lps: report.lps,
            gvt_rounds: report.gvt_rounds,
            gvt_lag: report.gvt_lag,
        })
    }

    /// `part` of the events handled; 0 where none was.
    fn share(&self, part: u64) -> f64 {
        part as f64 / self.counts.processed.max(1) as f64
    }

    fn undone_per_committed(&self) -> f64 {
        self.counts.undone as f64 / (self.counts.processed - self.counts.undone).max(1) as f64
    }

    fn copies_per_lp(&self) -> f64 {
        self.counts.most_copies as f64 / f64::from(self.lps.max(1))
    }

    /// All counts as a JSON object, for programs.
    pub fn everything(&self) -> Value {
        let Self { counts, speculation, .. } = self;
        let depth = |(least, most, rollbacks): (u64, u64, u64)| json!({ "least": least, "most": most, "rollbacks": rollbacks });
        let worst =
            counts.worst(WORST).into_iter().map(|(lp, undone)| json!({ "lp": lp.0, "undone": undone }));
        json!({
            "state_saving": name(&SAVINGS, speculation.saving),
            "cancellation": name(&CANCELLATIONS, speculation.cancellation),
            "gvt": name(&GVTS, speculation.gvt),
            "memory_bytes": speculation.memory_bytes,
            "chaos": speculation.chaos,
            "efficiency": counts.efficiency(),
            "processed": counts.processed,
            "processed_safely": counts.safe,
            "share_safely": self.share(counts.safe),
            "primary": counts.primary,
            "secondary": counts.secondary,
            "undone": counts.undone,
            "undone_per_committed": self.undone_per_committed(),
            "coasted": counts.coasted,
            "anti_messages": counts.antis,
            "annihilated": counts.annihilated,
            "confirmed": counts.confirmed,
            "depths": depths(&counts.depths).map(depth).collect::<Vec<_>>(),
            "worst_lps": worst.collect::<Vec<_>>(),
            "states_copied": counts.copied,
            "copies_at_most": counts.most_copies,
            "copies_per_lp_at_most": self.copies_per_lp(),
            "retreats": counts.retreats,
            "gvt_rounds": self.gvt_rounds,
            "gvt_lag_s": self.gvt_lag.as_secs_f64(),
        })
    }

    /// For people. What did not happen is not mentioned.
    pub fn rows(&self) -> Vec<Row> {
        let Self { counts, speculation, .. } = self;
        let (saving, cancellation) =
            (name(&SAVINGS, speculation.saving), name(&CANCELLATIONS, speculation.cancellation));
        let mut rows = vec![
            (
                "efficiency",
                format!(
                    "{} of {} events handled",
                    percent(counts.efficiency()),
                    text::count(counts.processed)
                ),
            ),
            ("final at once", percent(self.share(counts.safe))),
            (
                "rollbacks",
                format!(
                    "{} primary, {} secondary",
                    text::count(counts.primary),
                    text::count(counts.secondary)
                ),
            ),
        ];
        if counts.undone > 0 {
            let per_committed = text::decimal(self.undone_per_committed());
            rows.push((
                "events undone",
                format!("{}, {per_committed} per committed event", text::count(counts.undone)),
            ));
            rows.push(("depths", depth_line(&counts.depths)));
            let worst = counts.worst(WORST).into_iter();
            let worst: Vec<_> =
                worst.map(|(lp, undone)| format!("{} ({})", lp.0, text::count(undone))).collect();
            rows.push(("worst LPs", worst.join(", ")));
        }
        for (name, number) in [
            ("coasted forward", counts.coasted),
            ("anti-messages", counts.antis),
            ("annihilated", counts.annihilated),
            ("confirmed", counts.confirmed),
        ] {
            if number > 0 {
                rows.push((name, text::count(number)));
            }
        }
        if counts.most_copies > 0 {
            let per_lp = text::decimal(self.copies_per_lp());
            rows.push(("copies at most", format!("{}, {per_lp} per LP", text::count(counts.most_copies))));
        }
        let (rounds, lag) = (text::count(self.gvt_rounds), text::time(self.gvt_lag));
        rows.push(("GVT", format!("{rounds} rounds, {lag} behind the front on average")));
        let gvt = name(&GVTS, speculation.gvt);
        rows.push(("how", format!("state saving {saving}, cancellation {cancellation}, GVT {gvt}")));
        rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The depths that occur: the least and the most events that one rollback undid, and how many rollbacks did.
fn depths(depths: &Depths) -> impl Iterator<Item = (u64, u64, u64)> {
    let bins = depths.0.into_iter().enumerate().filter(|(_, rollbacks)| *rollbacks > 0);
    bins.map(|(place, rollbacks)| (1 << place, (1 << (place + 1)) - 1, rollbacks))
}

/// Which part of the rollbacks undid how many events.
fn depth_line(counted: &Depths) -> String {
    let all: u64 = counted.0.iter().sum();
    let bin = |(least, most, rollbacks): (u64, u64, u64)| {
        let share = percent(rollbacks as f64 / all as f64);
        if least == most { format!("{least}: {share}") } else { format!("{least}-{most}: {share}") }
    };
    depths(counted).map(bin).collect::<Vec<_>>().join(", ")
}

/// 0.987 as "98.7 %".
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::LpId;

    fn counts() -> Rollbacks {
        let mut counts = Rollbacks::default();
        (counts.processed, counts.safe, counts.undone) = (1000, 250, 200);
        (counts.primary, counts.secondary) = (60, 5);
        counts.depths.0[0] = 30;
        counts.depths.0[2] = 10;
        counts.by_lp = (0..15).map(|lp| (LpId(lp), u64::from(lp % 7))).collect();
        counts
    }

    fn explained<'r>(counts: &'r Rollbacks, speculation: &'r Speculation) -> Explained<'r> {
        Explained { counts, speculation, lps: 15, gvt_rounds: 3, gvt_lag: Time::millis(1500) }
    }

    #[test]
    fn programs_get_every_number() {
        let all = explained(&counts(), &Speculation::default()).everything();
        assert_eq!(
            (&all["efficiency"], &all["undone_per_committed"], &all["share_safely"]),
            (&0.8.into(), &0.25.into(), &0.25.into())
        );
        assert_eq!(all["depths"][1], json!({ "least": 4, "most": 7, "rollbacks": 10 }));
        assert_eq!(
            (all["worst_lps"].as_array().unwrap().len(), &all["worst_lps"][0]),
            (10, &json!({ "lp": 6, "undone": 6 }))
        );
        assert_eq!((&all["gvt_lag_s"], &all["state_saving"]), (&1.5.into(), &"periodic".into()));
    }

    #[test]
    fn people_read_only_what_happened() {
        let rows = explained(&counts(), &Speculation::default()).rows();
        let value =
            |name: &str| rows.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!(value("efficiency"), Some("80.0 % of 1,000 events handled"));
        assert_eq!(value("depths"), Some("1: 75.0 %, 4-7: 25.0 %"));
        assert_eq!(
            value("worst LPs"),
            Some("6 (6), 13 (6), 5 (5), 12 (5), 4 (4), 11 (4), 3 (3), 10 (3), 2 (2), 9 (2)")
        );
        assert_eq!((value("confirmed"), value("coasted forward")), (None, None));
    }
}
