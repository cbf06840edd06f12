//! Damaged input of one client: no panic, every call that could be read is answered once, and other clients
//! are served as if nothing had been.

use std::time::Duration;

use bytes::Bytes;
use paceline_fedpro::{Connection, FRAME_MAX, FrameReader, Host, Kind, Limits, unpack};
use paceline_hla::{ResignAction, request};
use proptest::prelude::*;

use crate::archives::pack;
use crate::client::{Client, Inside};
use crate::hosts::{ask, create_named, exchange, join, opened, register, written};

/// What a client sends that creates a federation, joins it and does a few things.
fn conversation(client: &mut Client) -> Vec<u8> {
    let resign = request::ResignFederationExecution { resign_action: ResignAction::NoAction.into() };
    let calls = [
        client.call(request::Connect {}).1,
        client.call(create_named("F")).1,
        client.call(join()).1,
        client.call(register(1)).1,
        client.call(request::ListFederationExecutions {}).1,
        client.call(resign).1,
        client.terminate(),
    ];
    calls.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn damage_concerns_its_sender_only(
        changes in prop::collection::vec((0..1000_usize, any::<u8>()), 0..6),
        cuts in prop::collection::vec(1..200_usize, 1..20),
        opens in any::<bool>(),
    ) {
        let mut host = Host::with_limits(Inside::with_module(), Limits::default());
        let mut good = opened(&mut host, 1);
        ask(&mut host, 1, &mut good, request::Connect {});
        let (mut bad, opening) = Client::open();
        host.connect(Connection(2));
        let mut bytes = Vec::new();
        if opens {
            exchange(&mut host, 2, &mut bad, &opening);
        } else {
            bytes.extend(opening);
            // The number that its session will have here.
            bad.session = good.session + 1;
        }
        bytes.extend(conversation(&mut bad));
        for (place, value) in &changes {
            let place = place % bytes.len();
            bytes[place] ^= value;
        }
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            host.receive(Connection(2), now);
            host.serve();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let mut reader = FrameReader::default();
        reader.set_limit(FRAME_MAX);
        reader.push(&written(&mut host, 2).0);
        let mut answers = 0;
        while let Some(frame) = reader.next_frame().expect("only frames are written") {
            answers += usize::from(frame.kind == Kind::CallResponse);
        }
        // One for each frame at most: what ends the session may have become a call, too.
        prop_assert!(answers <= 7);
        if changes.iter().all(|(_, value)| *value == 0) {
            prop_assert_eq!(answers, 6);
        }
        host.lose(Connection(2), Duration::ZERO);
        host.expire(Duration::from_secs(60));
        ask(&mut host, 1, &mut good, request::ListFederationExecutions {});
        prop_assert_eq!(host.status().members.len(), 1, "the other one is gone");
    }

    #[test]
    fn any_bytes_are_an_archive_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300), changes in prop::collection::vec((0..300_usize, any::<u8>()), 0..4), packs in any::<bool>()) {
        if packs {
            bytes = pack(&bytes, 8);
            for (place, value) in changes {
                let place = place % bytes.len();
                bytes[place] ^= value;
            }
        }
        if let Err(error) = unpack(&bytes) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn modules_that_are_no_modules_are_refused() {
    let mut host = Host::with_limits(Inside::with_module(), Limits::default());
    let mut client = opened(&mut host, 1);
    ask(&mut host, 1, &mut client, request::Connect {});
    for (content, exception) in [
        (&b"\xff\xfe"[..], "ErrorReadingFOM"),
        (b"<objectModel>", "ErrorReadingFOM"),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><objectModel>&a;</objectModel>", "InvalidFOM"),
        (&b"<a>".repeat(100_000), "InvalidFOM"),
    ] {
        let mut create = create_named("F");
        let file =
            paceline_hla::FileFomModule { name: "m".to_owned(), content: Bytes::copy_from_slice(content) };
        create.fom_module =
            Some(paceline_hla::FomModule { source: Some(paceline_hla::FomModuleSource::File(file)) });
        let response = ask(&mut host, 1, &mut client, create);
        let paceline_hla::Response::Exception(refused) = &response else { panic!("{response:?}") };
        assert_eq!(refused.exception_name, exception, "{}", refused.details);
    }
}
