//! The page of a study: for each metric its means with intervals, differences, effects and interactions.
//!
//! Figures and style are those of the report crate: the page stands alone, and everything on a figure is in a
//! table as well.

use paceline_report::{Axis, Chapter, Figure, Kind as Drawn, Series, Table, document, name_and_unit, number};

use crate::levels::Level;
use crate::result::{StudyResult, label};
use crate::sample::{Effect, Estimate, Sample};
use crate::settings::{Goal, Kind, Streams};

/// The most rows of a table on the page; the others are in the table of runs.
const MOST_ROWS: usize = 200;
/// The most figures of pairs of factors, and the most rows of interactions.
const MOST_PAIRS: usize = 6;
const MOST_INTERACTIONS: usize = 24;

/// The page, one HTML document.
pub fn page(result: &StudyResult<'_>) -> String {
    let chapters: Vec<Chapter> = result.shown.iter().map(|metric| of_metric(result, metric)).collect();
    let failures = failures(result);
    let title = format!("Study {}", result.name);
    document(&title, &lead(result), &chapters.into_iter().chain(failures).collect::<Vec<_>>())
}

/// How the study was done, a paragraph each.
fn lead(result: &StudyResult<'_>) -> Vec<String> {
    let [needed, ended, failed] = result.counts();
    let study = result.study;
    let kind = match study.kind {
        Kind::Grid => "all combinations of the levels",
        Kind::LatinHypercube(_) => "a Latin hypercube",
        Kind::Sobol(_) => "a scrambled Sobol sequence",
    };
    let streams = match study.streams {
        Streams::Common => "Replication n has the same seed at all points: common random numbers.",
        Streams::Independent => "Each point has seeds of its own.",
    };
    let mut lead = vec![
        format!(
            "Scenario {}; {} points ({kind}); {ended} of {needed} runs have ended, {failed} have failed.",
            study.scenario.file_name().unwrap_or_default().to_string_lossy(),
            result.points.len()
        ),
        format!(
            "{streams} The first seed is {}. Intervals are of 95 %, by Student's t over replications.",
            result.first_seed
        ),
    ];
    if let Some(stop) = &study.stop {
        lead.push(format!(
            "A point is repeated until the interval of {} is within {} % of its mean, at most {} times.",
            stop.metric.name,
            number(stop.within * 100.0),
            stop.most
        ));
    }
    if !study.set.is_empty() {
        lead.push(format!(
            "In all runs: {}.",
            study.set.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(", ")
        ));
    }
    lead.extend(result.shown.iter().filter_map(|metric| result.conclusion(metric)));
    lead
}

/// The figures of a metric: the effects of factors, and those of two together.
pub fn figures(result: &StudyResult<'_>, metric: &str) -> Vec<Figure> {
    of_metric(result, metric).figures
}

fn of_metric(result: &StudyResult<'_>, metric: &str) -> Chapter {
    let sample = result.sample(metric);
    let means = sample.means();
    let mut chapter = Chapter { name: metric.to_owned(), title: label(metric), ..Chapter::default() };
    match result.grid() {
        Some(grid) if !result.study.factors.is_empty() => {
            let effects = sample.main_effects(&grid);
            for factor in varied(&effects) {
                chapter.figures.push(main_effect(result, metric, factor, &effects));
            }
            chapter.tables.push(point_table(result, metric));
            if varied(&effects).len() > 1 {
                chapter.tables.push(effect_table(result, "Main effects", &effects));
                add_interactions(result, metric, &sample, &grid, &mut chapter);
            }
        }
        _ => {
            // A sample is no grid, in which the other factors would cancel out: each point is shown.
            for factor in 0..result.study.factors.len() {
                chapter.figures.push(scatter(result, metric, factor, &means));
            }
            chapter.tables.push(point_table(result, metric));
        }
    }
    chapter
}

/// The factors with effects, each once.
fn varied(effects: &[Effect]) -> Vec<usize> {
    let mut factors: Vec<usize> = effects.iter().map(|effect| effect.levels[0].0).collect();
    factors.dedup();
    factors
}

fn axis_of_metric(metric: &str) -> Axis {
    let (name, unit) = name_and_unit(metric);
    Axis::linear(name, unit)
}

