//! Which process runs which federates.

/// The process that has each of `federates`: equal parts of them, in proportion to the threads of each.
pub(super) fn owners(federates: u32, threads: &[u32]) -> Vec<u32> {
    let total: u64 = threads.iter().map(|count| u64::from(*count)).sum();
    let mut ends = Vec::with_capacity(threads.len());
    let (mut sum, mut end) = (0, 0);
    for (rank, count) in (1..).zip(threads) {
        sum += u64::from(*count);
        let share = (sum * u64::from(federates)).div_ceil(total) as u32;
        // One is for this process at least, and for each behind it. `assign` has refused fewer federates than
        // processes.
        let behind = threads.len() as u32 - rank;
        end = share.clamp(end + 1, federates.saturating_sub(behind).max(end + 1));
        ends.push(end);
    }
    (0..federates).map(|federate| ends.partition_point(|end| *end <= federate) as u32).collect()
}

#[cfg(test)]
mod test {
    use super::owners;

    #[test]
    fn federates_are_dealt_by_threads_and_every_process_has_one() {
        assert_eq!(owners(4, &[1, 1]), [0, 0, 1, 1]);
        assert_eq!(owners(8, &[1, 3]), [0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(owners(3, &[1, 1000, 1]), [0, 1, 2]);
        for federates in 1..40 {
            for ranks in 1..=federates.min(9) {
                for seed in 0..20 {
                    let mut rng = paceline_kernel::Rng::new(seed, u64::from(federates));
                    let threads: Vec<u32> = (0..ranks).map(|_| 1 + rng.below(4) as u32).collect();
                    let owners = owners(federates, &threads);
                    assert!(owners.is_sorted(), "parts are runs: {owners:?}");
                    let all = (0..ranks).all(|rank| owners.contains(&rank));
                    assert!(
                        all && owners.len() == federates as usize,
                        "{federates} federates, {threads:?}: {owners:?}"
                    );
                }
            }
        }
    }
}
