//! What MPI traces say: forms in which the tools of the field write them, and what is refused, with its line
//! and what is allowed.

use paceline_models::mpi_trace::{ANY, Action, Message, MpiTrace, text_of};

fn read(text: &str) -> Result<MpiTrace, String> {
    MpiTrace::read("t", text, &mut |_| Err("there is no such file".into()))
        .map_err(|mistake| mistake.to_string())
}

fn sent(other: u32, tag: u32, bytes: f64) -> Action {
    Action::Send(Message { other, tag, bytes })
}

/// The first action of rank 0 of several, with `line` as its only one but `init`.
fn first(ranks: usize, line: &str) -> Action {
    let text: String = (0..ranks).map(|rank| format!("{rank} init\n")).collect();
    let trace = read(&format!("{text}0 {line}\n")).unwrap_or_else(|mistake| panic!("{line}: {mistake}"));
    trace.actions(0).first().cloned().unwrap_or_else(|| panic!("{line}: it says nothing"))
}

#[test]
fn elements_have_the_sizes_of_the_types_of_simgrid() {
    // `smpirun -replay` of SimGrid 3.32 with a broadcast of a million elements of each type.
    let sizes = [
        8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16,
        16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
    ];
    for (number, size) in sizes.into_iter().enumerate() {
        let bytes = f64::from(size) * 100.0;
        assert_eq!(first(1, &format!("bcast 100 0 {number}")), Action::Broadcast { bytes, root: 0 });
    }
    assert_eq!(first(1, "bcast 100 0 -1"), Action::Broadcast { bytes: 0.0, root: 0 });
    for unknown in ["60", "-2", "1.5", "MPI_INT", "999999999999"] {
        let message = read(&format!("0 bcast 100 0 {unknown}")).unwrap_err();
        let expected =
            format!("t:1: data type {unknown}; allowed: a data type of SimGrid from 0 to 59, or -1 for none");
        assert_eq!(message, expected);
    }
}

