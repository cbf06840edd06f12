//! Containers: an amount that processes put in and take out.

use paceline_kernel::Time;

use super::Measured;
use super::error::WaitError;
use super::wait::{Claimed, Order, Wait, nothing};
use crate::Process;
use crate::core::{Outcome, ResourceId, Want};

/// An amount of something that is alike, such as fuel in a tank.
///
/// Who cannot take yet holds up those that come later and need less, and so do those that put.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Process, Simulation};
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let tank = simulation.container(HostId(0), 50.0, 10.0);
/// simulation.spawn("car", HostId(0), async move |cx: Process<()>| {
///     tank.get(&cx, 40.0).await.unwrap();
///     assert_eq!(cx.now(), Time::secs(60));
/// });
/// simulation.spawn("truck", HostId(0), async move |cx: Process<()>| {
///     cx.hold(Time::secs(60)).await.unwrap();
///     tank.put(&cx, 40.0).await.unwrap();
/// });
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container(pub(super) ResourceId);

impl Container {
    /// Waits until there is room for `amount`, and puts it in.
    pub fn put<P: Send + 'static>(&self, cx: &Process<P>, amount: f64) -> Wait<P, ()> {
        Wait::new(cx.id(), Order::Claim(self.0, Want::Fill(checked(amount))), nothing)
    }

    /// Waits until `amount` is there, and takes it out.
    pub fn get<P: Send + 'static>(&self, cx: &Process<P>, amount: f64) -> Wait<P, ()> {
        Wait::new(cx.id(), Order::Claim(self.0, Want::Draw(checked(amount))), drawn)
    }

    /// Takes `amount` out if it is there now and nobody waits for more; says whether.
    pub async fn try_get<P: Send + 'static>(&self, cx: &Process<P>, amount: f64) -> bool {
        self.get(cx, amount).within(Time::ZERO).await.is_ok()
    }
}

impl Measured for Container {
    fn id(&self) -> ResourceId {
        self.0
    }
}

fn checked(amount: f64) -> f64 {
    assert!(amount.is_finite() && amount >= 0.0, "an amount of {amount}; allowed: a finite number from 0");
    amount
}

fn drawn(_: Claimed, outcome: Outcome) -> Result<(), WaitError> {
    match outcome {
        Outcome::Drawn(..) => Ok(()),
        _ => unreachable!("who takes an amount out is answered with it"),
    }
}
