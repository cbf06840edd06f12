//! The claims that are open, and the lines in which they stand.
//!
//! Claims are kept in one list with free places, and are linked twice: to the other claims of their process,
//! and within the line of a resource. So a claim is added to a line, or taken out of its midst, in the same
//! short time however long the line is.
//!
//! Invariants: a claim stands in at most one line; within a line lesser priority numbers come first, and
//! among equals who came first, but for those that were put at the front; a line has no priority without
//! claims.

use paceline_kernel::Time;

use super::super::ids::ProcessId;
use super::super::numbered::Numbered;
use super::super::wants::Want;

/// No claim.
pub(super) const NONE: u32 = u32::MAX;

/// What a claim does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits in a line.
    Waits,
    /// It holds units until they are released.
    Holds,
    /// It holds units until its service is over.
    Serves,
    /// It waits for a time alone.
    Times,
}

/// A claim of a process.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) process: ProcessId,
    /// Its number among the claims of the process.
    pub(super) number: u32,
    /// The place of the resource; [`NONE`] for a time alone.
    pub(super) resource: u32,
    pub(super) stage: Stage,
    /// Since when it does that.
    pub(super) since: Time,
    /// When it ends by itself: by its time limit, or as the service is over.
    pub(super) due: Time,
    /// The part of a tick by which that is later or earlier.
    pub(super) rest: f64,
    /// What is left of the service while it waits.
    pub(super) left: Time,
    /// How long it waited before it first held units; [`Time::MAX`] until then.
    pub(super) waited: Time,
    /// How long it held units until it was last preempted.
    pub(super) held: Time,
    pub(super) preemptions: u32,
    pub(super) want: Want,
    /// The claim of the same process that was made before.
    sibling: u32,
    level: i64,
    before: u32,
    after: u32,
}

impl Claim {
    #[inline]
    pub(super) fn new(process: ProcessId, number: u32, resource: u32, want: Want, now: Time) -> Self {
        Self {
            process,
            number,
            resource,
            stage: Stage::Waits,
            since: now,
            due: Time::MAX,
            rest: 0.0,
            left: Time::ZERO,
            waited: Time::MAX,
            held: Time::ZERO,
            preemptions: 0,
            want,
            sibling: NONE,
            level: 0,
            before: NONE,
            after: NONE,
        }
    }

    /// What is left of its service while it waits; zero where it wants none.
    pub(super) fn left_of_service(&self) -> Time {
        if self.left == Time::MAX { Time::ZERO } else { self.left }
    }

    /// How many units it is for.
    pub(super) fn amount(&self) -> u32 {
        match &self.want {
            Want::Seize(seizure) => seizure.amount,
            _ => 0,
        }
    }
}

/// All open claims, by their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    there: Vec<Option<Claim>>,
    free: Vec<u32>,
    /// By process: the place of its latest claim.
    heads: Numbered<u32>,
}

const THERE: &str = "a claim that is linked is there";

impl Claims {
    /// Numbers of processes begin at `first`.
    pub(super) fn from(first: u32) -> Self {
        Self { heads: Numbered::from(first), ..Self::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, claim: Claim) -> u32 {
        let process = claim.process;
        let place = match self.free.pop() {
            Some(place) => {
                self.there[place as usize] = Some(claim);
                place
            }
            None => {
                self.there.push(Some(claim));
                self.there.len() as u32 - 1
            }
        };
        match self.heads.get_mut(process.0) {
            Some(head) => {
                let sibling = std::mem::replace(head, place);
                self.at(place).sibling = sibling;
            }
            None => self.heads.put(process.0, place),
        }
        place
    }

    #[inline]
    pub(super) fn at(&mut self, place: u32) -> &mut Claim {
        self.there[place as usize].as_mut().expect(THERE)
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> &Claim {
        self.there[place as usize].as_ref().expect(THERE)
    }

    /// Takes a claim out, which stands in no line: whose it was, and its number.
    pub(super) fn remove(&mut self, place: u32) -> (ProcessId, u32) {
        let there = &mut self.there[place as usize];
        let Claim { process, number, sibling, .. } = *there.as_ref().expect(THERE);
        // Dropped where it stands: it is large, and next to nothing of it is needed.
        *there = None;
        self.free.push(place);
        let head = self.heads.get_mut(process.0).expect(THERE);
        if *head == place {
            *head = sibling;
        } else {
            let mut later = *head;
            while self.get(later).sibling != place {
                later = self.get(later).sibling;
            }
            self.at(later).sibling = sibling;
        }
        (process, number)
    }

    /// The claim of this number.
    pub(super) fn find(&self, process: ProcessId, number: u32) -> Option<u32> {
        self.of(process).find(|place| self.get(*place).number == number)
    }

    /// The claims of a process, the latest first.
    pub(super) fn of(&self, process: ProcessId) -> impl Iterator<Item = u32> {
        let head = self.heads.get(process.0).copied().unwrap_or(NONE);
        let link = |place: u32| (place != NONE).then_some(place);
        std::iter::successors(link(head), move |place| link(self.get(*place).sibling))
    }

    /// The claims for the resource at this place.
    pub(super) fn for_resource(&self, resource: u32) -> Vec<u32> {
        let places = (0..).zip(&self.there);
        let is_for = |claim: &Option<Claim>| claim.as_ref().is_some_and(|claim| claim.resource == resource);
        places.filter(|(_, claim)| is_for(claim)).map(|(place, _)| place).collect()
    }

    /// Forgets a process that has no claims any more.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.heads.take(process.0);
    }
}

/// The claims of one priority that stand in a line: the first and the last.
#[derive(Clone, Copy, Debug)]
struct Level {
    priority: i64,
    first: u32,
    last: u32,
}

/// Claims in the order of their priorities, and of their coming.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// By priority; those that have claims.
    levels: Vec<Level>,
    length: u32,
}

