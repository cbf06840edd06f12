//! What is known of a cell: Erlang's first formula, and the fixed point of calls that are handed over.

use super::Cellular;

/// The fixed point is sought for in so many steps.
const STEPS_MAX: u32 = 10_000;

/// What theory says of each cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Theory {
    /// The shares of calls that are blocked, of those that begin, and dropped, of those that are handed over.
    pub blocked: f64,
    pub dropped: f64,
    /// Calls that are handed over to a cell for each that begins there.
    pub handed_over: f64,
    pub mean_busy: f64,
}

impl Theory {
    /// Exact where phones do not move; else as if calls that are handed over came by a Poisson process.
    /// Nothing where no fixed point is found.
    pub fn of(model: &Cellular) -> Option<Self> {
        let call_s = model.call.as_secs_f64();
        let begin = 1.0 / model.between_calls.as_secs_f64();
        // The probability that a call lasts longer than its phone stays, by the transform of the stay.
        let goes_on = model.more_stay.map_or(0.0, |more| {
            libm::exp(-model.least_stay.as_secs_f64() / call_s) / (1.0 + more.as_secs_f64() / call_s)
        });
        let held_s = (1.0 - goes_on) * call_s;
        let mut handed_over = 0.0;
        for _ in 0..STEPS_MAX {
            let cell = Cell::of(model, begin * held_s, handed_over * held_s);
            let more = goes_on * (begin * (1.0 - cell.blocked) + handed_over * (1.0 - cell.dropped));
            if (more - handed_over).abs() <= 1e-13 * begin {
                let Cell { blocked, dropped, mean_busy } = cell;
                return Some(Self { blocked, dropped, handed_over: more / begin, mean_busy });
            }
            handed_over = more;
        }
        None
    }
}

/// A cell to which calls of both kinds come by Poisson processes: a chain of births and deaths, whose states
/// are the numbers of busy channels.
struct Cell {
    blocked: f64,
    dropped: f64,
    mean_busy: f64,
}

impl Cell {
    /// The loads of calls that begin, and of those that are handed over, in erlangs.
    fn of(model: &Cellular, begin: f64, handed_over: f64) -> Self {
        let open_to_all = model.channels - model.reserved;
        let (mut weight, mut sum, mut blocked, mut mean) = (1.0, 0.0, 0.0, 0.0);
        for busy in 0..=model.channels {
            if busy > 0 {
                let load = if busy <= open_to_all { begin + handed_over } else { handed_over };
                weight *= load / f64::from(busy);
            }
            // Only ratios count: what grows beyond the numbers there are is made smaller with all before it.
            if weight > 1e200 {
                (sum, blocked, mean, weight) = (sum / weight, blocked / weight, mean / weight, 1.0);
            }
            sum += weight;
            mean += weight * f64::from(busy);
            blocked += if busy >= open_to_all { weight } else { 0.0 };
        }
        Self { blocked: blocked / sum, dropped: weight / sum, mean_busy: mean / sum }
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Time;

    use super::*;

    fn model(channels: u32, reserved: u32, more_stay: Option<Time>) -> Cellular {
        Cellular {
            columns: 4,
            rows: 4,
            channels,
            reserved,
            between_calls: Time::secs(20),
            call: Time::secs(100),
            least_stay: Time::secs(1),
            more_stay,
            warm_up: Time::ZERO,
        }
    }

    #[test]
    fn cells_by_themselves_are_those_of_the_tables() {
        // Five erlangs on ten channels, and on a thousand.
        let theory = Theory::of(&model(10, 0, None)).expect("it is found");
        assert!((theory.blocked - 0.018_385).abs() < 1e-6 && theory.handed_over == 0.0, "{theory:?}");
        assert!((theory.mean_busy - 5.0 * (1.0 - theory.blocked)).abs() < 1e-12);
        let theory = Theory::of(&model(1000, 0, None)).expect("it is found");
        assert!(theory.blocked < 1e-200 && (theory.mean_busy - 5.0).abs() < 1e-9, "{theory:?}");
    }

    #[test]
    fn calls_in_a_cell_are_as_many_however_they_move_where_channels_are_many() {
        let theory = Theory::of(&model(100, 5, Some(Time::secs(49)))).expect("it is found");
        assert!((theory.mean_busy - 5.0).abs() < 1e-9, "{theory:?}");
        // Two phones in three leave the cell where nothing stops them: once and again.
        let goes_on = (-0.01_f64).exp() / 1.49;
        assert!((theory.handed_over - goes_on / (1.0 - goes_on)).abs() < 1e-9, "{theory:?}");
        let reserved = Theory::of(&model(10, 2, Some(Time::secs(49)))).expect("it is found");
        let all = Theory::of(&model(10, 0, Some(Time::secs(49)))).expect("it is found");
        assert!(reserved.dropped < all.dropped && reserved.blocked > all.blocked, "{reserved:?} {all:?}");
    }
}
