//! Round robin: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab};
use paceline_policy::{MILLISECOND as MS, Setting, Settings, VcpuId};

#[test]
fn everybody_in_turn() {
    let mut lab = Lab::new("round-robin", Settings::default().with("slice", Setting::Nanos(2 * MS)), 1);
    lab.hogs(2);
    let blocks = vec![Act::Compute(MS), Act::Sleep(4 * MS)];
    lab.guest(blocks);
    lab.run(12 * MS);
    lab.assert_ran(MS, "0: 0-2, 1: 2-4, 2: 4-5, 0: 5-7, 1: 7-9, 0: 9-11, 2: 11-12");
    assert!(lab.wasted().is_empty());
}

#[test]
fn who_yields_goes_to_the_end_and_a_departed_domain_is_forgotten() {
    let mut lab = Lab::new("round-robin", Settings::default().with("slice", Setting::Nanos(2 * MS)), 1);
    let yields = vec![Act::Compute(MS), Act::Lvt(1), Act::Yield];
    let first = lab.guest(yields);
    lab.hog(Settings::default());
    lab.run(7 * MS / 2);
    lab.assert_ran(MS, "0: 0-1, 1: 1-3, 0: 3-3.5");
    assert_eq!(lab.running(0), Some(VcpuId(0)));
    lab.remove(first);
    assert_eq!(lab.running(0), Some(VcpuId(1)));
    assert_eq!(lab.policy.dump(lab.now_ns).len(), 1);
}

#[test]
fn a_vcpu_that_is_moved_stays_where_it_is_pinned() {
    let mut lab = Lab::new("round-robin", Settings::default(), 2);
    lab.hogs(3);
    // The third waits; now it may only run on the second PCPU, beside the first two.
    lab.run(MS);
    lab.migrate(2, 1, true);
    lab.run(1_000 * MS);
    assert!(lab.stretches().iter().all(|stretch| stretch.vcpu != 2 || stretch.pcpu == 1));
    assert!(lab.ran_ns(2) > 300 * MS);
}
