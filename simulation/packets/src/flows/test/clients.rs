//! Clients: who waits for whom, and for how long.

use super::*;

const LATENCY: u64 = 1_000_000;

#[test]
fn requests_wait_for_responses() {
    let settings = RequestResponse {
        request_bytes: 100,
        response: Cdf::read("sizes", "1000 0\n9000 1\n").unwrap(),
        service_ps: 500,
        think_ps: 2_000_000,
        rounds: 20_000,
    };
    let mut workload = Workload::new(3);
    workload.request_response(1, 2, 77, &settings).unwrap();
    let times = times(&workload, LATENCY, 10);
    assert_eq!(workload.flows().len(), 40_000);
    let (mut before, mut think, mut bytes) = (None, 0, 0);
    for (pair, flows) in times.chunks(2).zip(workload.flows().chunks(2)) {
        assert_eq!((flows[0].from, flows[0].to, flows[0].bytes), (1, 2, 100));
        assert_eq!((flows[1].from, flows[1].to), (2, 1));
        assert_eq!(pair[1].0, pair[0].1 + 500, "the server answers when it has worked");
        match before {
            None => assert_eq!(pair[0].0, 77),
            Some(before) => think += pair[0].0 - before,
        }
        (before, bytes) = (Some(pair[1].1), bytes + flows[1].bytes);
    }
    let (think, bytes) = (think as f64 / 19_999.0, bytes as f64 / 20_000.0);
    assert!((think - 2e6).abs() < 5.0 * 2e6 / 20_000f64.sqrt(), "{think}");
    assert!((bytes - 5000.0).abs() < 5.0 * 8000.0 / 12f64.sqrt() / 20_000f64.sqrt(), "{bytes}");
}

#[test]
fn pages_are_documents_then_objects_a_few_at_once() {
    let settings = Http {
        request_bytes: 300,
        document: Cdf::constant(20_000),
        object: Cdf::constant(5000),
        objects: (0, 10),
        parallel: 3,
        service_ps: 10,
        think_ps: 0,
        pages: 300,
    };
    let mut workload = Workload::new(3);
    workload.http(1, 2, 0, &settings).unwrap();
    let times = times(&workload, LATENCY, 1);
    let flows = workload.flows();
    let documents: Vec<usize> = (0..flows.len()).filter(|number| flows[*number].bytes == 20_000).collect();
    assert_eq!(documents.len(), 300);
    let mut counts = [0; 11];
    for (page, document) in documents.iter().enumerate() {
        let end = documents.get(page + 1).map_or(flows.len(), |next| next - 1);
        let responses: Vec<usize> = (document + 1..end).filter(|number| flows[*number].from == 2).collect();
        counts[responses.len()] += 1;
        for (place, response) in responses.iter().enumerate() {
            assert!(times[response - 1].0 >= times[*document].1, "objects come after the document");
            // All take as long: the fourth begins when the first is there.
            let wave = (place / 3) as u64;
            let round_trip = 2 * LATENCY + 300 + 10 + 5000;
            assert_eq!(times[*response].1, times[*document].1 + (wave + 1) * round_trip, "{place}");
        }
        let last =
            (*document..end).filter(|number| flows[*number].from == 2).map(|number| times[number].1).max();
        if let Some(next) = documents.get(page + 1) {
            assert_eq!(times[next - 1].0, last.unwrap(), "the next page after all of this one");
        }
    }
    assert!(counts.iter().all(|count| (10..50).contains(count)), "0 to 10 objects, all alike: {counts:?}");
    for wrong in [Http { parallel: 0, ..settings.clone() }, Http { objects: (3, 2), ..settings }] {
        assert!(workload.http(1, 2, 0, &wrong).unwrap_err().what.starts_with("pages of "));
    }
}

#[test]
fn a_video_fills_its_buffer_then_follows_the_clock() {
    // 4 Mb/s in chunks of 2 s: a million bytes each.
    let settings = Video { request_bytes: 200, rate: 4_000_000, chunk_ps: 2 * SECOND, ahead: 3, chunks: 6 };
    let mut workload = Workload::new(3);
    workload.video(1, 2, SECOND, &settings).unwrap();
    assert!(workload.flows().iter().filter(|flow| flow.from == 2).all(|flow| flow.bytes == 1_000_000));
    // 8 Mb/s: a chunk takes a second, and a bit for the request.
    let times = self::times(&workload, 0, 1_000_000);
    let starts: Vec<u64> = times.iter().step_by(2).map(|(start, _)| *start).collect();
    let request = 200_000_000;
    let expected = [
        SECOND,
        2 * SECOND + request,
        3 * SECOND + 2 * request,
        4 * SECOND + 3 * request,
        5 * SECOND + 4 * request,
        7 * SECOND,
    ];
    // The fourth might start at 3 s, when a chunk has played, but the third comes later.
    assert_eq!(starts, expected);
    let none = Video { ahead: 0, ..settings };
    assert!(workload.video(1, 2, 0, &none).unwrap_err().what.contains("0 ahead"));
}

#[test]
fn incast_waits_for_the_slowest() {
    let settings = Incast { request_bytes: 50, part_bytes: 10_000, jitter_ps: 1000, pause_ps: 77, rounds: 3 };
    let mut workload = Workload::new(3);
    workload.incast(9, &[1, 2, 3, 4], 5, &settings).unwrap();
    let times = times(&workload, LATENCY, 1);
    assert_eq!(times.len(), 3 * 4 * 2);
    let mut begin = 5;
    for (round, flows) in times.chunks(8).zip(workload.flows().chunks(8)) {
        assert!(round.iter().step_by(2).all(|(start, _)| *start == begin), "all are asked at once");
        let waits: Vec<u64> = flows.iter().skip(1).step_by(2).map(|flow| flow.pause_ps).collect();
        assert!(waits.iter().all(|wait| *wait <= 1000) && !waits.iter().all(|wait| *wait == waits[0]));
        begin = round.iter().map(|(_, end)| *end).max().unwrap() + 77;
    }
}
