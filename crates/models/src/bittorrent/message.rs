//! The messages between the peers of a swarm and its tracker, and their sizes.

/// Bytes of a question to the tracker, as a client's HTTP request has them about.
const QUERY_BYTES: f64 = 100.0;
/// Bytes of a peer in the tracker's answer (BEP 23).
const ADDRESS_BYTES: f64 = 6.0;

/// A message of the swarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The peer that sends it; the number of peers where it is the tracker.
    pub sender: u32,
    /// What it says.
    pub content: Content,
}

/// What a message says (BEP 3). Between peers, but for those that name the tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// To the tracker: who else is there?
    Query,
    /// To the tracker: the sender leaves the swarm.
    Stopped,
    /// From the tracker: peers drawn from those it knows.
    Peers(Box<[u32]>),
    /// Opens a connection, or accepts one.
    Handshake,
    /// Which pieces the sender has.
    Bitfield(Box<[bool]>),
    /// The receiver has a piece that the sender misses.
    Interested,
    /// It has none any more.
    NotInterested,
    /// The sender answers no requests from now on.
    Choke,
    /// The sender answers requests from now on.
    Unchoke,
    /// The sender has one more piece.
    Have {
        /// Which.
        piece: u32,
    },
    /// Asks for blocks.
    Request(Blocks),
    /// The blocks.
    Piece(Blocks),
    /// The sender needs no blocks of this piece any more.
    Cancel {
        /// Which.
        piece: u32,
    },
    /// The connection is closed, as TCP tells the other side.
    Close,
}

/// Blocks of a piece, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The piece.
    pub piece: u32,
    /// The first block.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Content {
    /// Its size, where a block has `block_bytes`; that of messages between peers as measured (Legout et al.,
    /// 2005).
    pub fn bytes(&self, block_bytes: f64) -> f64 {
        match self {
            Self::Query | Self::Stopped => QUERY_BYTES,
            Self::Peers(peers) => peers.len() as f64 * ADDRESS_BYTES,
            Self::Handshake => 68.0,
            Self::Bitfield(pieces) => 5.0 + pieces.len().div_ceil(8) as f64,
            Self::Interested | Self::NotInterested | Self::Choke | Self::Unchoke => 5.0,
            Self::Have { .. } => 9.0,
            Self::Request(_) | Self::Cancel { .. } => 17.0,
            Self::Piece(blocks) => 13.0 + f64::from(blocks.count) * block_bytes,
            Self::Close => 0.0,
        }
    }
}
