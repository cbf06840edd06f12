//! The yardstick: PHOLD written by hand for one thread and for nothing else.
//!
//! One lookahead-wide bucket of simulated time after the other; within a bucket LP by LP, each LP's events in
//! order of time. No protocol, no checks, no digest, no choice. The random numbers are those of the kernel.

use paceline_kernel::{Rng, Time};
use paceline_models::phold::{Destination, Phold};

/// The probability that a message goes to any LP, not to its sender.
pub const REMOTE: f64 = 0.25;

/// The model that the loop is compared with, with a mean of 1 s besides the lookahead.
pub fn model(lps: u32, messages: u32, lookahead: Time) -> Phold {
    Phold {
        lps,
        messages_per_lp: f64::from(messages),
        lookahead,
        mean: Time::secs(1),
        work_ns: 0,
        destination: Destination::Any { remote: REMOTE },
    }
}

/// 16 bytes a message.
#[derive(Clone, Copy)]
struct Message {
    time: u64,
    to: u32,
}

/// Runs PHOLD with lookahead 1 s and mean 1 s and gives back the number of events before `until_s`.
pub fn run(lps: u32, messages: u32, until_s: u64) -> u64 {
    const WIDTH: u64 = 1_000_000_000;
    let mut rngs: Vec<Rng> = (0..lps).map(|lp| Rng::new(1, u64::from(lp))).collect();
    let mut received = vec![0u64; lps as usize];
    let mut buckets: Vec<Vec<Message>> = (0..64).map(|_| Vec::new()).collect();
    let put = |buckets: &mut Vec<Vec<Message>>, message: Message| {
        // Delays beyond 62 s are cut; their probability is e^-61.
        buckets[(message.time / WIDTH % 64) as usize].push(message);
    };
    for lp in 0..lps {
        for _ in 0..messages {
            let delay = WIDTH + rngs[lp as usize].exponential(1e9).min(61e9) as u64;
            put(&mut buckets, Message { time: delay, to: lp });
        }
    }
    let mut events = 0;
    let (mut starts, mut sorted) = (vec![0u32; lps as usize + 1], Vec::new());
    for window in 0..until_s {
        let slot = (window % 64) as usize;
        let bucket = std::mem::take(&mut buckets[slot]);
        starts.fill(0);
        for message in &bucket {
            starts[message.to as usize + 1] += 1;
        }
        for lp in 0..lps as usize {
            starts[lp + 1] += starts[lp];
        }
        sorted.clear();
        sorted.resize(bucket.len(), 0u64);
        for message in &bucket {
            let place = &mut starts[message.to as usize];
            sorted[*place as usize] = message.time;
            *place += 1;
        }
        let mut first = 0;
        for lp in 0..lps {
            let rng = &mut rngs[lp as usize];
            let last = starts[lp as usize] as usize;
            let due = &mut sorted[first..last];
            due.sort_unstable();
            for &now in due.iter() {
                received[lp as usize] += 1;
                let to = if rng.chance(REMOTE) { rng.below(u64::from(lps)) as u32 } else { lp };
                let delay = WIDTH + rng.exponential(1e9).min(61e9) as u64;
                put(&mut buckets, Message { time: now + delay, to });
            }
            first = last;
        }
        events += bucket.len() as u64;
        let mut memory = bucket;
        memory.clear();
        memory.append(&mut buckets[slot]);
        buckets[slot] = memory;
    }
    std::hint::black_box(received);
    events
}
