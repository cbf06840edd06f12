//! `cargo bench -p paceline-rti --bench grants`: what a grant costs the infrastructure, by the number of
//! federates.
//!
//! All federates regulate, with a lookahead of one step, and are constrained; in turn each asks for its next
//! step, and the last one's request grants them all. *Time advance request* and *next message request* do
//! that alone; in *with an interaction* each also sends one with a time, which a neighbour alone subscribes
//! to; in *steps of 1 to 7* federates ask for steps of different lengths, so that few wait for the same time.
//! A number is the median over rounds of the time for a call of each and all that it causes, in nanoseconds a
//! grant, with half the distance between the quartiles. The last column compares 256 federates with 32.
//! `PACELINE_ROUNDS` sets the number of rounds.

use std::hint::black_box;
use std::time::Instant;

use comfy_table::{Table, presets};
use paceline_hla::{
    Bytes, Call, FileFomModule, FomModule, FomModuleSource, InteractionClassHandle, LogicalTime,
    LogicalTimeInterval, Response, request,
};
use paceline_rti::{Client, Rti};

const FEDERATES: [u32; 4] = [2, 8, 32, 256];
/// Grants in a round, of all federates together: so few that most rounds are not interrupted.
const GRANTS: u32 = 2_560;

/// What federates do in a step.
#[derive(Clone, Copy)]
enum Kind {
    Advance,
    NextMessage,
    Interaction,
    LongAndShort,
}

const KINDS: [(&str, Kind); 4] = [
    ("time advance request", Kind::Advance),
    ("next message request", Kind::NextMessage),
    ("with an interaction", Kind::Interaction),
    ("steps of 1 to 7", Kind::LongAndShort),
];

fn time(number: i64) -> Option<LogicalTime> {
    Some(LogicalTime { data: Bytes::copy_from_slice(&number.to_be_bytes()) })
}

/// A module with a class of interactions for each federate.
fn module(federates: u32) -> FomModule {
    let class = |number| {
        format!("<interactionClass><name>I{number}</name><order>TimeStamp</order></interactionClass>")
    };
    let classes: String = (1..=federates).map(class).collect();
    let text = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><interactions><interactionClass>
        <name>HLAinteractionRoot</name>{classes}</interactionClass></interactions></objectModel>"#
    );
    let file = FileFomModule { name: "bench.xml".to_owned(), content: text.into() };
    FomModule { source: Some(FomModuleSource::File(file)) }
}

struct Bench {
    rti: Rti,
    kind: Kind,
    federates: u32,
    /// By federate: how far it has come, or has asked to come.
    times: Vec<i64>,
    classes: Vec<Option<InteractionClassHandle>>,
    granted: u32,
}

impl Bench {
    fn new(federates: u32, kind: Kind) -> Self {
        let times = vec![0; federates as usize];
        let mut bench = Self { rti: Rti::default(), kind, federates, times, classes: Vec::new(), granted: 0 };
        (1..=federates).for_each(|client| drop(bench.call(client, request::Connect {})));
        let create = request::CreateFederationExecutionWithTime {
            federation_name: "F".to_owned(),
            fom_module: Some(module(federates)),
            logical_time_implementation_name: "HLAinteger64Time".to_owned(),
        };
        bench.call(1, create);
        for client in 1..=federates {
            let (federate_type, federation_name) = ("bench".to_owned(), "F".to_owned());
            bench.call(client, request::JoinFederationExecution { federate_type, federation_name });
            let lookahead = Some(LogicalTimeInterval { data: Bytes::copy_from_slice(&1_i64.to_be_bytes()) });
            bench.call(client, request::EnableTimeRegulation { lookahead });
            bench.call(client, request::EnableTimeConstrained {});
        }
        for client in 1..=federates {
            let class = request::GetInteractionClassHandle { interaction_class_name: format!("I{client}") };
            let Response::GetInteractionClassHandle(found) = bench.call(1, class) else {
                panic!("it is there")
            };
            let interaction_class = found.result;
            bench.classes.push(interaction_class.clone());
            let published = request::PublishInteractionClass { interaction_class: interaction_class.clone() };
            bench.call(client, published);
            bench.call(client % federates + 1, request::SubscribeInteractionClass { interaction_class });
        }
        bench
    }

    fn call(&mut self, client: u32, call: impl Into<Call>) -> Response {
        let mut callbacks = Vec::new();
        let response = self.rti.call(Client(client), call.into(), &mut callbacks);
        assert!(!matches!(response, Response::Exception(_)), "{response:?}");
        self.granted +=
            callbacks.iter().filter(|(_, callback)| callback.name() == "TimeAdvanceGrant").count() as u32;
        black_box(callbacks);
        response
    }

    /// Asks for the next step of a federate.
    fn step(&mut self, client: u32) {
        let place = client as usize - 1;
        let by = if matches!(self.kind, Kind::LongAndShort) { i64::from(client % 7) + 1 } else { 1 };
        self.times[place] += by;
        let to = time(self.times[place]);
        if matches!(self.kind, Kind::Interaction) {
            let interaction_class = self.classes[place].clone();
            let (parameter_values, user_supplied_tag) = (None, Bytes::new());
            let sent = request::SendInteractionWithTime {
                interaction_class,
                parameter_values,
                user_supplied_tag,
                time: to.clone(),
            };
            self.call(client, sent);
        }
        match self.kind {
            Kind::NextMessage => drop(self.call(client, request::NextMessageRequest { time: to })),
            _ => drop(self.call(client, request::TimeAdvanceRequest { time: to })),
        }
    }

    /// Nanoseconds a grant.
    fn round(&mut self) -> f64 {
        self.granted = 0;
        let start = Instant::now();
        while self.granted < GRANTS {
            // Those that are furthest behind wait for nobody.
            let least = self.times.iter().min().copied().unwrap_or(0);
            for client in 1..=self.federates {
                if self.times[client as usize - 1] == least {
                    self.step(client);
                }
            }
        }
        start.elapsed().as_nanos() as f64 / f64::from(self.granted)
    }
}

/// The lower quartile, which interruptions do not reach: they only add.
fn quartile(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 4]
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(101);
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let columns = FEDERATES.map(|federates| format!("{federates} federates, ns"));
    table.set_header(["a step".to_owned()].into_iter().chain(columns).chain(["256 : 32".to_owned()]));
    for (name, kind) in KINDS {
        let mut benches = FEDERATES.map(|federates| Bench::new(federates, kind));
        let mut results = [const { Vec::new() }; FEDERATES.len()];
        // Every round measures each number, so that a disturbance of the machine affects all of them.
        for _ in 0..rounds {
            for (bench, results) in benches.iter_mut().zip(&mut results) {
                results.push(bench.round());
            }
        }
        let quartiles = results.map(quartile);
        let cells = quartiles.map(|quartile| format!("{quartile:.0}"));
        let growth = format!("{:.2}", quartiles[3] / quartiles[2]);
        table.add_row([name.to_owned()].into_iter().chain(cells).chain([growth]));
    }
    println!("{table}");
}