#[test]
fn every_action_of_a_trace_is_read() {
    let some = |bytes: &[f64]| bytes.into();
    for (ranks, line, action) in [
        (2, "SEND 1 0 5", sent(1, 0, 5.0)),
        (2, "send 1 2147483647 5 3", sent(1, 2_147_483_647, 10.0)),
        (2, "irecv 1 4 9 1", Action::StartReceive(Message { other: 1, tag: 4, bytes: 36.0 })),
        (2, "recv 1 4 -1", Action::Receive(Message { other: 1, tag: 4, bytes: 0.0 })),
        (2, "sleep 0.25", Action::Sleep(0.25)),
        (2, "test 0 1 7", Action::Test((0, 1, 7))),
        (2, "wait 1 0 7", Action::Wait((1, 0, 7))),
        (2, "waitall 3", Action::WaitAll),
        (2, "sendRecv 10 1 20 1 0 0", Action::SendReceive { to: Some(1), from: 1, bytes: 80.0 }),
        (2, "sendRecv 10 -333 20 -333 1 1", Action::SendReceive { to: None, from: ANY, bytes: 40.0 }),
        (2, "bcast 5e2 1 0", Action::Broadcast { bytes: 4000.0, root: 1 }),
        (2, "reduce 2 3 1", Action::Reduce { bytes: 2.0, flops: 3.0, root: 1 }),
        (2, "allReduce 8 0 0", Action::ReduceAll { bytes: 64.0, flops: 0.0 }),
        (2, "scan 2 5 1 ", Action::Scan { bytes: 8.0, flops: 5.0 }),
        (2, "exscan 2 0", Action::Scan { bytes: 2.0, flops: 0.0 }),
        (2, "alltoall 3 3 1 1", Action::Exchange { bytes: 12.0 }),
        (2, "gather 3 3 1 1 1", Action::Gather { bytes: 12.0, root: 1 }),
        (2, "scatter 3 3 1 1 1", Action::Scatter { bytes: 12.0, root: 1 }),
        (2, "allgather 3 3 1 0", Action::GatherAll { bytes: 12.0 }),
        // As SimGrid 3.32 writes them, for two ranks; and with places in the buffer, for four.
        (2, "gatherv 3 3 4 0 1 1", Action::Gather { bytes: 12.0, root: 0 }),
        (2, "gatherv 4 0 0 0 1 -1", Action::Gather { bytes: 16.0, root: 0 }),
        (2, "allgatherv 3 3 4 1 1", Action::GatherAll { bytes: 12.0 }),
        (4, "allgatherv 3 3 4 5 6", Action::GatherAll { bytes: 3.0 }),
        (4, "allgatherv 3 3 4 5 6 0 0", Action::GatherAll { bytes: 24.0 }),
        (4, "allgatherv 3 3 4 5 6 0 3 7 12", Action::GatherAll { bytes: 3.0 }),
        (4, "allgatherv 3 3 4 5 6 1 1 0 3 7 12", Action::GatherAll { bytes: 12.0 }),
        (2, "scatterv 3 4 3 1 1 1", Action::ScatterEach { bytes: some(&[12.0, 16.0]), root: 1 }),
        (
            2,
            "reducescatter 3 4 7 1",
            Action::ReduceScatter { counts: some(&[3.0, 4.0]), element: 4.0, flops: 7.0 },
        ),
        (2, "alltoallv 5 2 3 4 2 2 1 1", Action::ExchangeEach { bytes: some(&[8.0, 12.0]) }),
    ] {
        assert_eq!(first(ranks, line), action, "{line}");
    }
    // What SimGrid accepts and spends no time on, and a message to nobody.
    for line in [
        "init 1",
        "finalize",
        "comm_size 4",
        "comm_dup",
        "location main.c 7",
        "send -333 1 1 0",
        "isend -666 0 8",
    ] {
        let trace = read(&format!("0 {line}\n1 init")).unwrap();
        assert_eq!((trace.ranks(), trace.actions(0)), (2, &[][..]), "{line}");
    }
    // Elements are doubles if `init` has an argument, else bytes, for each rank.
    let trace = read("0 init 1\n1 init\n0 send 1 0 5\n1 send 0 0 5\n").unwrap();
    assert_eq!((&trace.actions(0)[0], &trace.actions(1)[0]), (&sent(1, 0, 40.0), &sent(0, 0, 5.0)));
}

#[test]
fn a_receive_may_leave_its_sender_and_its_tag_open_as_tools_write_it() {
    for source in ["-1", "-333", "-555", "any", "ANY", "MPI_ANY_SOURCE"] {
        let expected = Action::Receive(Message { other: ANY, tag: 7, bytes: 1.0 });
        assert_eq!(first(2, &format!("recv {source} 7 1")), expected);
        assert_eq!(first(2, &format!("wait {source} 0 7")), Action::Wait((ANY, 0, 7)));
    }
    for tag in ["-1", "-444", "any", "MPI_ANY_TAG"] {
        let expected = Action::StartReceive(Message { other: 1, tag: ANY, bytes: 1.0 });
        assert_eq!(first(2, &format!("irecv 1 {tag} 1")), expected);
        assert_eq!(first(2, &format!("test 1 0 {tag}")), Action::Test((1, 0, ANY)));
    }
    assert!(read("0 send any 7 1\n1 init").unwrap_err().starts_with("t:1: `any` as a rank; allowed:"));
    assert!(read("0 send 1 -444 1\n1 init").unwrap_err().starts_with("t:1: `-444` as a tag; allowed:"));
}

