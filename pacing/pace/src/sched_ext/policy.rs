//! The policy as an object of the kernel: loads it, attaches it, and reads its report.
//!
//! Invariant: the policy is attached while its link is held; dropping the link, or the death of this process,
//! detaches it.

use libbpf_rs::{MapCore, MapFlags, MapMut, Object, ObjectBuilder, set_print};

use super::report::PolicyReport;

/// The compiled `pacing/linux/least_lvt.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/least_lvt.bpf.o"));

/// `struct settings` of `pacing/linux/least_lvt.h`.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long a task runs before the policy decides again.
    pub slice_ns: u64,
    /// CPU time without a change of LVT after which a task is stuck, at least.
    pub stuck_ns: u64,
    /// How long a task waits at most before it gets a slice; 0: for ever.
    pub wait_max_ns: u64,
    /// The number of slots of the page.
    pub slots: u32,
}

impl Settings {
    fn bytes(self) -> Vec<u8> {
        let members = [self.slice_ns, self.stuck_ns, self.wait_max_ns, u64::from(self.slots)];
        members.iter().flat_map(|member| member.to_ne_bytes()).collect()
    }
}

/// The policy in the kernel.
pub struct Policy {
    /// Before `object`, since it is to be dropped first.
    link: Option<libbpf_rs::Link>,
    object: Object,
}

impl Policy {
    /// Loads the policy without attaching it.
    pub fn load(settings: Settings) -> libbpf_rs::Result<Self> {
        set_print(None);
        let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
        for mut map in open.maps_mut() {
            match map.name().to_string_lossy().as_ref() {
                name if name.ends_with(".rodata") => map.set_initial_value(&settings.bytes())?,
                "lvt_page" => map.set_max_entries(settings.slots + 1)?,
                _ => {}
            }
        }
        Ok(Self { link: None, object: open.load()? })
    }

    fn map(&mut self, name: &str) -> MapMut<'_> {
        let found = self.object.maps_mut().find(|map| map.name() == name);
        found.unwrap_or_else(|| panic!("the compiled policy has a map {name}"))
    }

    /// The map that is the page.
    pub fn page(&mut self) -> MapMut<'_> {
        self.map("lvt_page")
    }

    /// Lets the policy decide from now on.
    pub fn attach(&mut self) -> libbpf_rs::Result<()> {
        self.link = Some(self.map("paceline").attach_struct_ops()?);
        Ok(())
    }

    /// Detaches the policy.
    pub fn detach(&mut self) {
        if let Some(link) = self.link.take() {
            // Closing the link would not be enough: a forked child that has not executed its program yet, and
            // gets no CPU time under the policy, holds it as well. This call fails if the kernel
            // has detached the policy itself.
            let _ = link.detach();
        }
    }

    /// The policy's report.
    pub fn report(&mut self) -> libbpf_rs::Result<PolicyReport> {
        let bytes = self.map(".bss.report").lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        Ok(bytes.as_deref().and_then(PolicyReport::decode).expect("the map has one entry, a `struct report`"))
    }
}
