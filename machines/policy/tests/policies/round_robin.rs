//! Round robin: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, ran};
use paceline_policy::{MILLISECOND as MS, PcpuId, Setting, Settings, VcpuId};

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

#[test]
fn who_yields_goes_to_the_end_and_a_departed_domain_is_forgotten() {
    let mut lab = Lab::new("round-robin", Settings::default().with("slice", Setting::Nanos(2 * MS)), 1);
    let yields = vec![Act::Compute(MS), Act::Lvt(1), Act::Yield];
    let first = lab.domain(false, &[(yields, None)], true, Settings::default()).expect("it is admitted");
    lab.hog(Settings::default());
    lab.run(7 * MS / 2);
    assert_eq!(lab.stretches(), [ran(0, 0, 0, MS), ran(0, 1, MS, 3 * MS), ran(0, 0, 3 * MS, 7 * MS / 2)]);
    assert_eq!(lab.running(0), Some(VcpuId(0)));
    lab.remove(first);
    assert_eq!(lab.running(0), Some(VcpuId(1)));
    assert_eq!(lab.policy.dump(lab.now_ns).len(), 1);
}

#[test]
fn a_vcpu_that_is_moved_stays_where_it_is_pinned() {
    let mut lab = Lab::new("round-robin", Settings::default(), 2);
    for _ in 0..3 {
        lab.hog(Settings::default());
    }
    // The third waits; now it may only run on the second PCPU, beside the first two.
    lab.run(MS);
    lab.tell(|policy, now_ns, orders| policy.migrate(now_ns, VcpuId(2), PcpuId(1), true, orders));
    lab.run(1_000 * MS);
    assert!(lab.stretches().iter().all(|stretch| stretch.vcpu != 2 || stretch.pcpu == 1));
    assert!(lab.ran_ns(2) > 300 * MS);
}