/// The axis of a factor, and the place of each of these levels on it.
fn axis_of_factor(result: &StudyResult<'_>, factor: usize, levels: &[&Level]) -> (Axis, Vec<f64>) {
    let key = &result.study.factors[factor].key;
    let numbers: Option<Vec<f64>> = levels.iter().map(|level| level.number).collect();
    match numbers {
        Some(numbers) => {
            // What is written between quotation marks and has a number is a duration.
            let is_time = levels.iter().all(|level| level.written.starts_with('"'));
            (Axis::linear(key, if is_time { "s" } else { "" }), numbers)
        }
        None => {
            let axis = Axis::categories(key, levels.iter().map(|level| level.shown.as_str()));
            (axis, (0..levels.len()).map(|place| place as f64).collect())
        }
    }
}

/// The levels of a factor of a grid, in the order of the file.
fn levels_of<'r>(result: &'r StudyResult<'_>, factor: usize) -> Vec<&'r Level> {
    match &result.study.factors[factor].levels {
        crate::Levels::List(levels) => levels.iter().collect(),
        crate::Levels::Span(_) => Vec::new(),
    }
}

/// A series of means, and one of their intervals.
fn with_intervals(name: &str, kind: Drawn, means: &[(f64, Estimate)]) -> Vec<Series> {
    let points = means.iter().map(|(place, mean)| (*place, mean.mean)).collect();
    let ends = means.iter().filter_map(|(place, mean)| Some((*place, mean.interval()?)));
    let ends = ends.flat_map(|(place, (low, high))| [(place, low), (place, high)]).collect();
    vec![Series::ours(name, Drawn::Intervals, ends), Series::ours(name, kind, points)]
}

fn main_effect(result: &StudyResult<'_>, metric: &str, factor: usize, effects: &[Effect]) -> Figure {
    let levels = levels_of(result, factor);
    let (x, places) = axis_of_factor(result, factor, &levels);
    let mut means: Vec<(f64, Estimate)> = effects
        .iter()
        .filter(|effect| effect.levels[0].0 == factor)
        .filter_map(|effect| Some((places[effect.levels[0].1], effect.mean?)))
        .collect();
    means.sort_by(|one, other| one.0.total_cmp(&other.0));
    let others = result.study.factors.len() > 1;
    Figure {
        title: format!("{} over {}", label(metric), result.study.factors[factor].key),
        caption: if others {
            "The mean over all levels of the other factors, with its interval of 95 %.".to_owned()
        } else {
            "The mean, with its interval of 95 %.".to_owned()
        },
        x,
        y: axis_of_metric(metric),
        series: with_intervals("mean", Drawn::Lines, &means),
    }
}

fn scatter(result: &StudyResult<'_>, metric: &str, factor: usize, means: &[Option<Estimate>]) -> Figure {
    let mut levels: Vec<&Level> = result.points.iter().map(|point| &point[factor]).collect();
    let (mut x, mut places) = axis_of_factor(result, factor, &levels);
    // Texts, which several points may have: each once on the axis, by the alphabet.
    if !x.names().is_empty() {
        levels.sort_by(|one, other| one.shown.cmp(&other.shown));
        levels.dedup();
        x = axis_of_factor(result, factor, &levels).0;
        let place = |point: &crate::design::Point| levels.iter().position(|level| **level == point[factor]);
        places = result.points.iter().filter_map(place).map(|place| place as f64).collect();
    }
    let means: Vec<_> =
        places.into_iter().zip(means).filter_map(|(place, mean)| Some((place, (*mean)?))).collect();
    Figure {
        title: format!("{} over {}", label(metric), result.study.factors[factor].key),
        caption: "The mean at each point, with its interval of 95 %.".to_owned(),
        x,
        y: axis_of_metric(metric),
        series: with_intervals("mean", Drawn::Points, &means),
    }
}

/// The cells of an estimate: its mean, and its interval.
fn cells(estimate: Option<Estimate>) -> [String; 2] {
    let dash = || "-".to_owned();
    let interval = |(low, high): (f64, f64)| format!("{} to {}", number(low), number(high));
    [
        estimate.map_or_else(dash, |estimate| number(estimate.mean)),
        estimate.and_then(|estimate| estimate.interval()).map_or_else(dash, interval),
    ]
}