#[test]
fn marks_and_encodings_of_text_do_not_matter() {
    let expected = read("0 compute 5\n1 compute 6\n").unwrap();
    for bytes in [
        &b"\xef\xbb\xbf0 compute 5\n1 compute 6\n"[..],
        b"# R\xe9seau, 8 n\x9cuds\n0 compute 5\n1 compute 6\n",
        b"0 compute 5 # \xfcber\n1 compute 6 #\xff\n",
        b"\xef\xbb\xbf# caf\xe9\r\n0 compute 5\r\n1\tcompute\t6\r\n",
        b"\n\n  0 compute 5\n \t1  compute   6",
    ] {
        let text = text_of(bytes).unwrap();
        assert_eq!(read(&text).unwrap(), expected, "{text:?}");
    }
    assert_eq!(text_of(b"\x1f\x8b\x08\0").unwrap_err(), "it is compressed (gzip); decompress it first");
    assert_eq!(text_of(b"\xff\xfe0\0").unwrap_err(), "it is in UTF-16; UTF-8 can be read");
    // A list may be marked, too, and what it names.
    let list = "\u{feff}p0\np1\n";
    let mut files = |name: &str| Ok(format!("\u{feff}{name} compute {}\n", if name == "p0" { 5 } else { 6 }));
    assert_eq!(MpiTrace::read("list", list, &mut files), Ok(expected));
}

