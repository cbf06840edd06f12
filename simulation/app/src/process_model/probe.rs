//! Compares the rounds of two runs while they go on, one beside the other.
//!
//! One says what each of its rounds was, the other compares it with its own. Invariants: the one that says is
//! at most [`AHEAD`] rounds ahead; once they differ, or as many rounds as wanted are compared, both end.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use paceline_kernel::{Digest, Time};
use paceline_processes::{Control, ProcessId, RoundRecord};

/// Rounds by which one run may be ahead of the other.
const AHEAD: usize = 256;
/// The most processes of a round that are named.
const NAMED: usize = 4;

/// A round, as it is compared.
#[derive(Clone, Debug, PartialEq)]
struct Round {
    time: Time,
    processes: Vec<ProcessId>,
    digest: Digest,
}

/// What one of two runs does with its rounds.
#[derive(Clone, Debug)]
pub struct Probe(Arc<Mutex<Side>>);

#[derive(Debug)]
enum Side {
    Says(SyncSender<Round>),
    Compares { rounds: Receiver<Round>, most: u64, compared: Compared },
}

/// What comparing has come to.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// How many rounds were compared and alike.
    pub rounds: u64,
    /// The time of the last of these.
    pub last: Time,
    /// The first difference, in words.
    pub difference: Option<String>,
    /// Whether as many rounds as wanted were compared.
    pub is_cut: bool,
}

impl Probe {
    /// For each of two runs, of which at most so many rounds are compared: the one that says, and the one
    /// that compares.
    pub fn pair(most: u64) -> [Self; 2] {
        let (says, rounds) = sync_channel(AHEAD);
        let compares = Side::Compares { rounds, most, compared: Compared::default() };
        [Side::Says(says), compares].map(|side| Self(Arc::new(Mutex::new(side))))
    }

    /// What is done with each round of the run that has this control.
    pub fn observer(&self, control: &Control) -> impl FnMut(&RoundRecord<'_>) + Send + 'static {
        let (side, control) = (Arc::clone(&self.0), control.clone());
        move |record| {
            let goes_on = side.lock().unwrap_or_else(PoisonError::into_inner).take_in(record);
            if !goes_on {
                control.stop();
            }
        }
    }

    /// What was found, once both runs have ended: nothing of the one that says.
    pub fn compared(self) -> Option<Compared> {
        let Ok(side) = Arc::try_unwrap(self.0) else { return None };
        match side.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Side::Says(_) => None,
            Side::Compares { rounds, mut compared, .. } => {
                if let Ok(more) = rounds.recv()
                    && compared.difference.is_none()
                    && !compared.is_cut
                {
                    let (number, time) = (compared.rounds + 1, more.time);
                    compared.difference =
                        Some(format!("only the first has round {number}, at {time}; the other had ended"));
                }
                Some(compared)
            }
        }
    }
}

impl Side {
    /// Says or compares a round. Returns whether the run is to go on.
    fn take_in(&mut self, record: &RoundRecord<'_>) -> bool {
        let (time, digest) = (record.time, record.digest());
        let mine = Round { time, processes: record.processes.to_vec(), digest };
        match self {
            // Who compares has ended where it cannot be said.
            Self::Says(rounds) => rounds.send(mine).is_ok(),
            Self::Compares { rounds, most, compared } => {
                if compared.difference.is_some() || compared.is_cut {
                    return false;
                }
                match rounds.recv() {
                    Ok(theirs) if theirs == mine => {
                        compared.rounds += 1;
                        compared.last = time;
                        compared.is_cut = compared.rounds == *most;
                    }
                    theirs => {
                        compared.difference =
                            Some(difference(compared.rounds + 1, &mine, theirs.ok(), record))
                    }
                }
                compared.difference.is_none() && !compared.is_cut
            }
        }
    }
}

fn difference(number: u64, mine: &Round, theirs: Option<Round>, record: &RoundRecord<'_>) -> String {
    let Some(theirs) = theirs else {
        return format!("only the second has round {number}, at {}; the other had ended", mine.time);
    };
    if theirs.time != mine.time {
        return format!("round {number} is at {} in one and at {} in the other", theirs.time, mine.time);
    }
    let named = mine.processes.iter().take(NAMED);
    let mut names: Vec<String> = named.map(|id| format!("{id} `{}`", record.name(*id))).collect();
    if mine.processes.len() > NAMED {
        names.push(format!("and {} more", mine.processes.len() - NAMED));
    }
    let names = names.join(", ");
    let what = if theirs.processes == mine.processes {
        "what was asked for, or recorded, differs"
    } else {
        "other processes resume in the other run"
    };
    format!("round {number}, at {}, of the processes {names}: {what}", mine.time)
}
