//! Round robin by hand, and what it promises.

mod lab;

use lab::{Act, Lab, ran};
use paceline_policy::{MILLISECOND as MS, Setting, Settings};

#[test]
fn everybody_in_turn() {
    let mut lab = Lab::new("round-robin", Settings::default().with("slice", Setting::Nanos(2 * MS)), 1);
    lab.hog(Settings::default());
    lab.hog(Settings::default());
    let blocks = vec![Act::Compute(MS), Act::Sleep(4 * MS)];
    lab.domain(false, &[(blocks, None)], true, Settings::default()).expect("it is admitted");
    lab.run(12 * MS);
    let expected = [
        ran(0, 0, 0, 2 * MS),
        ran(0, 1, 2 * MS, 4 * MS),
        ran(0, 2, 4 * MS, 5 * MS),
        ran(0, 0, 5 * MS, 7 * MS),
        ran(0, 1, 7 * MS, 9 * MS),
        ran(0, 0, 9 * MS, 11 * MS),
        ran(0, 2, 11 * MS, 12 * MS),
    ];
    assert_eq!(lab.stretches(), expected);
    assert!(lab.wasted().is_empty());
}
