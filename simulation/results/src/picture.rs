//! What a model draws of itself while it runs: points, edges between them, and numbers.

mod arrange;

use serde::Serialize;

pub use arrange::arrange;

/// A point of a [`Picture`], in any units: the picture is scaled to its frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// How full or busy it is, from 0 to 1; it is drawn larger and in another colour the more it is.
    pub load: f64,
}

/// A line between two points of a [`Picture`]; two with opposite directions are drawn side by side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The index of the point where it begins.
    pub from: u32,
    /// The index of the point where it ends.
    pub to: u32,
    /// How full or busy it is, from 0 to 1.
    pub load: f64,
}

/// A model at an instant, as it is drawn on the page of `--live`, see
/// [`Results::picture`](crate::Results::picture).
///
/// ```
/// use paceline_results::{Picture, Point, Results};
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// # struct Stations;
/// # impl Model for Stations {
/// #     type State = Vec<u32>;
/// #     type Event = ();
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 1 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, _: LpId, _: &mut Context<Self>) -> Vec<u32> { Vec::new() }
/// #     fn handle(&self, _: &mut Vec<u32>, _: &(), _: &mut Context<Self>) {}
/// # }
///
/// impl Results for Stations {
///     fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &Vec<u32>)>) -> Option<Picture> {
///         let queues: Vec<usize> = states.map(|(_, customers)| customers.len()).collect();
///         let place = |(number, queue): (usize, &usize)| {
///             let angle = number as f64 / queues.len() as f64 * std::f64::consts::TAU;
///             Point { x: angle.cos(), y: angle.sin(), load: *queue as f64 / 10.0 }
///         };
///         let picture = Picture {
///             title: "Stations".into(),
///             load: "10 customers wait".into(),
///             points: queues.iter().enumerate().map(place).collect(),
///             ..Picture::default()
///         };
///         let waiting: usize = queues.iter().sum();
///         Some(picture.field("customers waiting", waiting).series("customers waiting", waiting as f64))
///     }
/// }
/// # let waiting = [vec![1, 2], vec![]];
/// # let mut states = waiting.iter().enumerate().map(|(lp, state)| (LpId(lp as u32), state));
/// # let picture = Stations.picture(Time::ZERO, &mut states).expect("it is drawn");
/// # assert_eq!((picture.points.len(), picture.points[0].load), (2, 0.2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// What is drawn, in a few words.
    pub title: String,
    /// What a load of 1 means, in a few words.
    pub load: String,
    /// The points, behind none of the edges.
    pub points: Vec<Point>,
    /// The lines between points.
    pub edges: Vec<Edge>,
    /// Names and values that are shown beside the picture.
    pub fields: Vec<(String, String)>,
    /// Names and numbers that are drawn as curves over simulated time.
    pub series: Vec<(String, f64)>,
}

impl Picture {
    /// The picture with one more value beside it.
    pub fn field(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.fields.push((name.into(), value.to_string()));
        self
    }

    /// The picture with one more number to be drawn as a curve over simulated time.
    pub fn series(mut self, name: impl Into<String>, value: f64) -> Self {
        self.series.push((name.into(), value));
        self
    }
}
