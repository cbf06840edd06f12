//! Video on demand: segments of a fixed length at one of several bitrates, a buffer, and a choice of the
//! next bitrate by what was measured.
//!
//! The choice is the rate-based one (Yin et al., 2015): the greatest bitrate that is not above the harmonic
//! mean of the throughputs of the last five segments; the first segment has the least.
//!
//! Invariants: all is integers. What is in the buffer is known at the moments when a segment comes: between
//! these it only plays.

use serde::{Deserialize, Serialize};

/// How many segments the throughput is measured over.
const MEASURED: usize = 5;
/// Picoseconds a bit have so many binary places.
const PLACES: u32 = 10;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// What a client of a video asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// How long a segment plays, in picoseconds.
    pub segment_ps: u64,
    /// The bitrates, in bits a second, ascending.
    pub ladder: Box<[u64]>,
    /// The next segment is asked for when the buffer has room for it: how much there is, in picoseconds.
    pub buffer_ps: u64,
    /// What is to be in the buffer before the video plays, at first and after it has stalled (ps).
    pub startup_ps: u64,
    /// How many segments there are; without a number, up to the end of the run.
    pub segments: Option<u64>,
}

impl Video {
    /// The bytes of a segment at the bitrate at `level`.
    pub(crate) fn bytes(&self, level: usize) -> u64 {
        let bits = u128::from(self.ladder[level]) * u128::from(self.segment_ps) / PS_PER_SECOND;
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX).max(1)
    }
}

/// How a video has played so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Playback {
    /// The level of the segment that was asked for last.
    level: u32,
    /// The picoseconds a bit of the last segments, with binary places.
    pace: Vec<u64>,
    /// What was in the buffer at `seen_ps`, in picoseconds of video.
    buffered_ps: u64,
    seen_ps: u64,
    is_playing: bool,
    /// Segments that have come.
    pub segments: u64,
    /// The sum of their bitrates.
    pub bitrate_sum: u128,
    /// How often the bitrate changed from one segment to the next.
    pub switches: u64,
    /// How often the buffer ran empty, and for how long in all (ps), up to the last segment that has come.
    pub stalls: u64,
    /// The sum of the lengths of stalls.
    pub stalled_ps: u64,
    /// When the video began to play, in picoseconds.
    pub started_ps: Option<u64>,
}

impl Playback {
    /// The bytes of the next segment, at a bitrate by what was measured.
    pub(crate) fn choose(&mut self, video: &Video) -> u64 {
        let sum: u128 = self.pace.iter().map(|pace| u128::from(*pace)).sum();
        // bitrate <= count / sum of seconds a bit, without a division.
        let seconds = (self.pace.len() as u128 * PS_PER_SECOND) << PLACES;
        let fits = |bitrate: &u64| !self.pace.is_empty() && u128::from(*bitrate) * sum <= seconds;
        let level = video.ladder.partition_point(fits).saturating_sub(1) as u32;
        self.switches += u64::from(self.segments > 0 && level != self.level);
        self.level = level;
        video.bytes(level as usize)
    }

    /// The segment that was asked for at `asked_ps` has come.
    pub(crate) fn take(&mut self, video: &Video, asked_ps: u64, now_ps: u64) {
        let level = self.level as usize;
        let bits = u128::from(video.bytes(level)) * 8;
        let pace = (u128::from(now_ps.saturating_sub(asked_ps)) << PLACES) / bits;
        if self.pace.len() >= MEASURED {
            self.pace.remove(0);
        }
        self.pace.push(u64::try_from(pace).unwrap_or(u64::MAX));
        let (left_ps, stalled_ps) = self.at(now_ps);
        if let Some(stalled_ps) = stalled_ps {
            self.stalls += 1;
            self.stalled_ps += stalled_ps;
            self.is_playing = false;
        } else if !self.is_playing && self.started_ps.is_some() {
            // Still stalled: it waits for more than one segment.
            self.stalled_ps += now_ps.saturating_sub(self.seen_ps);
        }
        self.buffered_ps = left_ps.saturating_add(video.segment_ps);
        self.seen_ps = now_ps;
        self.segments += 1;
        self.bitrate_sum += u128::from(video.ladder[level]);
        if !self.is_playing && (self.buffered_ps >= video.startup_ps || self.is_over(video)) {
            self.is_playing = true;
            self.started_ps.get_or_insert(now_ps);
        }
    }

