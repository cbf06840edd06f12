//! Disks and storage: read from platform files and kept, for programs that look them up. No model uses them.

use crate::ids::{HostId, Properties};

/// A disk of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Its name, `/` if the file gives none.
    pub name: String,
    /// Bytes per second when reading.
    pub read: f64,
    /// Bytes per second when writing.
    pub write: f64,
    /// What the file says with `<prop>`, which no computation reads.
    pub properties: Properties,
}

/// A storage of SimGrid before 3.27, which has disks instead.
///
/// ```
/// let text = r#"<platform version="4.1"><zone id="z" routing="Full">
///     <storage_type id="ssd" size="500GiB"> <model_prop id="Bwrite" value="60MBps"/> </storage_type>
///     <storage id="scratch" typeId="ssd" attach="a"/>
///     <host id="a" speed="1Gf"> <mount storageId="scratch" name="/tmp"/> </host>
/// </zone></platform>"#;
/// let platform = paceline_network::read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let [scratch] = platform.storages() else { panic!("there is one") };
/// assert_eq!((scratch.size, scratch.host), (536_870_912_000.0, platform.host("a").unwrap()));
/// assert_eq!(scratch.mounts, [(scratch.host, "/tmp".to_owned())]);
/// assert_eq!(scratch.kind_properties["Bwrite"], "60MBps");
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// Unique among its kind.
    pub name: String,
    /// The name of its type.
    pub kind: String,
    /// The host that it is attached to.
    pub host: HostId,
    /// Its size in bytes.
    pub size: f64,
    /// The file that lists its content; empty if the platform names none.
    pub content: String,
    /// The hosts that mount it, and where.
    pub mounts: Vec<(HostId, String)>,
    /// What the file says with `<prop>`, which no computation reads.
    pub properties: Properties,
    /// Those of its type, the `<model_prop>` elements among them.
    pub kind_properties: Properties,
}
