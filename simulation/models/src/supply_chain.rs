//! A supply chain in series: stages that keep stocks of products, from the one that customers come to up to
//! the one that a supplier delivers to.
//!
//! Customers ask for one unit of a product each, by a Poisson process. Each stage has a *base stock* of every
//! product: with each unit that it is asked for it orders one from the stage above, so that what it has, and
//! has ordered, less what it owes is always the base stock. An order takes `order_delay` to the stage above,
//! and a unit `lead_time` from there. A stage that has none left owes the unit, a *backorder*, and serves
//! orders in turn. The supplier of the last stage always delivers.
//!
//! # What is known
//!
//! At a single stage the units on order are those asked for in the time that an order takes, a Poisson
//! number: its distribution gives the share of customers who are served at once, backorders and stocks. In a
//! chain the units that the stage above owes come on top, and are independent of them (Svoronos and Zipkin,
//! 1991, for lead times that are constant): so all stages follow one by one from the last. Results have these
//! numbers beside those measured.
//!
//! # LPs and lookahead
//!
//! An LP is a stage of a product. Units and orders take their lead times and delays, the least of which is
//! the lookahead; each LP has channels to the stages above and below alone, with the times that these take.
//!
//! # Where things are
//!
//! `settings`: scenarios; `stock`: the state of an LP; `theory`: known answers; `results`: output and
//! results.

mod results;
mod settings;
mod stock;
mod theory;

use paceline_kernel::{Channels, Context, LpId, Model, Time};
use serde::{Deserialize, Serialize};

pub use results::Output;
pub use stock::Stock;

/// A stage, alike for all products.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub name: String,
    pub base_stock: u32,
    /// From the stage above, or the supplier, to this one.
    pub lead_time: Time,
    /// Of an order to the stage above.
    pub order_delay: Time,
}

/// A supply chain.
#[derive(Clone, Debug)]
pub struct SupplyChain {
    /// The stage that customers come to first.
    stages: Vec<Stage>,
    products: u32,
    /// From one customer of a product to the next, on average.
    between_demands: Time,
    /// What happens before is not measured.
    warm_up: Time,
}

/// What happens to the stock of a product at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SupplyEvent {
    /// A customer asks for a unit.
    Demand,
    /// The stage below orders a unit.
    Order,
    /// A unit is delivered.
    Delivery,
}

impl SupplyChain {
    /// LPs are numbered by product, then by stage.
    fn stage_of(&self, lp: LpId) -> usize {
        lp.0 as usize % self.stages.len()
    }

    fn has_above(&self, stage: usize) -> bool {
        stage + 1 < self.stages.len()
    }

    /// Sends a unit on to whoever asked for it; a customer takes it along.
    fn deliver(&self, stage: usize, cx: &mut Context<Self>) {
        if let Some(below) = stage.checked_sub(1) {
            cx.send(LpId(cx.lp().0 - 1), self.stages[below].lead_time, SupplyEvent::Delivery);
        }
    }

    /// Serves an order, or a customer, and orders a unit instead of it.
    fn serve(&self, stage: usize, stock: &mut Stock, cx: &mut Context<Self>) {
        let Stage { lead_time, order_delay, .. } = self.stages[stage];
        if self.has_above(stage) {
            cx.send(LpId(cx.lp().0 + 1), order_delay, SupplyEvent::Order);
        } else {
            cx.schedule(order_delay.saturating_add(lead_time), SupplyEvent::Delivery);
        }
        if stock.take(cx.now(), self.warm_up) {
            self.deliver(stage, cx);
        }
    }
}

impl Model for SupplyChain {
    type State = Stock;
    type Event = SupplyEvent;
    type Output = Output;

    fn parameters(&self) -> String {
        format!("{self:?}")
    }

    fn lps(&self) -> u32 {
        self.stages.len() as u32 * self.products
    }

    fn lookahead(&self) -> Time {
        let between = self.stages.iter().take(self.stages.len() - 1);
        let least = between.map(|stage| stage.lead_time.min(stage.order_delay)).min();
        // A single stage sends nothing to others: any would do.
        least.unwrap_or(self.stages[0].lead_time)
    }

    fn channels(&self, lp: LpId) -> Channels {
        let stage = self.stage_of(lp);
        let below = stage.checked_sub(1).map(|below| (LpId(lp.0 - 1), self.stages[below].lead_time));
        let above = self.has_above(stage).then(|| (LpId(lp.0 + 1), self.stages[stage].order_delay));
        Channels::Only(below.into_iter().chain(above).collect())
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Stock {
        let stage = self.stage_of(lp);
        if stage == 0 {
            let first = cx.rng().exponential(self.between_demands.as_ticks() as f64) as u64;
            cx.schedule(Time::ticks(first), SupplyEvent::Demand);
        }
        Stock::new(self.stages[stage].base_stock)
    }

    fn handle(&self, stock: &mut Stock, event: &SupplyEvent, cx: &mut Context<Self>) {
        let stage = self.stage_of(cx.lp());
        match event {
            SupplyEvent::Demand => {
                let after = cx.rng().exponential(self.between_demands.as_ticks() as f64) as u64;
                cx.schedule(Time::ticks(after), SupplyEvent::Demand);
                self.serve(stage, stock, cx);
            }
            SupplyEvent::Order => self.serve(stage, stock, cx),
            SupplyEvent::Delivery => {
                if stock.put(cx.now(), self.warm_up) {
                    self.deliver(stage, cx);
                }
            }
        }
    }

    fn state_bytes(&self, stock: &Stock) -> usize {
        size_of::<Stock>() + stock.owed() * size_of::<Time>()
    }

    fn left_over(&self, lp: LpId, _at: Time, event: &SupplyEvent, output: &mut Output) {
        output.left_over(self.stage_of(lp), self.stages.len(), *event);
    }

    fn finish(&self, lp: LpId, stock: &Stock, output: &mut Output) {
        output.stocks.push((lp.0, stock.clone()));
    }

    fn admits_state(&self, _lp: LpId, stock: &Stock) -> bool {
        stock.can_be()
    }

    /// Customers come to the first stage, and orders from stages below.
    fn admits_event(&self, lp: LpId, event: &SupplyEvent) -> bool {
        match event {
            SupplyEvent::Demand => self.stage_of(lp) == 0,
            SupplyEvent::Order => self.stage_of(lp) > 0,
            SupplyEvent::Delivery => true,
        }
    }

    fn admits_output(&self, output: &Output) -> bool {
        output.can_be(self.lps(), self.stages.len())
    }
}
