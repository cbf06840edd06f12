//! What dom0 does in a boot, as lines of shell that call the functions in `lab/xen/guest/dom0-functions.sh`;
//! and the guests' configurations as xl reads them.
//!
//! Invariant: names and commands reach the shell unchanged, because all of them are quoted.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::boot::{Boot, Domain, Step};
use crate::error::LabError;

/// The most guests of a boot; their addresses and hardware addresses end in their number.
const DOMAINS_MAX: usize = 32;

/// The longest command of a guest in bytes: a line of its terminal.
const COMMAND_MAX: usize = 2000;

/// Fails if something in a boot is not allowed.
pub(crate) fn check(boot: &Boot) -> Result<(), LabError> {
    let refused = |problem: String| Err(LabError::Boot { boot: boot.key.clone(), problem });
    let fine = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let mut names = BTreeSet::new();
    for Domain { name, vcpus, memory_mib, .. } in &boot.domains {
        if !fine(name) || name == "dom0" || name.len() > 30 || !names.insert(name.as_str()) {
            return refused(format!(
                "{name:?} is no name of a guest; allowed: letters, digits and dashes, each name once, not dom0"
            ));
        }
        if !(1..=32).contains(vcpus) || !(64..=1024).contains(memory_mib) {
            return refused(format!(
                "guest {name} has {vcpus} VCPUs and {memory_mib} MiB; allowed: 1 to 32, and 64 to 1024"
            ));
        }
    }
    if names.len() > DOMAINS_MAX {
        return refused(format!("it has {} guests; allowed: at most {DOMAINS_MAX}", names.len()));
    }
    let option = |text: &String| text.contains(|letter: char| letter.is_whitespace() || letter == ',');
    if let Some(wrong) =
        boot.options.iter().chain([&boot.scheduler]).find(|text| text.is_empty() || option(text))
    {
        return refused(format!("{wrong:?} is no option of Xen; allowed: words without blanks and commas"));
    }
    check_steps(&boot.steps, &names).or_else(refused)
}

fn check_steps(steps: &[Step], names: &BTreeSet<&str>) -> Result<(), String> {
    for step in steps {
        let (named, line): (Vec<&String>, Option<&String>) = match step {
            Step::Create(several) => (several.iter().collect(), None),
            Step::Tell(name, line) => (vec![name], Some(line)),
            Step::Await(name, _) | Step::Pause(name) | Step::Unpause(name) | Step::Destroy(name) => {
                (vec![name], None)
            }
            Step::Mark(line) | Step::Shell(line) => (Vec::new(), Some(line)),
            Step::Repeat(_, inner) => {
                check_steps(inner, names)?;
                (Vec::new(), None)
            }
            Step::Set(..) | Step::Dump | Step::Answer | Step::Sleep(_) => (Vec::new(), None),
        };
        if let Some(unknown) = named.into_iter().find(|name| !names.contains(name.as_str())) {
            return Err(format!("a step names {unknown:?}; its guests are {names:?}"));
        }
        if let Some(line) = line.filter(|line| line.len() > COMMAND_MAX || line.contains(['\n', '\r', '\0']))
        {
            return Err(format!("{line:?} is not one line of at most {COMMAND_MAX} bytes"));
        }
    }
    Ok(())
}

/// What dom0 does, as a script for its shell.
pub(crate) fn steps(steps: &[Step]) -> String {
    let mut script = String::new();
    write_steps(&mut script, steps, 0);
    script
}

