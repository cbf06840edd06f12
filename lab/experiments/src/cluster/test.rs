//! The processes of the prediction do their windows whatever their number and place.

use super::runs::{Case, Pattern, Place, Windows};
use crate::prelude::*;

#[test]
fn processes_of_any_number_come_to_an_end_and_more_of_them_take_longer() {
    let (setup, windows) = (Setup::default(), Windows { few: 50, many: 3 });
    for place in [Place::Host, Place::Loopback, Place::Cluster] {
        for pattern in Pattern::ALL {
            let time = |processes| {
                let cell = Case { place, processes, events: 500.0, pattern, windows }.cell(&setup);
                (cell.job)().unwrap_or_else(|error| panic!("{place:?}, {processes}: {error}")).seconds
            };
            // Of a tree with one, two and three levels.
            let times = [1, 2, 4, 34, 40].map(time);
            assert!(times[1..].iter().all(|several| *several > times[0]), "{place:?}: {times:?}");
        }
    }
}
