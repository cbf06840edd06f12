//! `paceline xen`: the lab for schedulers in a real hypervisor.

pub mod arguments;

use paceline_xen::experiments::experiments;

use crate::failure::Failure;
use crate::text;
use arguments::{RunArguments, XenCommand};

/// Carries out the command.
pub fn xen(command: &XenCommand) -> Result<(), Failure> {
    match command {
        XenCommand::Run(arguments) => run(arguments),
    }
}

fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let all = experiments();
    if arguments.list {
        let width = all.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
        let lines =
            all.iter().map(|experiment| format!("{:width$}  {}\n", experiment.name, experiment.title));
        return text::print(&lines.collect::<String>());
    }
    Ok(())
}
