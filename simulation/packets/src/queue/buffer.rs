//! A buffer that the queues of a switch share by dynamic thresholds (Choudhury and Hahne, 1998).
//!
//! A queue may hold up to `alpha` times what is free of the buffer. With `n` queues that want more than they
//! get, each holds alpha * B / (1 + n * alpha), and B / (1 + n * alpha) stays free for queues that begin.

use serde::{Deserialize, Serialize};

use super::QueueError;

/// The factor alpha of dynamic thresholds, as a fraction: switches have powers of two from 1/128 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Alpha {
    /// The numerator of the factor.
    pub over: u32,
    /// The denominator of the factor, not 0.
    pub under: u32,
}

/// A buffer with the bytes of each queue in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SharedBuffer {
    size: u64,
    alpha: Alpha,
    used: u64,
    queues: Vec<u64>,
}

impl SharedBuffer {
    /// An empty buffer of `size` bytes for `queues` queues; a switch has one for each port and class.
    ///
    /// # Errors A parameter is zero.
    pub fn new(size: u64, alpha: Alpha, queues: usize) -> Result<Self, QueueError> {
        if size == 0 || alpha.over == 0 || alpha.under == 0 || queues == 0 {
            return Err(QueueError {
                what: format!(
                    "a shared buffer of {size} bytes for {queues} queues with alpha {}/{}",
                    alpha.over, alpha.under
                ),
                allowed: "numbers above 0",
            });
        }
        Ok(Self { size, alpha, used: 0, queues: vec![0; queues] })
    }

    /// Takes in a packet of `bytes` for a queue, unless the queue has reached its threshold or the packet has
    /// no room: then nothing changes, and the packet is to be dropped. Panics where there is no such queue.
    pub fn admit(&mut self, queue: usize, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        let free = self.size - self.used;
        let held = self.queues[queue];
        let is_below =
            u128::from(held) * u128::from(self.alpha.under) < u128::from(free) * u128::from(self.alpha.over);
        if !is_below || bytes > free {
            return false;
        }
        self.queues[queue] += bytes;
        self.used += bytes;
        true
    }

    /// Gives back what a packet took that has left its queue, sent or lost. Panics where the queue holds
    /// less.
    pub fn release(&mut self, queue: usize, bytes: u32) {
        let bytes = u64::from(bytes);
        let held = &mut self.queues[queue];
        *held = held.checked_sub(bytes).expect("a queue gives back what it took");
        self.used -= bytes;
    }

    /// The bytes that a queue may hold at the moment, rounded down.
    pub const fn threshold(&self) -> u64 {
        let free = (self.size - self.used) as u128;
        (free * self.alpha.over as u128 / self.alpha.under as u128) as u64
    }

    /// Whether it is as large as `fresh` and shared in the same way, and holds these bytes by queue.
    pub(crate) fn holds(&self, fresh: &Self, bytes: &[u64]) -> bool {
        (self.size, self.alpha, bytes) == (fresh.size, fresh.alpha, &self.queues[..])
            && self.used == bytes.iter().sum::<u64>()
            && self.used <= self.size
    }

    /// The bytes in the buffer.
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The bytes of a queue.
    pub fn held(&self, queue: usize) -> u64 {
        self.queues[queue]
    }
}
