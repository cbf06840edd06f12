//! BonnMotion's own format (`.movements`): one line per host, with repeated `time x y`. The host is at (x, y) at that time; while
//! it rests, the place is repeated. Lines with `#` in front are comments.

use super::{Flaw, MOST_HOSTS, Waypoint, commands};

pub(super) fn read(text: &str) -> Result<Vec<Vec<Waypoint>>, Flaw> {
    let mut hosts = Vec::new();
    for words in commands(text) {
        if hosts.len() == MOST_HOSTS as usize {
            return Err(words[0].refuse("too many hosts", format!("at most {MOST_HOSTS} lines")));
        }
        let mut waypoints: Vec<Waypoint> = Vec::with_capacity(words.len() / 3);
        for triple in words.chunks(3) {
            let [time, x, y] = triple else {
                let problem = format!("the line ends after {} values", words.len());
                return Err(triple[0].refuse(problem, "values by threes: `time x y`"));
            };
            let waypoint = Waypoint { at_ns: time.time_ns()?, x: x.coordinate()?, y: y.coordinate()? };
            if waypoints.last().is_some_and(|last| last.at_ns > waypoint.at_ns) {
                let problem = format!("time goes back to {} s", time.text);
                return Err(time.refuse(problem, "times that do not fall along the line"));
            }
            waypoints.push(waypoint);
        }
        hosts.push(waypoints);
    }
    Ok(hosts)
}
