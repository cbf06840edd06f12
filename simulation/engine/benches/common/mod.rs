//! Interleaved measurement: in every round each candidate is run once, so that whatever disturbs the machine
//! disturbs all; what counts is the median of the rounds, with the spread beside it.

use std::time::Instant;

/// Something to be measured: its name, and a run that gives back how many units of work it did.
pub struct Candidate<'a> {
    pub name: String,
    pub run: Box<dyn FnMut() -> u64 + 'a>,
}

/// What came of a candidate.
#[derive(Clone, Debug)]
pub struct Measured {
    pub name: String,
    /// Units of work a second, ascending.
    rates: Vec<f64>,
}

impl Measured {
    pub fn median(&self) -> f64 {
        self.rates[self.rates.len() / 2]
    }

    /// Half the distance between the quartiles, in per cent of the median.
    pub fn spread_percent(&self) -> f64 {
        let quartile = |part: usize| self.rates[(self.rates.len() - 1) * part / 4];
        (quartile(3) - quartile(1)) / 2.0 / self.median() * 100.0
    }
}

/// Measures all candidates in `rounds` rounds.
pub fn interleave(mut candidates: Vec<Candidate<'_>>, rounds: usize) -> Vec<Measured> {
    let mut rates = vec![Vec::new(); candidates.len()];
    for _ in 0..rounds {
        for (candidate, rates) in candidates.iter_mut().zip(&mut rates) {
            let start = Instant::now();
            let units = (candidate.run)();
            rates.push(units as f64 / start.elapsed().as_secs_f64());
        }
    }
    let measured = candidates.into_iter().zip(rates).map(|(candidate, mut rates)| {
        rates.sort_by(f64::total_cmp);
        Measured { name: candidate.name, rates }
    });
    measured.collect()
}

/// How many rounds: `PACELINE_ROUNDS`, or 7.
pub fn rounds() -> usize {
    std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(7)
}
