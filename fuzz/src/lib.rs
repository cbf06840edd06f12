//! What the fuzz targets share: a refusal must be one that can be shown.

use miette::GraphicalReportHandler;
use paceline_scenario::ScenarioError;

/// Shows `error` in every form that the program shows it in. Panics where one of them is empty or cannot be made.
pub fn show(error: &ScenarioError) {
    let mut report = String::new();
    GraphicalReportHandler::new().render_report(&mut report, error).expect("a string takes any report");
    for form in [report, error.to_string(), error.place(), error.one_line()] {
        assert!(!form.trim().is_empty(), "an error says something");
    }
}