/// All points in a metric: their means, and their differences to the one that they are compared with.
pub fn point_table(result: &StudyResult<'_>, metric: &str) -> Table {
    let sample = result.sample(metric);
    let means = sample.means();
    let reference = result.reference(&means);
    let differences = sample.differences(reference);
    let compared = if result.study.goal.is_some() { "best" } else { "first" };
    let mut columns: Vec<String> = result.study.factors.iter().map(|factor| factor.key.clone()).collect();
    columns.extend(["replications".into(), "mean".into(), "95 % interval".into()]);
    if result.points.len() > 1 {
        columns.extend([format!("minus the {compared}"), "95 % together".into(), "so it is".into()]);
    }
    let mut order: Vec<usize> = (0..result.points.len()).collect();
    let left_out = order.len().saturating_sub(MOST_ROWS);
    // Where not all find room, the best ones are shown.
    if left_out > 0
        && let Some(goal) = result.study.goal
    {
        let sign = if goal == Goal::Greatest { -1.0 } else { 1.0 };
        // A point whose runs have all failed is not among the best, whatever is wanted.
        let key = |point: &usize| means[*point].map_or(f64::INFINITY, |mean| sign * mean.mean);
        order.sort_by(|one, other| key(one).total_cmp(&key(other)));
    }
    order.truncate(MOST_ROWS);
    let title = match left_out {
        0 => label(metric),
        more => format!("{} ({more} more points are in the table of runs)", label(metric)),
    };
    let mut table = Table::new(title, columns);
    for point in order {
        let mut row: Vec<String> = result.points[point].iter().map(|level| level.shown.clone()).collect();
        row.push(means[point].map_or(0, |mean| mean.count).to_string());
        row.extend(cells(means[point]));
        if result.points.len() > 1 {
            if point == reference {
                row.extend(["-".into(), "-".into(), compared.to_owned()]);
            } else {
                row.extend(cells(differences[point]));
                row.push(verdict(differences[point], result.study.goal).to_owned());
            }
        }
        table.row(row);
    }
    table
}

fn verdict(difference: Option<Estimate>, goal: Option<Goal>) -> &'static str {
    match difference {
        Some(difference) if difference.differs_from_zero() && goal.is_some() => "worse",
        Some(difference) if difference.differs_from_zero() => "different",
        // A single replication has no interval, and says nothing.
        Some(Estimate { half_width: Some(_), .. }) => "not distinguished",
        _ => "not known",
    }
}

fn effect_table(result: &StudyResult<'_>, title: &str, effects: &[Effect]) -> Table {
    let mut table = Table::new(
        title,
        ["levels", "replications", "mean", "95 % interval", "effect", "95 % interval of the effect"],
    );
    for effect in effects {
        let level = |(factor, level): &(usize, usize)| {
            format!("{} = {}", result.study.factors[*factor].key, levels_of(result, *factor)[*level].shown)
        };
        let levels = effect.levels.iter().map(level).collect::<Vec<_>>().join(", ");
        let count = effect.mean.map_or(0, |mean| mean.count).to_string();
        table.row([levels, count].into_iter().chain(cells(effect.mean)).chain(cells(effect.effect)));
    }
    table
}

/// Figures of pairs of factors, and the interactions that are largest.
fn add_interactions(
    result: &StudyResult<'_>,
    metric: &str,
    sample: &Sample,
    grid: &[Vec<usize>],
    chapter: &mut Chapter,
) {
    let mut effects = sample.interactions(grid);
    let mut pairs: Vec<(usize, usize)> =
        effects.iter().map(|effect| (effect.levels[0].0, effect.levels[1].0)).collect();
    // Most repetitions stand together: without them there is little to sort.
    pairs.dedup();
    pairs.sort_unstable();
    pairs.dedup();
    for (one, other) in pairs.iter().copied().take(MOST_PAIRS) {
        chapter.figures.push(pair_figure(result, metric, (one, other), &effects));
    }
    if pairs.len() > MOST_PAIRS {
        chapter
            .about
            .push(format!("Figures of {} more pairs of factors are left out.", pairs.len() - MOST_PAIRS));
    }
    let size = |effect: &Effect| effect.effect.map_or(0.0, |effect| effect.mean.abs());
    effects.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let title = match effects.len().saturating_sub(MOST_INTERACTIONS) {
        0 => "Interactions, the largest first".to_owned(),
        more => format!("Interactions, the {MOST_INTERACTIONS} largest ({more} more are left out)"),
    };
    effects.truncate(MOST_INTERACTIONS);
    chapter.tables.push(effect_table(result, &title, &effects));
}