#[test]
fn ranks_have_files_of_their_own_or_share_one() {
    let whole = "0 compute 5\n1 compute 6\n";
    let mut files = |file: &str| match file {
        "p0" => Ok("p0 init\np0 compute 5\n".to_owned()),
        "p1" | "ti_files/rank-2.txt" => Ok("# of rank 1\n1 compute 6\n".to_owned()),
        "a name.txt" => Ok("0 compute 5\n".to_owned()),
        "all" => Ok(whole.to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let expected = read(whole).unwrap();
    for list in [
        "p0\np1\n",
        "p1\np0",
        "# two\n\np0\n\np1",
        "a name.txt\nti_files/rank-2.txt\n",
        // SimGrid's lists name the same file for each rank, or once for all.
        "all\nall\n",
        "all",
    ] {
        assert_eq!(MpiTrace::read("list", list, &mut files), Ok(expected.clone()), "{list:?}");
    }
    // Older traces write ranks as `p0`.
    assert_eq!(read("p0 compute 5\np1 compute 6").unwrap(), expected);
    for (list, message) in [
        ("p0\np2\n", "list:2: `p2` cannot be read: there is no such file; allowed: the name of a trace"),
        (
            "p0\nall\n",
            "all:1: lines of rank 0, of which there are some in a file before; allowed: all lines of",
        ),
        ("p1\n", "list:1: there are 2 ranks, and no line of rank 0; allowed: at least one line of each rank"),
    ] {
        let error = MpiTrace::read("list", list, &mut files).unwrap_err().to_string();
        assert!(error.starts_with(message), "{list:?}: {error}");
    }
}

#[test]
fn mistakes_have_their_line_and_what_is_allowed() {
    for (text, message) in [
        ("", "t:1: a trace without ranks; allowed: lines `RANK ACTION ARGUMENTS`"),
        ("0 compute", "t:1: `compute` without a number of flops; allowed: a number of flops after it"),
        ("0 init\n0 compute -1", "t:2: `-1` as a number of flops; allowed: a finite number from 0"),
        ("0 compute nan", "t:1: `nan` as a number of flops; allowed: a finite number from 0"),
        ("0 compute 1 2", "t:1: `compute` with a further argument `2`; allowed: at most one argument"),
        ("0 send 1.5 0 1", "t:1: `1.5` as a rank; allowed: a whole number below 65536"),
        ("0 send 1 2147483648 1", "t:1: `2147483648` as a tag; allowed: a whole number below 2147483648"),
        ("0 send 0 0 -1", "t:1: `-1` as a size; allowed: a finite number from 0"),
        ("0 send 0 0 1e308 26", "t:1: `1e308` elements; allowed: fewer bytes than 1.8e308"),
        (
            "0 send 3 0 1",
            "t:1: there is no rank 3; allowed: a rank below 1, the number of ranks with actions",
        ),
        ("0 gatherv 1 1 7", "t:1: there is no rank 7; allowed: a rank below 1"),
        ("0", "t:1: a rank without an action; allowed: init,"),
        ("0 ibarrier", "t:1: the action `ibarrier`; allowed: init, finalize,"),
        ("0 waitAny 2", "t:1: the action `waitAny`; allowed: init, finalize,"),
        (
            "0 init\n0 comm_split 1",
            "t:2: `comm_split`: ranks in communicators of their own are not replayed; allowed: actions of all",
        ),
        ("99999999 init", "t:1: rank `99999999`; allowed: a whole number below 65536"),
        ("5 init", "t:1: there are 6 ranks, and no line of rank 0; allowed: at least one line of each rank"),
        ("0 barrier 3", "t:1: `barrier` with a further argument `3`; allowed: no argument"),
        ("0 gather 1", "t:1: `gather` without a size; allowed: a size after it"),
        (
            "0 init\n1 init\n0 alltoallv 1 2 3 4 5",
            "t:3: `alltoallv` without a size for rank 1 of 2; allowed:",
        ),
        ("0 reducescatter 1.5 0", "t:1: `1.5` as a size for rank 0 of 1; allowed: a whole number below"),
        (
            "0 scatterv 1 2 0 0 0 0",
            "t:1: `scatterv` with a further argument `0`; allowed: at most 5 arguments",
        ),
        ("0 test 0 0", "t:1: `test` without SENDER RECEIVER TAG; allowed: SENDER RECEIVER TAG after it"),
        (
            "0 wait 1 2 0\n1 init\n2 init",
            "t:1: a request from rank 1 to rank 2, of rank 0; allowed: a rank's own requests",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
}

#[test]
fn a_wait_that_does_not_say_for_what_needs_one_open_request() {
    let trace =
        read("0 init\n1 init\n0 isend 1 7 9\n0 wait\n0 irecv 1 7 9\n0 waitall\n0 isend 1 3 9\n0 wait\n")
            .unwrap();
    assert_eq!(trace.actions(0)[1], Action::Wait((0, 1, 7)));
    assert_eq!(trace.actions(0)[5], Action::Wait((0, 1, 3)));
    for (lines, open) in [
        ("", 0),
        ("0 isend 1 7 9\n0 isend 1 7 9\n", 2),
        ("0 isend 1 7 9\n0 irecv 1 7 9\n0 irecv 1 8 9\n", 3),
        ("0 isend 1 7 9\n0 waitall\n", 0),
        ("0 isend 1 7 9\n0 wait 0 1 7\n", 0),
    ] {
        let message = read(&format!("1 init\n{lines}0 wait\n")).unwrap_err();
        assert!(
            message.contains(&format!("`wait` that does not say for what, with {open} requests open")),
            "{message}"
        );
    }
}

#[test]
fn waits_for_no_request_are_counted() {
    for (lines, idle) in [
        ("0 isend 1 7 9\n0 wait 0 1 7\n", 0),
        ("0 isend 1 7 9\n0 wait 0 1 7\n0 wait 0 1 7\n", 1),
        ("0 isend 1 7 9\n0 wait 0 1 8\n", 1),
        ("0 isend 1 7 9\n0 test 0 1 7\n0 test 0 1 7\n0 wait 0 1 7\n0 test 0 1 7\n", 1),
        ("0 irecv any any 9\n0 wait 1 0 7\n0 wait 1 0 7\n", 1),
        ("0 irecv any 7 9\n0 wait any 0 7\n", 0),
        ("0 irecv 1 7 9\n0 waitall\n0 wait 1 0 7\n", 1),
    ] {
        assert_eq!(read(&format!("1 init\n{lines}")).unwrap().idle_waits(), idle, "{lines:?}");
    }
}
