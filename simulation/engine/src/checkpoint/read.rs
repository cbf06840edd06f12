//! Reading a checkpoint: what is wrong with the file is found before anything of it is used.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use paceline_kernel::{Change, Model, Origin, World};
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use super::{CHECKSUM_BYTES, CheckpointError, MAGIC, OPENING_BYTES, VERSION};

/// A checkpoint that is complete and undamaged.
#[derive(Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    content: Vec<u8>,
    header_bytes: usize,
}

struct Body<'a> {
    origin: Origin,
    /// What is kept of outside federates.
    outside: Vec<Vec<u8>>,
    changes: Vec<Change>,
    /// The world, not read yet.
    world: &'a [u8],
}

impl CheckpointFile {
    /// Reads a file and checks that it is a whole checkpoint. Errors: it cannot be read, is none, has another
    /// format, or is cut short or damaged.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        let content = fs::read(path)
            .map_err(|reason| CheckpointError::Read { path: path.to_owned(), reason: reason.to_string() })?;
        let (header_bytes, expected) = read_opening(path, &content, content.len() as u64)?;
        let path = path.to_owned();
        if content.len() as u64 > expected {
            return Err(CheckpointError::Damaged { path, what: "bytes stand behind its end" });
        }
        let (opening, rest) = content.split_at(OPENING_BYTES);
        let (inner, checksum) = rest.split_at(rest.len() - CHECKSUM_BYTES);
        let mut hasher = Xxh3::new();
        // In this order: whoever writes knows the opening last.
        hasher.update(inner);
        hasher.update(opening);
        if u64::from_le_bytes(piece(checksum, 0)) != hasher.digest() {
            return Err(CheckpointError::Damaged { path, what: "its checksum does not match" });
        }
        Ok(Self { path, content, header_bytes: header_bytes as usize })
    }

    /// What the caller put in front of the checkpoint at `path`. Whether the rest is undamaged is not looked
    /// at. Errors: the file cannot be read, is no checkpoint, has another format, or is too short.
    pub fn header_of(path: &Path) -> Result<Vec<u8>, CheckpointError> {
        let failed =
            |reason: io::Error| CheckpointError::Read { path: path.to_owned(), reason: reason.to_string() };
        let mut opening = Vec::with_capacity(OPENING_BYTES);
        let mut file = File::open(path).map_err(failed)?;
        file.by_ref().take(OPENING_BYTES as u64).read_to_end(&mut opening).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        let (header_bytes, _) = read_opening(path, &opening, found)?;
        let mut header = Vec::new();
        file.take(header_bytes).read_to_end(&mut header).map_err(failed)?;
        Ok(header)
    }

    /// The checksum at the end of the file (XXH3, 64 bits), which was compared when it was opened: it names
    /// what the file holds.
    pub fn checksum(&self) -> u64 {
        u64::from_le_bytes(piece(&self.content, self.content.len() - CHECKSUM_BYTES))
    }

    /// Whether the content of a file begins as that of a checkpoint, whether or not it is a whole one.
    pub fn is_begun_by(content: &[u8]) -> bool {
        content.starts_with(MAGIC)
    }

    /// Where it was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the caller put in front.
    pub fn header(&self) -> &[u8] {
        &self.content[OPENING_BYTES..OPENING_BYTES + self.header_bytes]
    }

    /// What outside federates have had kept of them
    /// ([`OutsideFederate::save`](crate::OutsideFederate::save)), in the order of their numbers. Errors: the
    /// file does not hold what a checkpoint holds.
    pub fn outside(&self) -> Result<Vec<Vec<u8>>, CheckpointError> {
        self.body().map(|body| body.outside)
    }

    fn body(&self) -> Result<Body<'_>, CheckpointError> {
        let fault = |what: postcard::Error| CheckpointError::Model {
            path: self.path.clone(),
            what: what.to_string(),
        };
        let body = &self.content[OPENING_BYTES + self.header_bytes..self.content.len() - CHECKSUM_BYTES];
        let (origin, body) = postcard::take_from_bytes(body).map_err(fault)?;
        let (outside, body) = postcard::take_from_bytes(body).map_err(fault)?;
        let (changes, world) = postcard::take_from_bytes(body).map_err(fault)?;
        Ok(Body { origin, outside, changes, world })
    }

    /// The run, which must be one of `model`: of the same type, with the same number of LPs, lookahead and
    /// parameters ([`Model::parameters`]), whose LPs start in the same way and do the same in the first
    /// events. Where it is not, the error says what differs, as it does where the file holds what no run of
    /// the model can come to ([`World::refused_by`]). The seed is that of the checkpoint; a run with another
    /// one cannot resume it ([`Simulation::resume`](crate::Simulation::resume)).
    pub fn world<M: Model>(&self, model: &M) -> Result<World<M>, CheckpointError>
    where
        M::State: DeserializeOwned,
        M::Event: DeserializeOwned,
        M::Output: DeserializeOwned,
    {
        let fault = |what: String| CheckpointError::Model { path: self.path.clone(), what };
        let Body { origin, changes, world: body, .. } = self.body()?;
        // First: the states of another model could perhaps not even be read.
        if let Some(difference) = origin.unlike(model) {
            return Err(fault(difference));
        }
        let (world, rest): (World<M>, &[u8]) =
            postcard::take_from_bytes(body).map_err(|error| fault(error.to_string()))?;
        if !rest.is_empty() {
            return Err(fault(format!("{} bytes are left over", rest.len())));
        }
        if world.lps() != model.lps() {
            return Err(fault(format!("it holds {} LPs, the model has {}", world.lps(), model.lps())));
        }
        if !world.is_sound() {
            return Err(fault("it holds events for LPs that are not there, or counts beyond any run".into()));
        }
        if let Some(what) = world.refused_by(model) {
            return Err(fault(what));
        }
        Ok(world.with_origin(origin).with_changes(changes))
    }
}

/// Reads the opening of the checkpoint at `path`, which is `found` bytes long: the length of its header and
/// that of the whole file, which has at least that.
fn read_opening(path: &Path, content: &[u8], found: u64) -> Result<(u64, u64), CheckpointError> {
    let path = || path.to_owned();
    let begun = content.len().min(MAGIC.len());
    if content[..begun] != MAGIC[..begun] {
        return Err(CheckpointError::Foreign { path: path() });
    }
    if content.len() < OPENING_BYTES {
        let expected = (OPENING_BYTES + CHECKSUM_BYTES) as u64;
        return Err(CheckpointError::Truncated { path: path(), found, expected });
    }
    let version = u32::from_le_bytes(piece(content, 8));
    if version != VERSION {
        return Err(CheckpointError::Version { path: path(), found: version });
    }
    let lengths: [u64; 2] = [12, 20].map(|place| u64::from_le_bytes(piece(content, place)));
    let expected = lengths.into_iter().fold((OPENING_BYTES + CHECKSUM_BYTES) as u64, u64::saturating_add);
    if found < expected {
        return Err(CheckpointError::Truncated { path: path(), found, expected });
    }
    Ok((lengths[0], expected))
}

/// The `N` bytes from `place` on, which are there.
fn piece<const N: usize>(bytes: &[u8], place: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[place + index])
}
