//! The secret that the processes of a run share, and by which they recognize each other.
//!
//! Invariants: the secret is never shown, sent or compared in variable time; only an HMAC (RFC 2104, with
//! SHA-256) over data from both sides is sent. A secret is not read from a file that other users can read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

/// Bytes of an HMAC.
pub(crate) const TAG_BYTES: usize = 32;

/// The fewest bytes of a secret.
const LEAST: usize = 16;

/// The most bytes of a secret.
const MOST: usize = 4 << 10;

/// Why a secret is not available.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum SecretError {
    /// The file cannot be read or created.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Other users can open the file.
    #[error("{}: mode {mode:03o} lets others read the secret; `chmod 600` takes that away", path.display())]
    NotPrivate { path: PathBuf, mode: u32 },
    /// The file belongs to another user.
    #[error("{}: belongs to another user", path.display())]
    NotOurs { path: PathBuf },
    /// It is too short to be safe, or implausibly long.
    #[error("a secret has from {LEAST} to {MOST} bytes, not {0}")]
    Length(usize),
    /// The system has no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

/// A secret known only to the processes of a run.
///
/// ```
/// use paceline_transport::Secret;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("secret");
/// Secret::generate(&path)?; // once; then the file goes to the other hosts
/// let secret = Secret::from_file(&path)?;
/// assert_eq!(format!("{secret:?}"), "Secret");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// The secret with these bytes, from 16 to 4096 of them.
    pub fn new(bytes: &[u8]) -> Result<Self, SecretError> {
        if !(LEAST..=MOST).contains(&bytes.len()) {
            return Err(SecretError::Length(bytes.len()));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// The secret in a file that belongs to this user (or root) and that no other user may read. White space
    /// around it is ignored.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SecretError> {
        let path = path.as_ref();
        let io = |source| SecretError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.mode() & 0o077 != 0 {
            return Err(SecretError::NotPrivate { path: path.to_owned(), mode: metadata.mode() & 0o777 });
        }
        if metadata.uid() != 0 && metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(SecretError::NotOurs { path: path.to_owned() });
        }
        let mut bytes = Vec::new();
        file.take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
        Self::new(bytes.trim_ascii())
    }

    /// Creates a file with a random secret that only this user can read. The file must not exist yet.
    pub fn generate(path: impl AsRef<Path>) -> Result<Self, SecretError> {
        let path = path.as_ref();
        let io = |source| SecretError::Io { path: path.to_owned(), source };
        let text: String = random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(io)?;
        writeln!(file, "{text}").map_err(io)?;
        Self::new(text.as_bytes())
    }

    /// The proof that a process acting as `role` knows the secret, valid for `binding` only.
    pub(crate) fn prove(&self, role: &str, binding: &[u8]) -> [u8; TAG_BYTES] {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(role.as_bytes());
        context.update(&[0]);
        context.update(binding);
        context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Whether `tag` is the proof for this role and binding; takes constant time.
    pub(crate) fn is_proof(&self, role: &str, binding: &[u8], tag: &[u8]) -> bool {
        let message = [role.as_bytes(), &[0], binding].concat();
        hmac::verify(&self.0, &message, tag).is_ok()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Random bytes from the system.
pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES], SecretError> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SecretError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod test {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    use super::{Secret, SecretError};

    #[test]
    fn a_file_that_others_may_read_holds_no_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        Secret::generate(&path).expect("a new file");
        assert!(matches!(Secret::generate(&path), Err(SecretError::Io { .. })), "it is not overwritten");
        Secret::from_file(&path).expect("as it was made");
        for mode in [0o640, 0o604, 0o622] {
            set_permissions(&path, Permissions::from_mode(mode)).expect("the file is ours");
            let refused = Secret::from_file(&path).expect_err("others can open it");
            assert!(
                matches!(refused, SecretError::NotPrivate { mode: found, .. } if found == mode),
                "{refused}"
            );
        }
    }

    #[test]
    fn short_and_missing_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        assert!(matches!(Secret::from_file(&path), Err(SecretError::Io { .. })));
        write(&path, "  fifteen bytes..\n\n").expect("there is room");
        set_permissions(&path, Permissions::from_mode(0o600)).expect("the file is ours");
        assert!(matches!(Secret::from_file(&path), Err(SecretError::Length(15))));
    }

    #[test]
    fn a_proof_holds_for_its_secret_role_and_binding_only() {
        let [ours, theirs] = ["0123456789abcdef", "0123456789abcdeg"]
            .map(|text| Secret::new(text.as_bytes()).expect("long enough"));
        let proof = ours.prove("first", b"binding");
        assert!(ours.is_proof("first", b"binding", &proof));
        assert!(!ours.is_proof("second", b"binding", &proof));
        assert!(!ours.is_proof("first", b"bindinh", &proof));
        assert!(!ours.is_proof("first", b"binding", &proof[..31]));
        assert!(!theirs.is_proof("first", b"binding", &proof));
    }
}
