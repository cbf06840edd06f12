//! The numbers by which host and policy name domains and CPUs.

use std::fmt;

/// Writes types of numbers by which host and policy name things, each with its words in messages.
macro_rules! ids {
    ($($(#[$about:meta])* $id:ident: $words:literal;)+) => {
        $($(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $id(pub u32);

        impl $id {
            /// As an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($words, " {}"), self.0)
            }
        })+
    };
}

ids! {
    /// A domain (virtual machine), by number. Numbers are the host's, dense and never used again.
    DomId: "domain";
    /// A virtual CPU, by number, over all domains. Numbers are the host's, dense and never used again.
    VcpuId: "VCPU";
    /// A physical CPU of the host, by number from zero.
    PcpuId: "PCPU";
}
