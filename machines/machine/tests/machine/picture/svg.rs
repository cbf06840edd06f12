//! LVTs over real time as small multiples: one panel for each federate, with the line of each run, and bars
//! below that show when the federate had a CPU.
//!
//! Invariants: coordinates are whole tenths of a pixel, computed from whole nanoseconds; the ground is
//! transparent, and every colour can be read on white and on the dark ground of code hosts.

use std::fmt::Write as _;

/// A federate in one run.
pub struct Track {
    /// Real time and the LVT from then on, in nanoseconds.
    pub lvt: Vec<(u64, u64)>,
    /// When it had a CPU, in nanoseconds.
    pub ran: Vec<(u64, u64)>,
}

/// A federate in all runs.
pub struct Panel<'a> {
    pub title: String,
    /// In the order of the runs.
    pub tracks: [&'a Track; 2],
}

/// A run as the legend names it.
pub struct Run<'a> {
    pub label: &'a str,
    pub ended_ns: u64,
}

/// Of text, and of the runs.
const TEXT: &str = "#777c84";
const COLOURS: [&str; 2] = ["#c76219", "#2a7fd4"];

/// Lengths in tenths of a pixel.
const WIDTH: u64 = 8_600;
const LEFT: u64 = 420;
const TOP: u64 = 760;
const COLUMNS: u64 = 4;
const PLOT_WIDTH: u64 = 1_900;
const PLOT_HEIGHT: u64 = 1_100;
const COLUMN: u64 = 2_070;
const ROW: u64 = 1_680;
const BAR: u64 = 70;
/// From the plot to its bars.
const BARS: u64 = 80;

