//! The messages between the peers of a swarm and its tracker, and their sizes.

/// Bytes of a query to the tracker: about the size of a client's HTTP request.
const QUERY_BYTES: f64 = 100.0;
/// Bytes of a peer in the tracker's answer (BEP 23).
const ADDRESS_BYTES: f64 = 6.0;

/// A message of the swarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sending peer; the number of peers stands for the tracker.
    pub sender: u32,
    /// What it says.
    pub content: Content,
}

/// The content of a message (BEP 3). All messages are between peers, except those that name the tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Content {
    /// To the tracker: asks for other peers.
    Query,
    /// To the tracker: the sender leaves the swarm.
    Stopped,
    /// From the tracker: peers drawn from those that it knows.
    Peers(Box<[u32]>),
    /// Opens a connection, or accepts one.
    Handshake,
    /// Which pieces the sender has.
    Bitfield(Box<[bool]>),
    /// The receiver has a piece that the sender needs.
    Interested,
    /// The receiver has no piece any more that the sender needs.
    NotInterested,
    /// The sender answers no requests from now on.
    Choke,
    /// The sender answers requests from now on.
    Unchoke,
    /// The sender has one more piece.
    Have { piece: u32 },
    /// A request for blocks.
    Request(Blocks),
    /// The content of the blocks that were requested.
    Piece(Blocks),
    /// The sender needs no blocks of this piece any more.
    Cancel { piece: u32 },
    /// The connection is closed, of which TCP informs the other side.
    Close,
}

/// A run of consecutive blocks of one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The number of the piece.
    pub piece: u32,
    /// The first block.
    pub first: u32,
    /// The number of blocks, at least one.
    pub count: u32,
}

impl Content {
    /// Its size, if a block has `block_bytes` bytes. Sizes of messages between peers are as measured by
    /// Legout et al. (2005).
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
