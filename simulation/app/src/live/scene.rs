//! What a page shows of anything but a run: machines, replications, studies, run-time infrastructures.
//!
//! A command implements [`Scene`]. The server asks it for [`Now`] with each frame and for a [`Drawing`]
//! seldom, both only while somebody watches, and passes on what is asked of it.
//!
//! Invariants: a scene answers from what its command has left for it, and holds nothing up; a request that it
//! does not list is refused by name, with those that it does list.

pub(super) mod frames;

use std::fmt::Debug;
use std::sync::Arc;

use paceline_report::{Figure, Table};
use paceline_results::Picture;

/// What is shown instead of a run, and what it can be asked.
pub trait Scene: Debug + Send + Sync {
    /// What it is.
    fn about(&self) -> About;

    /// The requests that it answers, beside `status`, by their first words. The page has their buttons only.
    fn requests(&self) -> &'static [&'static str];

    /// Does one of its [`requests`](Self::requests), and says in one line what it did; an error says what is
    /// allowed.
    fn answer(&self, request: &str) -> Result<String, String>;

    /// What changes all the time, as it is now.
    fn now(&self) -> Now;

    /// What changes seldom, or takes long to put together.
    fn drawing(&self) -> Drawing {
        Drawing::default()
    }
}

/// What a scene is.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The title of the page: the name of a scenario, say.
    pub name: String,
    /// What it is, in a few words.
    pub kind: String,
    /// What the button of `step` says, if there is one.
    pub step: &'static str,
}

/// A scene at an instant.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// The part that is done, from 0 to 1, if that is known.
    pub done: Option<f64>,
    /// Whether it waits to be let go.
    pub is_paused: bool,
    /// Whether it has been asked to end.
    pub is_stopping: bool,
    /// Simulated seconds a second, where it is tied to real time.
    pub pace: Option<f64>,
    /// Names and values, in the order in which they are shown.
    pub numbers: Vec<(&'static str, String)>,
    /// Numbers whose course over real time is drawn, at most six: always the same, in the same order.
    pub courses: Vec<Course>,
    /// Where its parts are in simulated time.
    pub standings: Option<Standings>,
    /// What ran where.
    pub lanes: Option<Lanes>,
}

/// A number whose course is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The title of the curve.
    pub name: &'static str,
    /// The unit; none of a plain number.
    pub unit: &'static str,
    /// The number as it is now.
    pub value: f64,
    /// Whether it only rises, and its rise a second is drawn.
    pub is_total: bool,
}

/// Parts in simulated time, each a dot to the right of an origin.
#[derive(Clone, Debug, Default)]
pub struct Standings {
    /// What is above them: "Domains in simulated time".
    pub title: &'static str,
    /// What one of them is called: "domain".
    pub part: &'static str,
    /// The unit of their times; none where they are plain numbers.
    pub unit: &'static str,
    /// The time at the left end, and what it is called there.
    pub origin: (f64, &'static str),
    /// The time at the right end; without one, that of the part furthest ahead.
    pub end: Option<f64>,
    /// The parts, from above.
    pub rows: Vec<Standing>,
    /// What is said below them; with none, which is furthest behind.
    pub said: Option<String>,
    /// What their colours are, if those mean anything: "PCPUs".
    pub colours: &'static str,
}

/// A part in simulated time.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// What it is called.
    pub name: String,
    /// How far it is, if that is known.
    pub at: Option<f64>,
    /// The time up to which it may or wants to go.
    pub front: Option<f64>,
    /// By which it is coloured; grey where there is none.
    pub colour: Option<u32>,
    /// How busy it is, from 0 to 1.
    pub busy: f64,
}

/// What ran where, over the latest span of simulated time.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// What is above them.
    pub title: &'static str,
    /// The names of the lanes, from above.
    pub lanes: Vec<String>,
    /// The names of what runs there.
    pub names: Vec<String>,
    /// Where the span begins that is shown, in seconds.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What was in a lane from when to when: places in `lanes` and `names`, both times in seconds.
    pub spans: Vec<(u32, u32, f64, f64)>,
    /// What is said below them.
    pub said: String,
}

/// What changes seldom.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Points and edges.
    pub picture: Option<Picture>,
    /// The names of the points, shown where they are few.
    pub names: Vec<String>,
    /// Messages between parts.
    pub messages: Option<Messages>,
    /// Tables, of which the first 200 rows are shown.
    pub tables: Vec<Table>,
    /// Curves, before those over real time.
    pub figures: Vec<Figure>,
}

/// How many messages went from each part to each.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// What one of the parts is called.
    pub part: &'static str,
    /// The number of parts.
    pub side: usize,
    /// Row by row, a row for each sender.
    pub counts: Vec<u64>,
}

/// What a scene says to a request.
pub(super) fn answer(scene: &Arc<dyn Scene>, request: &str) -> Result<String, String> {
    let About { name, kind, .. } = scene.about();
    let name = name.replace('\n', " ");
    let word = request.split(' ').next().unwrap_or_default();
    match word {
        "name" => Ok(name),
        "status" => {
            let numbers = scene.now().numbers;
            let said: Vec<_> = numbers.iter().map(|(name, value)| format!("{name} {value}")).collect();
            Ok(format!("{name}: {}", said.join(", ")))
        }
        word if scene.requests().contains(&word) => {
            let said = scene.answer(request);
            said.map(|said| format!("{name}: {said}")).map_err(|problem| format!("{name}: {problem}"))
        }
        _ => {
            let allowed = [&["status"][..], scene.requests()].concat().join(", ");
            Err(format!("{name} is {kind}, which does not answer {request:?}; allowed: {allowed}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Clock;

    impl Scene for Clock {
        fn about(&self) -> About {
            About { name: "clock".into(), kind: "a test".into(), ..About::default() }
        }

        fn requests(&self) -> &'static [&'static str] {
            &["stop"]
        }

        fn answer(&self, request: &str) -> Result<String, String> {
            Ok(format!("{request} done"))
        }

        fn now(&self) -> Now {
            Now { numbers: vec![("time", "3 s".into())], ..Now::default() }
        }
    }

    #[test]
    fn what_a_scene_does_not_list_is_refused_with_what_it_lists() {
        let scene: Arc<dyn Scene> = Arc::new(Clock);
        let ask = |request| answer(&scene, request);
        assert_eq!(ask("status"), Ok("clock: time 3 s".into()));
        assert_eq!(ask("stop"), Ok("clock: stop done".into()));
        let refused = "clock is a test, which does not answer \"step 3\"; allowed: status, stop";
        assert_eq!(ask("step 3"), Err(refused.into()));
    }
}