fn pair_figure(
    result: &StudyResult<'_>,
    metric: &str,
    (one, other): (usize, usize),
    effects: &[Effect],
) -> Figure {
    let levels = levels_of(result, one);
    let (x, places) = axis_of_factor(result, one, &levels);
    let key = &result.study.factors[other].key;
    let series = levels_of(result, other).into_iter().enumerate().map(|(at, level)| {
        let is_here = |effect: &&Effect| effect.levels[0].0 == one && effect.levels[1] == (other, at);
        let mut points: Vec<(f64, f64)> = effects
            .iter()
            .filter(is_here)
            .filter_map(|effect| Some((places[effect.levels[0].1], effect.mean?.mean)))
            .collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        Series::ours(format!("{key} = {}", level.shown), Drawn::Lines, points)
    });
    Figure {
        title: format!("{} over {} and {key}", label(metric), result.study.factors[one].key),
        caption: "Where lines are parallel, the factors do not interact.".to_owned(),
        x,
        y: axis_of_metric(metric),
        series: series.collect(),
    }
}

/// The runs that have failed, if any have.
fn failures(result: &StudyResult<'_>) -> Option<Chapter> {
    let mut table = Table::new("Runs that have failed", ["run", "point", "seed", "error"]);
    for (place, runs) in result.runs.iter().enumerate() {
        for run in runs {
            let Some(row) = run.row.as_ref().filter(|row| !row.error.is_empty()) else { continue };
            table.row([run.name.clone(), result.words(place), run.seed.to_string(), row.error.clone()]);
        }
    }
    let about =
        vec!["They do not count in means. `paceline study FILE --retry failed` does them again.".to_owned()];
    let is_empty = table.rows().is_empty();
    let chapter = Chapter {
        name: "failures".into(),
        title: "Failures".into(),
        about,
        tables: vec![table],
        ..Chapter::default()
    };
    (!is_empty).then_some(chapter)
}

#[cfg(test)]
mod tests {
    use paceline_scenario::Scenario;
    use serde_json::json;

    use super::*;
    use crate::Study;
    use crate::result::Run;

    /// The first column of the table of points of 250 points: their means are those of a factor, and the runs
    /// of every other one have failed.
    fn shown(goal: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), "").unwrap();
        let factor = "[factors]\nm.x = { from = 1, to = 250, step = 1 }";
        let text = format!("[study]\nscenario = \"a.toml\"\nmetrics = [\"gain\"]\n{goal}\n{factor}\n");
        let study = Scenario::parse("s.toml", &text, folder.path(), &[]).and_then(Study::read).unwrap();
        let points = crate::design::points(&study.factors, study.kind, 1);
        let run = |number: usize| {
            let status = if number.is_multiple_of(2) { "ended" } else { "failed" };
            let metrics = json!({ "gain": number.to_string() });
            let row = json!({ "run": number.to_string(), "seed": 1, "status": status, "metrics": metrics });
            Run { name: number.to_string(), seed: 1, row: Some(serde_json::from_value(row).unwrap()) }
        };
        let runs = (1..=points.len()).map(|number| vec![run(number)]).collect();
        let result = StudyResult::new("s".into(), &study, 1, points, runs).unwrap();
        let table = point_table(&result, "gain");
        table.rows().iter().map(|row| row[0].clone()).collect()
    }

    #[test]
    fn where_not_all_points_find_room_the_best_ones_do() {
        let even = |numbers: &mut dyn Iterator<Item = u32>| {
            numbers.map(|number| number.to_string()).collect::<Vec<_>>()
        };
        let greatest = shown("goal = \"greatest\"");
        assert_eq!(greatest.len(), MOST_ROWS);
        assert_eq!(greatest[..125], even(&mut (1..=125).rev().map(|half| 2 * half)));
        let least = shown("goal = \"least\"");
        assert_eq!(least[..125], even(&mut (1..=125).map(|half| 2 * half)));
    }
}
