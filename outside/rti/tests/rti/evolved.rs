//! Clients of HLA Evolved, which say so when they connect.

use paceline_hla::{Callback, FomModuleSet, LogicalTime, Response, RtiConfiguration, request};

use crate::harness::{Harness, module, small_module};

fn connect(settings: &str) -> request::ConnectWithConfiguration {
    let additional_settings = settings.to_owned();
    let rti_configuration = Some(RtiConfiguration { additional_settings, ..RtiConfiguration::default() });
    request::ConnectWithConfiguration { rti_configuration }
}

/// A federate of 2010 and one of 2025 that subscribe to what a third one has.
fn discoveries(switches: &str) -> Vec<(bool, bool)> {
    let mut harness = Harness::default();
    for (client, settings) in [(1, ""), (2, "other=1\nAPI.version=IEEE 1516-2010\n"), (3, "API.version=9")] {
        harness.ask(client, connect(settings));
        if client == 1 {
            let switches = module("2010", &format!("<switches>{switches}</switches>"));
            harness.ask(
                client,
                request::CreateFederationExecutionWithModules {
                    federation_name: "F".to_owned(),
                    fom_modules: Some(FomModuleSet { fom_module: vec![small_module(), switches] }),
                },
            );
        }
        let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
        harness.ask(client, request::JoinFederationExecution { federate_type, federation_name });
    }
    harness.publish(1, "Ship", &["Name"]);
    harness.register(1, "Ship");
    let found = [2, 3].map(|client| {
        harness.subscribe(client, "Ship", &["Name"]);
        harness.taken(client).into_iter().map(move |callback| match callback {
            Callback::DiscoverObjectInstance(found) => (client == 2, found.producing_federate.is_some()),
            other => panic!("{other:?}"),
        })
    });
    found.into_iter().flatten().collect()
}

#[test]
fn producers_are_told_of_where_a_module_says_so() {
    assert_eq!(discoveries(""), [(true, false), (false, true)]);
    let off = "<conveyProducingFederate isEnabled=\"false\"/>";
    assert_eq!(discoveries(off), [(true, false), (false, true)]);
    let on = "<conveyProducingFederate isEnabled=\"true\"/>";
    assert_eq!(discoveries(on), [(true, true), (false, true)]);
}

#[test]
fn exceptions_are_those_of_the_edition() {
    let wrong = "<objects><objectClass><name>Ship</name></objectClass></objects>";
    for (settings, wanted) in [("", "InvalidFOM"), ("API.version=IEEE 1516-2010", "ErrorReadingFOM")] {
        let mut harness = Harness::default();
        harness.ask(1, connect(settings));
        let create = request::CreateFederationExecution {
            federation_name: "F".to_owned(),
            fom_module: Some(module("2010", wrong)),
        };
        let Response::Exception(exception) = harness.call(1, create.clone()) else {
            panic!("a class is below no root")
        };
        assert_eq!(exception.exception_name, wanted);
        // Whoever connects again may be another one.
        harness.ask(1, request::Disconnect {});
        harness.ask(1, connect(""));
        harness.refused(1, create, "InvalidFOM");
    }
}

#[test]
fn a_flushed_queue_ends_with_a_grant_that_the_edition_knows() {
    let mut harness = Harness::default();
    harness.ask(1, connect("API.version=IEEE 1516-2010"));
    let (federation_name, fom_modules) =
        ("F".to_owned(), Some(FomModuleSet { fom_module: vec![small_module()] }));
    harness.ask(1, request::CreateFederationExecutionWithModules { federation_name, fom_modules });
    let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
    harness.ask(1, request::JoinFederationExecution { federate_type, federation_name });
    let time = Some(LogicalTime { data: 2.5_f64.to_be_bytes().to_vec().into() });
    harness.ask(1, request::FlushQueueRequest { time: time.clone() });
    let grants = harness.taken(1);
    assert!(matches!(&*grants, [Callback::TimeAdvanceGrant(grant)] if grant.time == time), "{grants:?}");
}
