//! Scripts: segments in at times, segments expected out, as in packetdrill. One end is under test, the script
//! is the network and the other end.
//!
//! A line is a time in milliseconds and what happens; a time of `+n` counts from the line before:
//!
//! ```text
//! 0    > S 0:1 win 65535 mss 1000        the connection sends exactly this at exactly this time
//! 100  < S. 0:1 ack 1 win 65535 mss 1000 this arrives
//! 100  > . ack 1
//! 150  write 3000                        the application writes; `close`, `read 500`
//! 150  > P. 1:1001 ack 1
//! 500  cwnd 2000                         so wide is the window now; `ssthresh`, `state`
//! ```
//!
//! Flags: S, F, R, P, `.` (ACK), E (ECE), W (CWR), T (ECT in the IP header). Then data as `start:end`, with
//! FIN and SYN counted; `seq` of one without; `ack`; `win`; `sack 5:9,1:3`; `stamp` and `echo`; on a SYN
//! `mss`, `scale`, `permitted`. An expected segment without `win`, `stamp` or the options of a SYN does not
//! look at them. An arriving one that has `ce` was marked. What is sent and not expected fails, and so does a
//! timer that sends something before the next line.

use std::collections::VecDeque;

use paceline_kernel::Time;
use paceline_packets::tcp::{Block, Connection, Flags, Options, SackBlocks, Segment, Settings, Step};

const FLAGS: [(char, Flags); 8] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('T', Flags::ECT),
];

/// What scripts begin with: segments of 1000 bytes, nothing that is optional.
pub fn plain() -> Settings {
    Settings {
        mss: 1000,
        receive_buffer: 65_535,
        ack_delay: Time::millis(40),
        min_rto: Time::millis(200),
        timestamps: false,
        window_scaling: false,
        sack: false,
        limited_transmit: false,
        rack: false,
        prr: false,
        abc: 0,
        ..Settings::default()
    }
}

/// The connection of a script and where it is.
pub struct Script {
    settings: Settings,
    pub connection: Connection,
    now: Time,
    /// What was sent and not yet expected by a line.
    sent: VecDeque<(Time, Segment)>,
}

impl Script {
    /// An end that connects at time 0.
    pub fn connect(settings: Settings) -> Self {
        let mut out = vec![];
        let connection = Connection::connect(&mut Step::new(&settings, Time::ZERO, &mut out), 1);
        let sent = out.into_iter().map(|segment| (Time::ZERO, segment)).collect();
        Self { settings, connection, now: Time::ZERO, sent }
    }

    /// An end that waits.
    pub fn listen(settings: Settings) -> Self {
        let connection = Connection::listen(&settings, 1);
        Self { settings, connection, now: Time::ZERO, sent: VecDeque::new() }
    }

    /// An end that has connected over a round trip of 100 ms: it is 100 ms, and the peer's window is 60,000
    /// bytes.
    pub fn established(settings: Settings) -> Self {
        let options = if settings.sack { " permitted" } else { "" };
        let flags = if settings.ecn == paceline_packets::tcp::Ecn::Off { "S." } else { "S.E" };
        let mut script = Self::connect(settings);
        script.sent.clear();
        script.run(&format!("100 < {flags} 0:1 ack 1 win 60000 mss 1000{options}"));
        script.sent.clear();
        script
    }

    /// An end that a peer has connected to; it is 100 ms.
    pub fn accepted(settings: Settings) -> Self {
        let options = if settings.sack { " permitted" } else { "" };
        let flags = if settings.ecn == paceline_packets::tcp::Ecn::Off { "S" } else { "SEW" };
        let mut script = Self::listen(settings);
        script.run(&format!("0 < {flags} 0:1 win 60000 mss 1000{options}"));
        script.sent.clear();
        script.run("100 < . 1:1 ack 1 win 60000");
        script
    }

