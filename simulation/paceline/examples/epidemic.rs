//! An infection in towns around a ring. The parameters of the model are a struct that serde reads from a
//! scenario, the random numbers are Poisson variates and weighted choices, and towns declare to whom they
//! send.
use paceline::prelude::*;
use paceline_scenario::Scenario;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Disease {
    towns: u32,
    people: u32,
    /// Whom one infected person infects on average before recovery, if nobody is immune.
    reproduction: f64,
    #[serde(with = "paceline_scenario::time")]
    generation: Time,
    /// The shares of infections at home, in the next town and in the one before.
    travel: [f64; 3],
}

/// So many people of a town have been infected.
#[derive(Clone, Debug, Hash, PartialEq)]
struct Infected(u64);

#[derive(Clone, Debug, Hash)]
struct Town {
    healthy: u64,
    ill_now: u64,
}

impl Model for Disease {
    type State = Town;
    type Event = Infected;
    type Output = u64; // people who were never ill

    fn lps(&self) -> u32 {
        self.towns
    }
    fn lookahead(&self) -> Time {
        self.generation
    }
    fn channels(&self, town: LpId) -> Channels {
        let neighbours = self.places(town).into_iter().skip(1);
        Channels::Only(neighbours.map(|neighbour| (neighbour, self.generation)).collect())
    }
    fn init(&self, town: LpId, cx: &mut Context<Self>) -> Town {
        if town == LpId(0) {
            cx.schedule(Time::ZERO, Infected(10));
        }
        Town { healthy: u64::from(self.people), ill_now: 0 }
    }
    fn handle(&self, town: &mut Town, infected: &Infected, cx: &mut Context<Self>) {
        let ill = infected.0.min(town.healthy);
        // Of those whom the ill meet, the healthy are as many as there are left of them in the town.
        let susceptible = town.healthy as f64 / f64::from(self.people);
        town.healthy -= ill;
        town.ill_now = ill;
        let mut infections = [0; 3];
        for _ in 0..cx.rng().poisson(ill as f64 * self.reproduction * susceptible) {
            infections[cx.rng().weighted(&self.travel)] += 1;
        }
        for (place, count) in self.places(cx.lp()).into_iter().zip(infections).filter(|(_, count)| *count > 0)
        {
            cx.send(place, self.generation, Infected(count));
        }
    }
    fn finish(&self, _: LpId, town: &Town, spared: &mut u64) {
        *spared += town.healthy;
    }
}

impl Disease {
    /// The town itself, the next and the one before.
    fn places(&self, LpId(town): LpId) -> [LpId; 3] {
        [town, (town + 1) % self.towns, (town + self.towns - 1) % self.towns].map(LpId)
    }
}

const SCENARIO: &str = r#"
[model]
towns = 60
people = 5000
reproduction = 1.8
generation = "5d"
travel = [0.9, 0.05, 0.05]
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let read = || -> Result<Disease, paceline_scenario::ScenarioError> {
        Scenario::parse("epidemic.toml", SCENARIO, ".".as_ref(), &[])?.section("model")?.parameters()
    };
    let everybody = u64::from(read()?.towns) * u64::from(read()?.people);
    let report = Simulation::new(read()?).protocol(Protocol::Window).federates(6).threads(2).run()?;
    let spared: u64 = report.outputs.iter().sum();
    println!("{} of {everybody} people fell ill, in {} events", everybody - spared, report.events);
    let reference = Simulation::new(read()?).protocol(Protocol::Sequential).run()?;
    assert_eq!(report.digest, reference.digest);
    Ok(())
}
