//! Stores: items that processes put in and take out.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use paceline_kernel::Time;

use super::Measured;
use super::error::WaitError;
use super::wait::{Claimed, Order, Wait, nothing};
use crate::Process;
use crate::core::{Outcome, ResourceId, Test, Value, Want};

/// An item as the core has it: it is taken out once.
type Item<T> = Mutex<Option<T>>;

/// Items of type `T` that processes put in and take out: SimPy's `Store`, `FilterStore` and `PriorityStore`
/// in one. Items come and go at the same instant, on one host; what takes time to come is a message.
///
/// Items are taken in the order of their priorities and of their coming. Who waits for an item is served in
/// the order of coming; one that no item fits does not hold up those behind it.
///
/// ```
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Process, Simulation, Store};
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let shelf: Store<u32> = simulation.store(HostId(0));
/// simulation.spawn("maker", HostId(0), async move |cx: Process<()>| {
///     for size in [3, 8, 5] {
///         shelf.put(&cx, size).await.unwrap();
///     }
/// });
/// simulation.spawn("taker", HostId(0), async move |cx: Process<()>| {
///     assert_eq!(shelf.get_if(&cx, |size| size % 2 == 0).await, Ok(8));
///     assert_eq!(shelf.get_batch(&cx, 2).await, Ok(vec![3, 5]));
/// });
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub struct Store<T> {
    id: ResourceId,
    items: PhantomData<fn() -> T>,
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Store<T> {}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.id).finish()
    }
}

impl<T: Send + 'static> Store<T> {
    pub(super) fn new(id: ResourceId) -> Self {
        Self { id, items: PhantomData }
    }

    /// Puts an item in, and waits for room if it has a bound.
    pub fn put<P: Send + 'static>(&self, cx: &Process<P>, item: T) -> Wait<P, ()> {
        self.put_with_priority(cx, item, 0)
    }

    /// The same, of an item that is taken out before those of greater priority numbers.
    pub fn put_with_priority<P: Send + 'static>(
        &self,
        cx: &Process<P>,
        item: T,
        priority: i64,
    ) -> Wait<P, ()> {
        let item = Value::new::<Item<T>>(Mutex::new(Some(item)));
        Wait::new(cx.id(), Order::Claim(self.id, Want::Put { item, priority }), nothing)
    }

    /// Waits for an item and takes it out.
    pub fn get<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, T> {
        Wait::new(cx.id(), Order::Claim(self.id, Want::Get { test: None, least: 1, most: 1 }), one)
    }

    /// Waits for an item that passes a test, which must depend on nothing but the item.
    pub fn get_if<P: Send + 'static>(
        &self,
        cx: &Process<P>,
        test: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Wait<P, T> {
        let test = move |value: &Value| {
            let item = value.get::<Item<T>>().expect("a store has items of its type");
            item.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(&test)
        };
        let test = Some(Test(Arc::new(test)));
        Wait::new(cx.id(), Order::Claim(self.id, Want::Get { test, least: 1, most: 1 }), one)
    }

    /// Waits until there are this many items, and takes them out at once.
    pub fn get_batch<P: Send + 'static>(&self, cx: &Process<P>, items: u32) -> Wait<P, Vec<T>> {
        self.get_some(cx, items, items)
    }

    /// Waits until there are `least` items, and takes them and as many more as there are out, up to `most`.
    pub fn get_some<P: Send + 'static>(&self, cx: &Process<P>, least: u32, most: u32) -> Wait<P, Vec<T>> {
        let want = Want::Get { test: None, least, most: most.max(least) };
        Wait::new(cx.id(), Order::Claim(self.id, want), several)
    }

    /// Takes an item out if one is there now.
    pub async fn try_get<P: Send + 'static>(&self, cx: &Process<P>) -> Option<T> {
        self.get(cx).within(Time::ZERO).await.ok()
    }
}

impl<T: Send + 'static> Measured for Store<T> {
    fn id(&self) -> ResourceId {
        self.id
    }
}

fn take<T: Send + 'static>(value: &Value) -> T {
    let item = value.get::<Item<T>>().expect("a store has items of its type");
    item.lock().unwrap_or_else(PoisonError::into_inner).take().expect("an item is taken out once")
}

fn one<T: Send + 'static>(_: Claimed, outcome: Outcome) -> Result<T, WaitError> {
    match outcome {
        Outcome::Item(_, value) => Ok(take(&value)),
        _ => unreachable!("who takes an item is answered with it"),
    }
}

fn several<T: Send + 'static>(_: Claimed, outcome: Outcome) -> Result<Vec<T>, WaitError> {
    match outcome {
        Outcome::Item(_, value) => Ok(vec![take(&value)]),
        Outcome::Items(_, values) => Ok(values.iter().map(take).collect()),
        _ => unreachable!("who takes items is answered with them"),
    }
}
