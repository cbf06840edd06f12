//! Paces a command with the library: `pace POLICY[,MIN_SHARE] COMMAND [ARGUMENT ...]`, with the minimum share
//! in thousandths.
//!
//! Writes to stderr which policy paces, why no better one does, and at the end the policy's counters, as
//! `count: NAME = N`. The exit status is the command's.

#[cfg(target_os = "linux")]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    use paceline_pace::{PaceNotice, PaceSettings, run, start};

    let mut arguments = std::env::args_os().skip(1);
    let choice = arguments.next().ok_or("which policy?")?.to_string_lossy().into_owned();
    let (policy, min_share) =
        choice.split_once(',').map_or((&*choice, None), |(policy, share)| (policy, Some(share)));
    let program = arguments.next().ok_or("which command?")?;
    let usual = PaceSettings::default();
    let min_share_permille = min_share.map_or(Ok(usual.min_share_permille), str::parse)?;
    let started = start(&PaceSettings { policy: policy.parse()?, min_share_permille, ..usual })?;
    for refusal in &started.refusals {
        eprintln!("refused: {refusal}");
    }
    eprintln!("policy: {}", started.pacer.as_ref().map_or("none", |pacer| pacer.name()));
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    let ended = run(command, started.pacer, |notice| match notice {
        PaceNotice::Stopped(error) => eprintln!("pacing has ended: {error}"),
        PaceNotice::Note(note) => eprintln!("note: {note}"),
    })?;
    for (name, number) in &ended.statistics {
        eprintln!("count: {name} = {number}");
    }
    Ok(ended.code().into())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