    /// What is in the buffer at a later moment, and for how long the video has stalled since the last
    /// segment, if it has.
    fn at(&self, now_ps: u64) -> (u64, Option<u64>) {
        let passed_ps = if self.is_playing { now_ps.saturating_sub(self.seen_ps) } else { 0 };
        match passed_ps.checked_sub(self.buffered_ps) {
            None | Some(0) => (self.buffered_ps - passed_ps, None),
            Some(stalled_ps) => (0, Some(stalled_ps)),
        }
    }

    /// When the next segment is to be asked for: when there is room, or at once (0). Nothing when all have
    /// come.
    pub(crate) fn next_ps(&self, video: &Video) -> Option<u64> {
        if self.is_over(video) {
            return None;
        }
        let over_ps = self.buffered_ps.saturating_add(video.segment_ps).saturating_sub(video.buffer_ps);
        // A buffer that is too full while it does not play holds less than what it waits for, which is
        // refused.
        Some(if over_ps == 0 { 0 } else { self.seen_ps.saturating_add(over_ps) })
    }

    fn is_over(&self, video: &Video) -> bool {
        video.segments.is_some_and(|segments| self.segments >= segments)
    }

    /// Stalls up to the end of a run, and their length in all (ps): with one that has not ended.
    pub(crate) fn stalls_until(&self, video: &Video, end_ps: u64) -> (u64, u64) {
        if self.is_over(video) {
            return (self.stalls, self.stalled_ps);
        }
        if !self.is_playing && self.started_ps.is_some() {
            return (self.stalls, self.stalled_ps + end_ps.saturating_sub(self.seen_ps));
        }
        let stalled_ps = self.at(end_ps).1;
        (self.stalls + u64::from(stalled_ps.is_some()), self.stalled_ps + stalled_ps.unwrap_or(0))
    }

    /// Whether it is one that this video can have.
    pub(crate) fn fits(&self, video: &Video) -> bool {
        (self.level as usize) < video.ladder.len() && self.pace.len() <= MEASURED
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const SECOND: u64 = 1_000_000_000_000;

    fn video() -> Video {
        Video {
            segment_ps: 2 * SECOND,
            ladder: [1_000_000, 2_000_000, 4_000_000].into(),
            buffer_ps: 6 * SECOND,
            startup_ps: 2 * SECOND,
            segments: Some(10),
        }
    }

    /// Segments at 2 Mb/s that take a second to come: 4 Mbit a second were measured.
    #[test]
    fn the_bitrate_is_the_greatest_below_the_harmonic_mean() {
        let (video, mut playback) = (video(), Playback::default());
        assert_eq!(playback.choose(&video), 250_000, "the least at first");
        playback.take(&video, 0, SECOND / 2);
        assert_eq!(playback.choose(&video), 1_000_000, "2 Mbit in half a second are 4 Mb/s");
        playback.take(&video, SECOND / 2, 2 * SECOND / 2 + 8 * SECOND / 2);
        // 8 Mbit in 4.5 s: (1/4 + 4.5/8) / 2 s a Mbit, 2.46 Mb/s.
        assert_eq!(playback.choose(&video), 500_000);
        assert_eq!(playback.switches, 2);
    }

    /// It plays from 1 s on with 2 s in the buffer. The next segment at 4 s: a stall from 3 s to 4 s.
    #[test]
    fn an_empty_buffer_stalls_until_the_next_segment() {
        let (video, mut playback) = (video(), Playback::default());
        playback.choose(&video);
        playback.take(&video, 0, SECOND);
        assert_eq!((playback.started_ps, playback.next_ps(&video)), (Some(SECOND), Some(0)));
        assert_eq!(playback.stalls_until(&video, 3 * SECOND), (0, 0));
        assert_eq!(playback.stalls_until(&video, 5 * SECOND), (1, 2 * SECOND), "one that does not end");
        playback.take(&video, SECOND, 4 * SECOND);
        assert_eq!((playback.stalls, playback.stalled_ps), (1, SECOND));
        // Three more at once: 2 s each, from 4 s on; with 8 s the buffer has room for one more at 8 s.
        (0..3).for_each(|_| playback.take(&video, 4 * SECOND, 4 * SECOND));
        assert_eq!(playback.next_ps(&video), Some(8 * SECOND));
        assert_eq!(playback.stalls, 1);
    }
}
