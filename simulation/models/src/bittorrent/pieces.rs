//! The pieces that a peer has, and which piece it downloads next: the piece selection of BitTorrent (Cohen,
//! 2003, section 2.4; that the first four pieces are drawn at random: Legout et al., 2005).
//!
//! Invariant: the downloads counted for a piece are those that have begun and not ended; completing a piece
//! ends all of them.

use paceline_kernel::Rng;

use super::message::Blocks;

/// A peer with fewer complete pieces than this draws the next piece at random.
pub(super) const RANDOM_FIRST: u32 = 4;
/// Blocks per request.
const BLOCKS_REQUESTED: u32 = 2;

/// The pieces of one peer: which it has, which are being downloaded, and how many of its neighbours have
/// each.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// Blocks of a piece.
    blocks: u32,
    /// Whether this peer has each block, piece after piece.
    there: Vec<bool>,
    /// By piece: blocks that are missing.
    missing: Vec<u32>,
    /// Pieces that are complete.
    owned: u32,
    /// By piece: connected peers that have it.
    copies: Vec<u32>,
    /// By piece: connections from which it is being downloaded.
    downloads: Vec<u32>,
}

impl Pieces {
    /// A file of `pieces` pieces of `blocks` blocks each; this peer has either all of it or nothing.
    pub(super) fn new(pieces: u32, blocks: u32, complete: bool) -> Self {
        let each = pieces as usize;
        Self {
            blocks,
            there: vec![complete; each * blocks as usize],
            missing: vec![if complete { 0 } else { blocks }; each],
            owned: if complete { pieces } else { 0 },
            copies: vec![0; each],
            downloads: vec![0; each],
        }
    }

    /// Whether this peer has the whole piece; false for a piece beyond the end of the file.
    pub(super) fn has(&self, piece: u32) -> bool {
        self.missing.get(piece as usize) == Some(&0)
    }

    /// Whether this peer has the whole file.
    pub(super) fn is_complete(&self) -> bool {
        self.owned as usize == self.missing.len()
    }

    /// Which pieces are complete.
    pub(super) fn bitfield(&self) -> Box<[bool]> {
        self.missing.iter().map(|missing| *missing == 0).collect()
    }

    /// How many of the pieces in `remote` this peer still needs.
    pub(super) fn wanted(&self, remote: &[bool]) -> u32 {
        self.missing.iter().zip(remote).map(|(missing, has)| u32::from(*missing > 0 && *has)).sum()
    }

    /// A peer that has the pieces `remote` has connected.
    pub(super) fn connected(&mut self, remote: &[bool]) {
        self.copies.iter_mut().zip(remote).for_each(|(copies, has)| *copies += u32::from(*has));
    }

    /// A peer that has the pieces `remote` has disconnected.
    pub(super) fn disconnected(&mut self, remote: &[bool]) {
        self.copies.iter_mut().zip(remote).for_each(|(copies, has)| *copies -= u32::from(*has));
    }

    /// A connected peer has completed this piece.
    pub(super) fn copied(&mut self, piece: u32) {
        self.copies[piece as usize] += 1;
    }

    /// A connection has begun to download a piece.
    pub(super) fn begin(&mut self, piece: u32) {
        self.downloads[piece as usize] += 1;
    }

    /// A connection no longer downloads a piece.
    pub(super) fn end(&mut self, piece: u32) {
        self.downloads[piece as usize] -= 1;
    }

    /// Whether any connection is downloading a piece.
    pub(super) fn is_downloaded(&self, piece: u32) -> bool {
        self.downloads[piece as usize] > 0
    }

    /// Adds blocks that have arrived. Returns how many of them were missing.
    pub(super) fn add(&mut self, blocks: Blocks) -> u32 {
        let start = blocks.piece as usize * self.blocks as usize + blocks.first as usize;
        let before = self.missing[blocks.piece as usize];
        for there in &mut self.there[start..start + blocks.count as usize] {
            self.missing[blocks.piece as usize] -= u32::from(!std::mem::replace(there, true));
        }
        let after = self.missing[blocks.piece as usize];
        self.owned += u32::from(before > 0 && after == 0);
        before - after
    }

    /// The blocks of a piece to request next: the first ones that are missing; `None` if the piece is
    /// complete.
    pub(super) fn next_blocks(&self, piece: u32) -> Option<Blocks> {
        let start = piece as usize * self.blocks as usize;
        let there = &self.there[start..start + self.blocks as usize];
        let first = there.iter().position(|there| !there)?;
        let run = there[first..].iter().take(BLOCKS_REQUESTED as usize).take_while(|there| !**there);
        Some(Blocks { piece, first: first as u32, count: run.count() as u32 })
    }

    /// The piece to download next from a peer that has the pieces `remote`. Among pieces that are not being
    /// downloaded it takes, in this order: one that was begun; with fewer than [`RANDOM_FIRST`] complete
    /// pieces, any one; one that the fewest connected peers have. If every missing piece of the file is
    /// being downloaded (the end game), it takes any missing one.
    pub(super) fn pick(&self, remote: &[bool], rng: &mut Rng) -> Option<u32> {
        let wanted = (0..self.missing.len()).filter(|piece| self.missing[*piece] > 0 && remote[*piece]);
        let free = wanted.clone().filter(|piece| self.downloads[*piece] == 0);
        if let Some(begun) = free.clone().find(|piece| self.missing[*piece] < self.blocks) {
            return Some(begun as u32);
        }
        let begun = |(missing, downloads): (&u32, &u32)| *missing == 0 || *downloads > 0;
        if self.missing.iter().zip(&self.downloads).all(begun) {
            return drawn(wanted, rng);
        }
        if self.owned < RANDOM_FIRST {
            return drawn(free, rng);
        }
        let least = free.clone().map(|piece| self.copies[piece]).min()?;
        drawn(free.filter(|piece| self.copies[*piece] == least), rng)
    }
}

