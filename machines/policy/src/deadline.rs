//! Earliest deadline first, alone ([`sedf`]) or under a rule that prefers domains by their messages
//! (`choice`): [`csde`], [`boost`] and [`govindan`].

pub mod boost;
mod choice;
pub mod csde;
pub mod govindan;
pub mod sedf;
