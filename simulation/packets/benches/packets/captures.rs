//! A network of which every link is captured: what recording costs, what forming the files, and what writing
//! them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::Time;
use paceline_packets::{NetResults, Packets};
use paceline_results::{ResultFile, Results, RunFacts};

use crate::measure::Ran;
use crate::networks::{Files, Way};

/// A file that counts its bytes, and goes nowhere unless there is one.
struct Counted {
    bytes: u64,
    file: Option<File>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs it once on one thread, as `way` does, with every direction of a link in a file of its own.
pub fn run(model: Packets, until: Time, way: Way, files: Files) -> Ran {
    let flows = model.flows().to_vec();
    let model = model.capture(&["* -> *"], None).expect("there are links");
    let protocol = if way == Way::Sequential { Protocol::Sequential } else { Protocol::Window };
    let run = Simulation::new(model).protocol(protocol).threads(1).federates(1).until(until);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("captures");
    fs::create_dir_all(&folder).expect("the target folder can be written to");
    let ran = Ran::new(
        || {
            let (report, model) = run.run_keeping_model().expect("the model keeps the rules");
            let facts = RunFacts { events: report.events, end_time: report.end_time };
            let results = NetResults::new(&flows, &report.outputs);
            if files == Files::Recorded {
                return (results, report.digest, 0);
            }
            let summary = model.results(report.outputs, &facts).expect("the outputs are whole");
            let captures = summary.files.into_iter().filter(|file| file.name.ends_with(".pcap"));
            let write = |file: ResultFile| {
                let path = folder.join(&*file.name);
                let file_of = |()| File::create(&path).expect("the target folder can be written to");
                let mut to = Counted { bytes: 0, file: (files == Files::Written).then_some(()).map(file_of) };
                file.write(&mut to).expect("there is room in the target folder");
                to.bytes
            };
            (results, report.digest, captures.map(write).sum::<u64>())
        },
        |(results, digest, bytes)| {
            let hops = results.links.iter().map(|link| link.sent).sum();
            let (arrived, dropped) = (results.packets_arrived, results.packets_dropped);
            (hops, format!("{arrived} arrived, {dropped} dropped, digest {digest}, {bytes} bytes in files"))
        },
    );
    fs::remove_dir_all(&folder).expect("it is this program's own");
    ran
}