impl Line {
    pub(super) fn len(&self) -> u32 {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where a priority stands, or belongs. Most lines have one or two.
    #[inline]
    fn find(&self, priority: i64) -> Result<usize, usize> {
        match &self.levels[..] {
            [] => Err(0),
            [level, ..] if level.priority == priority => Ok(0),
            levels => levels.binary_search_by_key(&priority, |level| level.priority),
        }
    }

    pub(super) fn push(&mut self, claims: &mut Claims, place: u32, level: i64) {
        let before = match self.find(level) {
            Ok(found) => std::mem::replace(&mut self.levels[found].last, place),
            Err(missing) => {
                self.levels.insert(missing, Level { priority: level, first: place, last: place });
                NONE
            }
        };
        let claim = claims.at(place);
        (claim.level, claim.before, claim.after) = (level, before, NONE);
        if before != NONE {
            claims.at(before).after = place;
        }
        self.length += 1;
    }

    /// Puts a claim before all others of its priority.
    pub(super) fn push_front(&mut self, claims: &mut Claims, place: u32, level: i64) {
        let after = match self.find(level) {
            Ok(found) => std::mem::replace(&mut self.levels[found].first, place),
            Err(missing) => {
                self.levels.insert(missing, Level { priority: level, first: place, last: place });
                NONE
            }
        };
        let claim = claims.at(place);
        (claim.level, claim.before, claim.after) = (level, NONE, after);
        if after != NONE {
            claims.at(after).before = place;
        }
        self.length += 1;
    }

    pub(super) fn remove(&mut self, claims: &mut Claims, place: u32) {
        let claim = claims.at(place);
        let (level, before, after) = (claim.level, claim.before, claim.after);
        let found = self.find(level).expect("the priority of a claim in the line is there");
        match (before, after) {
            (NONE, NONE) => {
                self.levels.remove(found);
            }
            (NONE, _) => self.levels[found].first = after,
            (_, NONE) => self.levels[found].last = before,
            _ => {}
        }
        if before != NONE {
            claims.at(before).after = after;
        }
        if after != NONE {
            claims.at(after).before = before;
        }
        self.length -= 1;
    }

    pub(super) fn first(&self) -> Option<u32> {
        self.levels.first().map(|level| level.first)
    }

    /// The last, and its priority.
    pub(super) fn last(&self) -> Option<(i64, u32)> {
        self.levels.last().map(|level| (level.priority, level.last))
    }

    /// The one that follows a claim of this line.
    pub(super) fn next(&self, claims: &Claims, place: u32) -> Option<u32> {
        let claim = claims.get(place);
        if claim.after != NONE {
            return Some(claim.after);
        }
        let later = self.levels.partition_point(|level| level.priority <= claim.level);
        self.levels.get(later).map(|level| level.first)
    }

    /// The one that a claim of this line follows.
    pub(super) fn previous(&self, claims: &Claims, place: u32) -> Option<u32> {
        let claim = claims.get(place);
        if claim.before != NONE {
            return Some(claim.before);
        }
        let earlier = self.levels.partition_point(|level| level.priority < claim.level);
        self.levels[..earlier].last().map(|level| level.last)
    }

    /// Whether a claim of this priority would be the first.
    pub(super) fn would_be_first(&self, level: i64) -> bool {
        self.levels.first().is_none_or(|first| level < first.priority)
    }

    /// All, the first one first.
    pub(super) fn iter<'c>(&'c self, claims: &'c Claims) -> impl Iterator<Item = u32> + 'c {
        std::iter::successors(self.first(), move |place| self.next(claims, *place))
    }
}