/// A length in pixels, as SVG has it.
fn px(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Where real time and LVT lie in a plot.
struct Scale {
    real_ns: u64,
    lvt_ns: u64,
}

impl Scale {
    fn x(&self, at_ns: u64) -> u64 {
        PLOT_WIDTH * at_ns.min(self.real_ns) / self.real_ns
    }

    fn y(&self, lvt_ns: u64) -> u64 {
        PLOT_HEIGHT - PLOT_HEIGHT * lvt_ns.min(self.lvt_ns) / self.lvt_ns
    }

    /// An LVT as a staircase from the origin until the run ends, at the horizon.
    fn staircase(&self, track: &Track, ended_ns: u64) -> String {
        let (mut path, mut last) = (format!("M0,{}", px(PLOT_HEIGHT)), (0, PLOT_HEIGHT));
        let end = [(ended_ns, self.lvt_ns)];
        for (at_ns, lvt_ns) in track.lvt.iter().chain(&end) {
            let next = (self.x(*at_ns), self.y(*lvt_ns));
            if next.0 != last.0 {
                let _ = write!(path, "H{}", px(next.0));
            }
            if next.1 != last.1 {
                let _ = write!(path, "V{}", px(next.1));
            }
            last = next;
        }
        path
    }

    /// When a federate had a CPU, as one path of bars; those less than a tenth of a pixel apart are one.
    fn bars(&self, track: &Track, top: u64) -> String {
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in track.ran.iter().map(|(from, to)| (self.x(*from), self.x(*to))) {
            match joined.last_mut() {
                Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        let mut path = String::new();
        for (from, to) in joined {
            let width = px((to - from).max(1));
            let _ = write!(path, "M{},{}h{width}v{}h-{width}z", px(from), px(top), px(BAR));
        }
        path
    }
}

/// The picture: `panels` of the federates, in which LVTs rise to `horizon_ns` while real time passes.
pub fn picture(runs: &[Run<'_>; 2], panels: &[Panel<'_>], horizon_ns: u64) -> String {
    let longest = runs.iter().map(|run| run.ended_ns).max().expect("there are two runs");
    let scale = Scale { real_ns: longest, lvt_ns: horizon_ns };
    let rows = (panels.len() as u64).div_ceil(COLUMNS);
    let height = TOP + rows * ROW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" \
         role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{TEXT}\">\n",
        px(WIDTH),
        px(height),
        WIDTH / 10,
        height / 10
    );
    head(&mut svg, runs, panels.len());
    for (number, panel) in panels.iter().enumerate() {
        let (row, column) = (number as u64 / COLUMNS, number as u64 % COLUMNS);
        let (left, top) = (LEFT + column * COLUMN, TOP + row * ROW);
        let _ = writeln!(svg, "<g transform=\"translate({},{})\">", px(left), px(top));
        plot(&mut svg, &scale, panel, runs);
        if column == 0 {
            lvt_axis(&mut svg, &scale);
        }
        if row + 1 == rows {
            real_axis(&mut svg, &scale);
        }
        svg += "</g>\n";
    }
    svg += "</svg>\n";
    svg
}

/// The title, what is shown, and the legend.
fn head(svg: &mut String, runs: &[Run<'_>; 2], federates: usize) {
    let _ = writeln!(
        svg,
        "<title>Local virtual time of {federates} federates over real time, fair and paced</title>\n\
         <text x=\"4\" y=\"16\" font-size=\"14\" font-weight=\"600\">\
         Local virtual time of {federates} federates that share 4 CPUs, \
         over real time</text>"
    );
    for ((number, run), colour) in runs.iter().enumerate().zip(COLOURS) {
        let x = 4 + 430 * number;
        let _ = writeln!(
            svg,
            "<path d=\"M{x},36h24\" stroke=\"{colour}\" stroke-width=\"3\"/>\n\
             <text x=\"{}\" y=\"40\">{}; done after {} s</text>",
            x + 30,
            run.label,
            seconds(run.ended_ns)
        );
    }
}

/// The frame, the lines and the bars of a panel.
fn plot(svg: &mut String, scale: &Scale, panel: &Panel<'_>, runs: &[Run<'_>; 2]) {
    let _ = writeln!(
        svg,
        "<text y=\"-5\">{}</text>\n\
         <path d=\"M0,0V{h}H{w}\" fill=\"none\" stroke=\"{TEXT}\" stroke-opacity=\"0.7\"/>",
        panel.title,
        h = px(PLOT_HEIGHT),
        w = px(PLOT_WIDTH)
    );
    for (number, ((track, run), colour)) in panel.tracks.iter().zip(runs).zip(COLOURS).enumerate() {
        let line = scale.staircase(track, run.ended_ns);
        let bars = scale.bars(track, PLOT_HEIGHT + BARS + (BAR + 20) * number as u64);
        let _ = writeln!(
            svg,
            "<path d=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>\n\
             <path d=\"{bars}\" fill=\"{colour}\"/>"
        );
    }
}

/// Simulated time, left of a plot.
fn lvt_axis(svg: &mut String, scale: &Scale) {
    for seconds in [0, 5, 10] {
        let y = scale.y(seconds * 1_000_000_000) + 40;
        let _ = writeln!(svg, "<text x=\"-5\" y=\"{}\" text-anchor=\"end\">{seconds} s</text>", px(y));
    }
    let y = PLOT_HEIGHT + BARS + BAR + 40;
    let _ = writeln!(svg, "<text x=\"-5\" y=\"{}\" text-anchor=\"end\">CPU</text>", px(y));
}

/// Real time, below a plot and its bars: a tick each second.
fn real_axis(svg: &mut String, scale: &Scale) {
    let y = px(PLOT_HEIGHT + BARS + 2 * BAR + 180);
    for second in 0..=scale.real_ns / 1_000_000_000 {
        let x = px(scale.x(second * 1_000_000_000));
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{second} s</text>");
    }
}

/// Nanoseconds in seconds, to hundredths.
fn seconds(ns: u64) -> String {
    let hundredths = (ns + 5_000_000) / 10_000_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// How far apart a colour `#rrggbb` and the ground are: the contrast of WCAG 2, from 1 to 21.
fn contrast(colour: &str, ground: &str) -> f64 {
    let luminance = |colour: &str| {
        let part = |from: usize| {
            let part = u8::from_str_radix(&colour[from..from + 2], 16).expect("a colour has six digits");
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.212_6 * part(1) + 0.715_2 * part(3) + 0.072_2 * part(5)
    };
    let (one, other) = (luminance(colour), luminance(ground));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn colours_can_be_read_on_a_light_and_on_a_dark_ground() {
    for colour in [TEXT].into_iter().chain(COLOURS) {
        for ground in ["#ffffff", "#0d1117"] {
            let contrast = contrast(colour, ground);
            assert!(contrast >= 4.0, "{colour} on {ground}: {contrast:.2}");
        }
    }
}