    /// Runs lines; fails with the line that does not hold.
    pub fn run(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (time, action) = line.split_once(char::is_whitespace).expect("a time and what happens");
            let time = match time.strip_prefix('+') {
                Some(after) => self.now + millis(after),
                None => millis(time),
            };
            self.advance(time, line);
            self.act(action.trim(), line);
        }
    }

    /// Lets timers expire up to a time, that time included.
    fn advance(&mut self, time: Time, line: &str) {
        assert!(time >= self.now, "time goes back: {line}");
        while let Some(deadline) = self.connection.deadline().filter(|&deadline| deadline <= time) {
            self.now = deadline.max(self.now);
            self.call(|connection, step| connection.on_timer(step));
        }
        self.now = time;
    }

    fn call(&mut self, call: impl FnOnce(&mut Connection, &mut Step<'_>)) {
        let mut out = vec![];
        call(&mut self.connection, &mut Step::new(&self.settings, self.now, &mut out));
        self.sent.extend(out.into_iter().map(|segment| (self.now, segment)));
    }

    /// Nothing was sent that no line expected.
    fn assert_silent(&self, line: &str) {
        if let Some((time, segment)) = self.sent.front() {
            panic!("at `{line}`: sent and not expected at {time}: {}", shown(segment, true));
        }
    }

    fn act(&mut self, action: &str, line: &str) {
        let (verb, rest) = action.split_once(' ').unwrap_or((action, ""));
        let number = || rest.trim().parse().unwrap_or_else(|_| panic!("a number is missing: {line}"));
        if verb == ">" {
            self.expect(rest, line);
            return;
        }
        self.assert_silent(line);
        match verb {
            "<" => {
                let (segment, ce) = parse(rest, line);
                self.call(|connection, step| connection.on_segment(step, &segment, ce));
            }
            "write" => self.call(|connection, step| connection.write(step, number())),
            "read" => self.call(|connection, step| connection.read(step, number())),
            "close" => self.call(|connection, step| connection.close(step)),
            "cwnd" => assert_eq!(self.connection.congestion_window(), number(), "{line}"),
            "ssthresh" => assert_eq!(self.connection.slow_start_threshold(), number(), "{line}"),
            "flight" => assert_eq!(self.connection.in_flight(), number(), "{line}"),
            "state" => assert_eq!(format!("{:?}", self.connection.state()), rest.trim(), "{line}"),
            "silent" => {}
            _ => panic!("no such action: {line}"),
        }
    }

    fn expect(&mut self, rest: &str, line: &str) {
        let Some((time, segment)) = self.sent.pop_front() else { panic!("nothing was sent: {line}") };
        let all = shown(&segment, true);
        let (expected, _) = parse(rest, line);
        let has = |word: &str| rest.split(' ').any(|other| other == word);
        let is_looked_at = |word: &str| {
            has(word) || !["seq", "win", "stamp", "echo", "mss", "scale", "permitted"].contains(&word)
        };
        let filter = |text: String| -> Vec<String> {
            let words: Vec<&str> = text.split(' ').collect();
            let mut kept = vec![];
            let mut at = 0;
            while at < words.len() {
                let takes = if matches!(words[at], "seq" | "win" | "stamp" | "echo" | "mss" | "scale") {
                    2
                } else {
                    1
                };
                if is_looked_at(words[at]) {
                    kept.extend(words[at..at + takes].iter().map(ToString::to_string));
                }
                at += takes;
            }
            kept
        };
        assert_eq!(time, self.now, "at another time: {line}\n sent: {all}");
        assert_eq!(filter(shown(&segment, true)), filter(shown(&expected, true)), "{line}\n sent: {all}");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_silent("the end of the script");
        }
    }
}

fn millis(text: &str) -> Time {
    let number: f64 = text.parse().unwrap_or_else(|_| panic!("not a time: {text}"));
    Time::nanos((number * 1e6).round() as u64)
}

/// A segment in the words of a script.
fn shown(segment: &Segment, has_options: bool) -> String {
    let mut text: String =
        FLAGS.iter().filter(|(_, flag)| segment.has(*flag)).map(|(name, _)| name).collect();
    if segment.sequence_length() > 0 {
        text += &format!(" {}:{}", segment.sequence, segment.end());
    }
    if segment.has(Flags::ACK) {
        text += &format!(" ack {}", segment.ack);
    }
    text += &format!(" seq {} win {}", segment.sequence, segment.window);
    if segment.has(Flags::TIMESTAMPS) {
        text += &format!(" stamp {} echo {}", segment.stamp, segment.echo);
    }
    if let Some(Options::Syn { mss, scale, sack }) = segment.options.as_deref()
        && has_options
    {
        text += &format!(" mss {mss}");
        text += &scale.map_or(String::new(), |scale| format!(" scale {scale}"));
        text += if *sack { " permitted" } else { "" };
    }
    let blocks: Vec<String> =
        segment.sack_blocks().iter().map(|block| format!("{}:{}", block.start, block.end)).collect();
    if !blocks.is_empty() {
        text += &format!(" sack {}", blocks.join(","));
    }
    text
}

/// The segment of a line, and whether it was marked.
fn parse(text: &str, line: &str) -> (Segment, bool) {
    let range = |text: &str| -> Option<(u64, u64)> {
        let (start, end) = text.split_once(':')?;
        Some((start.parse().ok()?, end.parse().ok()?))
    };
    let mut words = text.split_whitespace();
    let mut segment = Segment { window: 60_000, ..Segment::default() };
    for name in words.next().expect("flags").chars() {
        let flag =
            FLAGS.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no such flag: {line}"));
        segment.flags = segment.flags | flag.1;
    }
    let (mut ce, mut mss, mut scale, mut sack, mut end) = (false, None, None, false, None);
    while let Some(word) = words.next() {
        let mut number =
            || -> u64 { words.next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{line}")) };
        match word {
            "ack" => segment.ack = number(),
            "seq" => {
                segment.sequence = number();
                end = Some(segment.sequence);
            }
            "win" => segment.window = number() as u32,
            "stamp" => {
                segment.stamp = number() as u32;
                segment.flags = segment.flags | Flags::TIMESTAMPS;
            }
            "echo" => segment.echo = number() as u32,
            "mss" => mss = Some(number() as u16),
            "scale" => scale = Some(number() as u8),
            "permitted" => sack = true,
            "ce" => ce = true,
            "sack" => {
                let mut blocks = SackBlocks::default();
                for text in words.next().expect("blocks").split(',') {
                    let (start, end) = range(text).unwrap_or_else(|| panic!("no block: {line}"));
                    blocks.push(Block { start, end });
                }
                segment.options = Some(Box::new(Options::Sack(blocks)));
            }
            _ => {
                let (start, last) = range(word).unwrap_or_else(|| panic!("no such word `{word}`: {line}"));
                (segment.sequence, end) = (start, Some(last));
            }
        }
    }
    if let Some(end) = end {
        let flags = segment.sequence_length();
        segment.length = (end - segment.sequence - flags) as u16;
    } else {
        // A bare ACK of a peer that has sent its SYN only.
        segment.sequence = 1;
    }
    if let Some(mss) = mss {
        segment.options = Some(Box::new(Options::Syn { mss, scale, sack }));
    }
    (segment, ce)
}
