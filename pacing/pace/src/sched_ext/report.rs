//! The counters that the policy reports while it runs.

const TEXT_BYTES: usize = 128;

/// `struct report` of `pacing/linux/least_lvt.h`. The counters continue when the policy is detached and
/// attached again.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PolicyReport {
    /// The kernel's number of the reason why it has ended the policy; 0 while it runs.
    pub exit_kind: u64,
    /// CPU time of the paced tasks.
    pub ran_ns: u64,
    /// Tasks taken from a queue by their LVT.
    pub dispatches: u64,
    /// Slices prolonged since no task with a lower LVT wanted to run.
    pub kept: u64,
    /// CPUs interrupted, at the end of a slice or by a task with a lower LVT.
    pub kicks: u64,
    /// Demotions of tasks that yielded or said that they wait.
    pub waiting: u64,
    /// Times that the LVT of a task did not change for too long.
    pub stuck: u64,
    /// Slices given since a task had waited too long: its minimum share.
    pub grants: u64,
    /// Dispatches of tasks of which neither an LVT nor a waiting flag is known.
    pub ordinary: u64,
    /// Slots of the page whose task was found.
    pub resolved: u64,
    /// The number of tasks that wait for a CPU, at most a slice old.
    pub queued: u64,
    /// The longest time for which a task has been in the queue of a CPU that runs none of them.
    pub stranded_ns: u64,
    /// Why the policy has ended, in the kernel's words.
    pub exit_reason: String,
    /// The kernel's message about that.
    pub exit_message: String,
}

impl PolicyReport {
    /// The value of the map; `None` if it has another size.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        const NUMBERS: usize = 12;
        if bytes.len() != NUMBERS * 8 + 2 * TEXT_BYTES {
            return None;
        }
        let (numbers, texts) = bytes.split_at(NUMBERS * 8);
        let number =
            |at: usize| u64::from_ne_bytes(numbers[at * 8..at * 8 + 8].try_into().expect("eight bytes"));
        Some(Self {
            exit_kind: number(0),
            ran_ns: number(1),
            dispatches: number(2),
            kept: number(3),
            kicks: number(4),
            waiting: number(5),
            stuck: number(6),
            grants: number(7),
            ordinary: number(8),
            resolved: number(9),
            queued: number(10),
            stranded_ns: number(11),
            exit_reason: text(&texts[..TEXT_BYTES]),
            exit_message: text(&texts[TEXT_BYTES..]),
        })
    }

    /// The counters by name, for people and for statistics.
    pub fn counters(&self) -> [(&'static str, u64); 9] {
        [
            ("CPU time in ns", self.ran_ns),
            ("dispatches", self.dispatches),
            ("slices kept", self.kept),
            ("kicks", self.kicks),
            ("demotions, waiting", self.waiting),
            ("times stuck", self.stuck),
            ("minimum share grants", self.grants),
            ("ordinary dispatches", self.ordinary),
            ("publishers", self.resolved),
        ]
    }

    /// Why the kernel has ended the policy.
    pub fn exit(&self) -> String {
        match self.exit_message.as_str() {
            "" => self.exit_reason.clone(),
            message => format!("{}: {message}", self.exit_reason),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_values_are_read_and_texts_end_at_their_end() {
        let mut bytes = vec![0; 12 * 8 + 2 * TEXT_BYTES];
        bytes[8] = 7;
        bytes[96..100].copy_from_slice(b"gone");
        let report = PolicyReport::decode(&bytes).expect("a whole value");
        assert_eq!((report.ran_ns, report.exit_kind, report.exit().as_str()), (7, 0, "gone"));
        bytes[96 + TEXT_BYTES..96 + 2 * TEXT_BYTES].fill(b'x');
        assert_eq!(
            PolicyReport::decode(&bytes).expect("a whole value").exit(),
            format!("gone: {}", "x".repeat(TEXT_BYTES))
        );
        assert_eq!(PolicyReport::decode(&bytes[1..]), None);
    }
}
