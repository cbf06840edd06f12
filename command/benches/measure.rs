//! The sides, the rounds, the table and the page.

mod engine;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use comfy_table::{CellAlignment, Table as Grid, presets};
use paceline_report::{
    Axis, Check, Criterion, Figure, Finding, Kind, Ours, RanOn, Series, Shape, Table, page,
};

pub const WINDOWS: u32 = 8;
/// The mean CPU time of a process in a window.
pub const COST_US: u64 = 5_000;
/// The part of all work that one process has under an uneven load.
pub const HEAVY_PERCENT: u64 = 40;
/// How many processes there are for each core.
const PROCESSES_PER_CORE: [u32; 3] = [4, 8, 16];
/// What is reached where processes poll.
const GOAL: f64 = 1.5;

/// A way to run the simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    Unpaced,
    SchedYield,
    Governor,
    GovernorFlag,
    Engine,
}

const SIDES: [Side; 5] = [Side::Unpaced, Side::SchedYield, Side::Governor, Side::GovernorFlag, Side::Engine];

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Unpaced => "unpaced",
            Self::SchedYield => "sched_yield",
            Self::Governor => "governor",
            Self::GovernorFlag => "governor, waiting flag",
            Self::Engine => "our engine",
        }
    }
}

/// What does not change from run to run.
struct Bench {
    phold: PathBuf,
    cores: u32,
    /// The speed of the C program's work, as itself measures it.
    rate: String,
    /// The speed of the engine's work.
    rounds_per_us: u64,
}

struct Cell {
    side: Side,
    load: &'static str,
    per_core: u32,
    slowdowns: Vec<f64>,
}

impl Cell {
    fn median(&self) -> f64 {
        self.slowdowns[self.slowdowns.len() / 2]
    }

    /// Half the distance between the quartiles.
    fn spread(&self) -> f64 {
        let quartile = |part: usize| self.slowdowns[(self.slowdowns.len() - 1) * part / 4];
        (quartile(3) - quartile(1)) / 2.0
    }
}

/// Measures everything, prints the table and writes the page.
pub fn all() {
    // `cargo test` runs benchmarks too, to see that they start.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().expect("there can be temporary folders");
    let Some(bench) = Bench::new(folder.path()) else {
        println!("skipped: there is no make or no C compiler");
        return;
    };
    let start = Instant::now();
    let mut cells = Vec::new();
    for load in ["random", "heavy"] {
        for per_core in PROCESSES_PER_CORE {
            let mut group = SIDES.map(|side| Cell { side, load, per_core, slowdowns: Vec::new() });
            for _ in 0..rounds {
                for cell in &mut group {
                    cell.slowdowns.push(bench.run(cell.side, load, per_core * bench.cores));
                }
            }
            cells.extend(group);
        }
    }
    cells.iter_mut().for_each(|cell| cell.slowdowns.sort_by(f64::total_cmp));
    let table = table(&cells, rounds);
    print(&table);
    if let Some(folder) = std::env::var_os("PACELINE_OUT").map(PathBuf::from) {
        let finding = finding(&bench, &cells, table, start.elapsed().as_secs_f64());
        let file = folder.join("pacing.html");
        let lead = [
            "A simulation whose processes outnumber the cores, by how many times longer than the ideal it takes.",
        ];
        let html = page("Pacing", &lead.map(str::to_owned), &[finding], &[]);
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&file, html))
            .expect("the page can be written");
        println!("\nThe figure: {}", file.display());
    }
}

