//! Distributions of sizes.

use paceline_kernel::Rng;

use super::*;
use crate::queue::Share;

/// The mix of web searches that HPCC's generator and UNISON's examples use, in their two ways to write it.
const WEB_SEARCH: &str = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n\
                          5000000 90\n10000000 97\n30000000 100\n";
const WEB_SEARCH_SHARES: &str = "0 0\n10000 0.15\n20000 0.20\n30000 0.30\n50000 0.40\n80000 0.53\n200000 0.60\n\
                                 1000000 0.70\n2000000 0.80\n5000000 0.90\n10000000 0.97\n30000000 1";

#[test]
fn published_mixes_have_their_mean() {
    let cdf = Cdf::read("web", WEB_SEARCH).unwrap();
    assert_eq!(cdf, Cdf::read("web", WEB_SEARCH_SHARES).unwrap());
    // By hand: the middle of each line by its share. UNISON's log has 1.71125 MB.
    assert!((cdf.mean() - 1_711_250.0).abs() < 1e-3, "{}", cdf.mean());
    assert_eq!(cdf.largest(), 30_000_000);
}

#[test]
fn quantiles_are_on_the_lines() {
    let cdf = Cdf::read("web", WEB_SEARCH).unwrap();
    for (share, bytes) in [(0.0, 1), (0.15, 10_000), (0.25, 25_000), (0.5, 73_076), (0.985, 20_000_000)] {
        let found = cdf.quantile(Share::new(share).unwrap());
        assert!(found.abs_diff(bytes) <= 1, "{share}: {found} for {bytes}");
    }
    assert_eq!(cdf.quantile(Share::ONE), 30_000_000);
    // Steps: half of the flows have 6 packets, a quarter 13, and nothing lies between 13 and 20.
    let steps = Cdf::read("ns-2", "6 1 0\n6 1 0.5\n13 1 0.5\n13 1 0.75\n20 1 1\n").unwrap();
    let of = |share| steps.quantile(Share::new(share).unwrap());
    assert_eq!([of(0.1), of(0.5), of(0.6), of(0.75)], [8760, 8760, 18_980, 18_980]);
    assert!((18_980..=29_200).contains(&of(0.8)) && of(1.0) == 29_200);
    let first_is_a_step = Cdf::read("f", "100 0.25\n200 1").unwrap();
    let of = |share| first_is_a_step.quantile(Share::new(share).unwrap());
    assert_eq!((of(0.2), of(0.25), of(0.625)), (100, 100, 150));
    assert!((first_is_a_step.mean() - (0.25 * 100.0 + 0.75 * 150.0)).abs() < 1e-9);
    assert_eq!(Cdf::constant(5).quantile(Share::new(0.3).unwrap()), 5);
}

#[test]
fn draws_have_the_distribution() {
    let cdf = Cdf::read("web", WEB_SEARCH).unwrap();
    const DRAWS: u32 = 200_000;
    let mut rng = Rng::new(4, 4);
    let mut sizes: Vec<u64> = (0..DRAWS).map(|_| cdf.draw(&mut rng)).collect();
    sizes.sort_unstable();
    // Kolmogorov and Smirnov: the largest distance from the function; 1.95 / sqrt(n) at one in a thousand.
    for share in (1..100).map(|percent| f64::from(percent) / 100.0) {
        let size = cdf.quantile(Share::new(share).unwrap());
        let below = sizes.partition_point(|drawn| *drawn <= size) as f64 / f64::from(DRAWS);
        assert!((below - share).abs() < 1.95 / f64::from(DRAWS).sqrt(), "{share}: {below}");
    }
    let mean = sizes.iter().sum::<u64>() as f64 / f64::from(DRAWS);
    assert!((mean / cdf.mean() - 1.0).abs() < 0.03, "{mean}");
}

#[test]
fn what_is_no_distribution_is_refused_at_its_line() {
    for (text, line, problem) in [
        ("", 1, "a file without points"),
        ("# nothing\n\n", 1, "a file without points"),
        ("1 0\n2 0.5\n", 2, "the last share is 0.5: this is no distribution"),
        ("1 0\n2 1.5\n", 2, "the last share is 1.5: this is no distribution"),
        ("1 0\n5 0.6\n7 0.5\n9 1\n", 3, "the share falls from the line before: this is no distribution"),
        ("1 0\n5 0.5\n3 0.7\n9 1\n", 3, "the size falls from the line before: this is no distribution"),
        ("1 0\n5 1.5\n9 1\n", 2, "a share of 1.5, above the last one"),
        ("1 0\n5 150\n9 100\n", 2, "a share of 150, above the last one"),
        ("1 0\n5 0.5 1\n", 2, "the line \"5 0.5 1\""),
        ("1 0\nx 1\n", 2, "the line \"x 1\""),
        ("1 0\n-5 1\n", 2, "the line \"-5 1\""),
        ("1 0\n5 NaN\n", 2, "the line \"5 NaN\""),
        ("1.5 0\n5 1\n", 1, "the line \"1.5 0\""),
        ("1 0\n99999999999999999999 1\n", 2, "the line \"99999999999999999999 1\""),
        ("0 0\n0 1\n", 2, "all sizes are 0"),
        ("5\n", 1, "the line \"5\""),
    ] {
        let error = Cdf::read("f", text).unwrap_err();
        assert_eq!((error.line, error.problem.as_str()), (line, problem), "{text:?}");
        assert!(error.allowed.starts_with("`bytes share` a line") || problem == "all sizes are 0");
    }
}