fn write_steps(script: &mut String, steps: &[Step], depth: usize) {
    for step in steps {
        let line = match step {
            Step::Mark(name) => format!("mark {}", quoted(name)),
            Step::Create(names) => {
                let each =
                    |word: &str| names.iter().map(|name| format!("{word} {name}\n")).collect::<String>();
                each("create") + each("ready").trim_end()
            }
            Step::Tell(name, command) => format!("tell {name} {}", quoted(command)),
            Step::Await(name, limit_s) => format!("await {name} {limit_s}"),
            Step::Set(name, value) => format!("set_parameter {} {}", quoted(name), quoted(value)),
            Step::Pause(name) => format!("pause {name}"),
            Step::Unpause(name) => format!("unpause {name}"),
            Step::Destroy(name) => format!("destroy {name}"),
            Step::Dump => "dump".into(),
            Step::Answer => "answer".into(),
            Step::Sleep(ms) => format!("usleep {ms}000"),
            Step::Shell(line) => format!("step={}\n{{ {line}\n}} || fail \"the command\"", quoted(line)),
            Step::Repeat(times, inner) => {
                let counter = format!("round{depth}");
                let _ = writeln!(script, "{counter}=0\nwhile [ ${counter} -lt {times} ]; do");
                write_steps(script, inner, depth + 1);
                format!("{counter}=$(({counter} + 1))\ndone")
            }
        };
        let _ = writeln!(script, "{line}");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A guest's configuration for xl; `index` is its place among the guests of the boot, from 0 on.
pub(crate) fn configuration(boot: &Boot, index: usize) -> String {
    let Domain { name, vcpus, memory_mib, pins, pvh, weight } = &boot.domains[index];
    let hosts: Vec<&str> = boot.domains.iter().map(|domain| domain.name.as_str()).collect();
    let hosts = hosts.join(",");
    let pins: Vec<String> = (0..*vcpus as usize)
        .map(|vcpu| pins.get(vcpu).map_or("\"all\"".into(), |pcpu| format!("\"{pcpu}\"")))
        .collect();
    let kind = if *pvh { "pvh" } else { "pv" };
    format!(
        "name = \"{name}\"\ntype = \"{kind}\"\nkernel = \"/lab/vmlinux\"\nramdisk = \"/lab/guest.cpio\"\n\
         extra = \"console=hvc0 quiet mitigations=off name={name} index={index} hosts={hosts}\"\n\
         memory = {memory_mib}\nvcpus = {vcpus}\ncpus = [{}]\ncpu_weight = {weight}\n\
         vif = [\"bridge=xenbr0,script=/etc/xen/scripts/vif-bridge,mac=00:16:3e:00:00:{:02x}\"]\non_crash = \"destroy\"\n",
        pins.join(", "),
        index + 2,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn boot(names: &[&str]) -> Boot {
        Boot { domains: names.iter().copied().map(Domain::new).collect(), ..Boot::new("it", "credit") }
    }

    #[test]
    fn steps_reach_the_functions_of_dom0_with_their_words_as_they_are() {
        let all = [
            Step::Mark("a b".into()),
            Step::Create(vec!["one".into(), "two".into()]),
            Step::Repeat(
                2,
                vec![
                    Step::Tell("one".into(), "echo 'it''s' \"$x\" `y` \\".into()),
                    Step::Await("one".into(), 7),
                ],
            ),
            Step::Set("nsx-tick-us".into(), "300".into()),
            Step::Sleep(3),
            Step::Shell("true && say shell".into()),
        ];
        let functions = ["mark", "create", "ready", "tell", "await", "set_parameter", "usleep", "say"];
        let stubs: String = functions
            .iter()
            .map(|name| format!("{name}() {{ printf '%s|' {name} \"$@\"; echo; }}\n"))
            .collect();
        let script = format!("{stubs}\nfail() {{ echo failed; }}\n{}", steps(&all));
        let output = Command::new("sh").args(["-ec", &script]).output().expect("there is a shell");
        let pair = "tell|one|echo 'it''s' \"$x\" `y` \\|\nawait|one|7|\n";
        let expected = format!(
            "mark|a b|\ncreate|one|\ncreate|two|\nready|one|\nready|two|\n{pair}{pair}set_parameter|nsx-tick-us|300|\nusleep|3000|\nsay|shell|\n"
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_is_allowed() {
        let refused = |boot: &Boot| check(boot).expect_err("it is refused").to_string();
        assert!(check(&boot(&["a", "b-2"])).is_ok());
        for names in [&["a b"][..], &["a", "a"], &[""], &["a\"b"], &["dom0"]] {
            assert!(refused(&boot(names)).contains("allowed: letters"), "{names:?}");
        }
        let step = |step| Boot { steps: vec![Step::Repeat(2, vec![step])], ..boot(&["a"]) };
        assert!(refused(&step(Step::Destroy("b".into()))).contains("its guests are {\"a\"}"));
        assert!(refused(&step(Step::Tell("a".into(), "x\ny".into()))).contains("one line"));
        assert!(refused(&Boot { scheduler: "psx x=1".into(), ..boot(&[]) }).contains("no option of Xen"));
        let names: Vec<String> = (0..33).map(|number| format!("a{number}")).collect();
        assert!(refused(&boot(&names.iter().map(String::as_str).collect::<Vec<_>>())).contains("at most 32"));
    }

    #[test]
    fn a_guest_has_pins_for_its_first_vcpus_and_runs_anywhere_else() {
        let mut boot = boot(&["a", "b"]);
        boot.domains[1] = Domain { vcpus: 3, pins: vec![1, 0], ..Domain::new("b") };
        let text = configuration(&boot, 1);
        assert!(text.contains("cpus = [\"1\", \"0\", \"all\"]"), "{text}");
        assert!(text.contains("index=1 hosts=a,b\""), "{text}");
    }
}