impl Bench {
    /// Builds the C program in `folder`.
    fn new(folder: &Path) -> Option<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c");
        let out = format!("OUT={}", folder.display());
        let made = Command::new("make").arg("--silent").arg("--directory").arg(source).arg(out).status();
        if !made.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut bench = Self {
            phold: folder.join("phold"),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            rate: String::new(),
            rounds_per_us: engine::rounds_per_us(),
        };
        let mut command = Command::new(&bench.phold);
        command.args(["--processes", "2", "--windows", "1"]);
        bench.rate = bench.output_value(command, "rounds_per_ms");
        Some(bench)
    }

    /// How many times longer than the ideal a run takes.
    fn run(&self, side: Side, load: &str, processes: u32) -> f64 {
        let mut command = match side {
            Side::Engine => {
                return engine::slowdown(processes, load == "heavy", self.cores, self.rounds_per_us);
            }
            Side::Governor | Side::GovernorFlag => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
                command.args(["pace", "--policy", "governor", "--"]).arg(&self.phold);
                command
            }
            Side::Unpaced | Side::SchedYield => Command::new(&self.phold),
        };
        let wait = if side == Side::SchedYield { "yield" } else { "busy" };
        let flag = if side == Side::GovernorFlag { "yes" } else { "no" };
        command.args(["--load", load, "--wait", wait, "--flag", flag, "--rate", &self.rate]);
        command.args(["--processes", &processes.to_string(), "--windows", &WINDOWS.to_string()]);
        command.args(["--cost-us", &COST_US.to_string(), "--heavy", &HEAVY_PERCENT.to_string()]);
        self.output_value(command, "slowdown").parse().expect("a slowdown is a number")
    }

    /// What `command` says of `name`.
    fn output_value(&self, mut command: Command, name: &str) -> String {
        let output = command.output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} failed: {text}{errors}");
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let value = lines.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
        value.unwrap_or_else(|| panic!("{command:?} says nothing of {name}: {text}"))
    }
}

fn table(cells: &[Cell], rounds: usize) -> Table {
    let title =
        format!("Times the ideal, medians of {rounds} rounds, and half the distance of the quartiles");
    let names = SIDES.map(|side| side.name().to_owned());
    let columns = ["load".to_owned(), "processes per core".to_owned()].into_iter().chain(names);
    let mut table = Table::new(title, columns);
    for row in cells.chunks(SIDES.len()) {
        let values = row.iter().map(|cell| format!("{:.2} ± {:.2}", cell.median(), cell.spread()));
        table.row([row[0].load.to_owned(), row[0].per_core.to_string()].into_iter().chain(values));
    }
    table
}

fn print(table: &Table) {
    let mut grid = Grid::new();
    grid.load_preset(presets::ASCII_MARKDOWN).set_header(table.columns()).add_rows(table.rows());
    grid.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("{}\n{}", table.title(), grid.trim_fmt());
}

fn finding(bench: &Bench, cells: &[Cell], table: Table, wall_seconds: f64) -> Finding {
    let figure = |load: &str| Figure {
        title: format!("Slowdown over processes per core, {load} load"),
        caption: "How many times longer than all work dealt to all cores without a gap.".into(),
        x: Axis::linear("processes per core", ""),
        y: Axis::log("times the ideal", ""),
        series: SIDES
            .iter()
            .map(|side| {
                let of_side = cells.iter().filter(|cell| cell.side == *side && cell.load == load);
                let points = of_side.map(|cell| (f64::from(cell.per_core), cell.median())).collect();
                Series::ours(side.name(), Kind::Lines, points)
            })
            .collect(),
    };
    let governed = cells.iter().filter(|cell| cell.side == Side::Governor);
    let worst = governed.map(Cell::median).fold(0.0, f64::max);
    Finding {
        name: "pacing".into(),
        title: "Polling processes, paced and unpaced".into(),
        about: vec![format!(
            "examples/c/phold.c on {} cores: {WINDOWS} windows, on average {COST_US} us of work for a process in each; random \
             costs, or {HEAVY_PERCENT} % of all work at one process. Our engine runs as many federates with such costs.",
            bench.cores
        )],
        ran_on: RanOn::RealProcesses,
        checks: vec![Check {
            what: "the governor's worst slowdown".into(),
            criterion: Criterion::goal(Shape::at_most(GOAL)),
            ours: Ours::one(worst, "times the ideal"),
        }],
        figures: vec![figure("random"), figure("heavy")],
        tables: vec![table],
        wall_seconds,
        ..Finding::default()
    }
}
