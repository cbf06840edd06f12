//! The experiments of the ARTIS paper.

use paceline_experiments::{Setup, experiments, reproduce};

#[test]
fn show() {
    let all: Vec<_> = experiments().into_iter().filter(|experiment| experiment.name.starts_with("artis-")).collect();
    let all: Vec<_> = all.iter().collect();
    for finding in reproduce(&all, &Setup { quick: true, ..Setup::default() }, 2, &mut |_| {}) {
        println!("{} {:.2}", finding.name, finding.wall_seconds);
        for check in &finding.checks {
            println!("  {} {} | {} | {}", check.holds, check.what, check.published, check.ours);
        }
        for table in &finding.tables {
            println!("{:?}", table.columns());
            for row in table.rows() {
                println!("   {}", row.join(" "));
            }
        }
    }
}
