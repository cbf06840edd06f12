//! Names of results, and how people read them.

/// Units that stand last in names.
const UNITS: [&str; 7] = ["s", "ms", "ns", "min", "km", "m", "bytes"];

/// A name in snake_case with its unit last, as people read it, and its unit, if it has one: "mean travel",
/// "s".
///
/// ```
/// use paceline_report::name_and_unit;
/// assert_eq!(name_and_unit("mean_travel_s"), ("mean travel".to_owned(), "s"));
/// assert_eq!(name_and_unit("vehicles"), ("vehicles".to_owned(), ""));
/// ```
pub fn name_and_unit(name: &str) -> (String, &str) {
    let (name, unit) = match name.rsplit_once('_') {
        Some((rest, unit)) if UNITS.contains(&unit) && !rest.ends_with("_simulated") => (rest, unit),
        _ => (name, ""),
    };
    (name.replace('_', " "), unit)
}