/// One of `pieces`, all equally likely.
fn drawn(mut pieces: impl Iterator<Item = usize> + Clone, rng: &mut Rng) -> Option<u32> {
    let place = rng.below(pieces.clone().count() as u64);
    pieces.nth(place as usize).map(|piece| piece as u32)
}

#[cfg(test)]
mod test {
    use super::*;

    /// A peer in the middle of its download, and the pieces of a peer that it is connected to.
    fn drawn_state(seed: u64) -> (Pieces, Vec<bool>, Rng) {
        let mut rng = Rng::new(seed, 1);
        let (count, blocks) = (1 + rng.below(20) as u32, 1 + rng.below(4) as u32);
        let mut pieces = Pieces::new(count, blocks, false);
        for _ in 0..rng.below(6) {
            let remote: Vec<bool> = (0..count).map(|_| rng.chance(0.5)).collect();
            pieces.connected(&remote);
        }
        for piece in 0..count {
            if rng.chance(0.3) {
                pieces.add(Blocks { piece, first: 0, count: blocks });
            } else if rng.chance(0.3) {
                pieces.begin(piece);
            }
            if rng.chance(0.1) {
                pieces.add(Blocks { piece, first: 0, count: 1 });
            }
        }
        let remote = (0..count).map(|_| rng.chance(0.6)).collect();
        (pieces, remote, rng)
    }

    #[test]
    fn the_piece_picked_is_a_rarest_one_unless_another_rule_comes_first() {
        let mut rarest = 0;
        for seed in 0..2000 {
            let (pieces, remote, mut rng) = drawn_state(seed);
            let wanted: Vec<u32> = (0..remote.len() as u32)
                .filter(|piece| !pieces.has(*piece) && remote[*piece as usize])
                .collect();
            let is_free = |piece: &u32| pieces.downloads[*piece as usize] == 0;
            let free: Vec<u32> = wanted.iter().copied().filter(is_free).collect();
            let Some(picked) = pieces.pick(&remote, &mut rng) else {
                assert!(free.is_empty(), "seed {seed}: {free:?} were there");
                continue;
            };
            assert!(wanted.contains(&picked), "seed {seed}: {picked} is none of {wanted:?}");
            let begun = |piece: &u32| pieces.missing[*piece as usize] < pieces.blocks;
            if free.is_empty() {
                let all = (0..remote.len() as u32).filter(|piece| !pieces.has(*piece));
                assert!(all.filter(is_free).count() == 0, "seed {seed}: this is not the end game");
            } else if free.iter().any(begun) {
                assert!(free.contains(&picked) && begun(&picked), "seed {seed}: {picked} was not begun");
            } else {
                assert!(free.contains(&picked), "seed {seed}: {picked} is being downloaded");
                if pieces.owned >= RANDOM_FIRST {
                    let copies = |piece: &u32| pieces.copies[*piece as usize];
                    assert_eq!(Some(copies(&picked)), free.iter().map(copies).min(), "seed {seed}");
                    rarest += 1;
                }
            }
        }
        assert!(rarest > 100, "{rarest} picks were for rarity");
    }

    #[test]
    fn the_first_pieces_are_drawn_from_all() {
        let mut pieces = Pieces::new(10, 1, false);
        // Piece 0 is the rarest, but the first pieces are drawn from all pieces.
        pieces.connected(&[true; 10]);
        (1..10).for_each(|piece| pieces.copied(piece));
        let mut rng = Rng::new(3, 3);
        let mut picks: Vec<u32> = (0..200).filter_map(|_| pieces.pick(&[true; 10], &mut rng)).collect();
        picks.sort_unstable();
        picks.dedup();
        assert_eq!(picks, (0..10).collect::<Vec<u32>>());
    }

    #[test]
    fn blocks_are_asked_for_until_a_piece_is_complete_and_counted_once() {
        let mut pieces = Pieces::new(2, 5, false);
        let blocks = |first, count| Blocks { piece: 1, first, count };
        assert_eq!((pieces.next_blocks(1), pieces.add(blocks(1, 2))), (Some(blocks(0, 2)), 2));
        assert_eq!((pieces.next_blocks(1), pieces.add(blocks(0, 2))), (Some(blocks(0, 1)), 1));
        assert_eq!((pieces.next_blocks(1), pieces.add(blocks(3, 2))), (Some(blocks(3, 2)), 2));
        assert_eq!((pieces.next_blocks(1), pieces.add(blocks(0, 5))), (None, 0));
        assert!(pieces.has(1) && !pieces.has(0) && !pieces.has(2) && !pieces.is_complete());
        assert_eq!((pieces.owned, &*pieces.bitfield()), (1, &[false, true][..]));
    }
}
