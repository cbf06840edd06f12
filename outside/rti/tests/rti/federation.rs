//! Connecting, creating, joining, listing, resigning and destroying.

use paceline_hla::{
    Bytes, Callback, FileFomModule, FomModule, FomModuleSet, FomModuleSource, ResignAction, Response, request,
};

use crate::harness::{Harness, module, small_module};

fn create(name: &str) -> request::CreateFederationExecution {
    let (federation_name, fom_module) = (name.to_owned(), Some(small_module()));
    request::CreateFederationExecution { federation_name, fom_module }
}

fn join(kind: &str, federation: &str) -> request::JoinFederationExecution {
    let (federate_type, federation_name) = (kind.to_owned(), federation.to_owned());
    request::JoinFederationExecution { federate_type, federation_name }
}

fn named(name: &str, federation: &str) -> request::JoinFederationExecutionWithName {
    let (federate_name, federation_name) = (name.to_owned(), federation.to_owned());
    request::JoinFederationExecutionWithName {
        federate_name,
        federate_type: "test".to_owned(),
        federation_name,
    }
}

fn resign() -> request::ResignFederationExecution {
    request::ResignFederationExecution { resign_action: ResignAction::NoAction.into() }
}

fn destroy(name: &str) -> request::DestroyFederationExecution {
    request::DestroyFederationExecution { federation_name: name.to_owned() }
}

/// Names and types that a client is told of a federation's members.
fn members(harness: &mut Harness, client: u32, federation: &str) -> Option<Vec<(String, String)>> {
    let federation_name = federation.to_owned();
    harness.ask(client, request::ListFederationExecutionMembers { federation_name });
    match harness.taken(client).pop().expect("a callback follows") {
        Callback::ReportFederationExecutionMembers(report) => {
            let rows = report.report.unwrap_or_default().federation_execution_member_information;
            Some(rows.into_iter().map(|row| (row.federate_name, row.federate_type)).collect())
        }
        Callback::ReportFederationExecutionDoesNotExist(_) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn services_come_in_their_order() {
    let mut harness = Harness::default();
    harness.refused(1, create("F"), "NotConnected");
    harness.refused(1, request::Disconnect {}, "NotConnected");
    harness.ask(1, request::ConnectWithConfiguration { rti_configuration: None });
    harness.refused(1, request::Connect {}, "AlreadyConnected");
    harness.refused(1, resign(), "FederateNotExecutionMember");
    harness.refused(1, join("a", "F"), "FederationExecutionDoesNotExist");
    harness.refused(1, destroy("F"), "FederationExecutionDoesNotExist");
    harness.ask(1, create("F"));
    harness.refused(1, create("F"), "FederationExecutionAlreadyExists");
    harness.ask(1, join("a", "F"));
    harness.refused(1, join("a", "F"), "FederateAlreadyExecutionMember");
    harness.refused(1, request::Disconnect {}, "FederateIsExecutionMember");
    assert_eq!(harness.refused(1, destroy("F"), "FederatesCurrentlyJoined"), "still there: a-1");
    harness.refused(1, request::ResignFederationExecution { resign_action: 6 }, "InvalidResignAction");
    harness.ask(1, resign());
    harness.ask(1, destroy("F"));
    harness.ask(1, request::Disconnect {});
    harness.ask(1, request::Connect {});
}

#[test]
fn names_of_federates_differ_and_handles_are_not_used_again() {
    let mut harness = Harness::default();
    (1..=4)
        .for_each(|client| assert!(matches!(harness.ask(client, request::Connect {}), Response::Connect(_))));
    harness.ask(1, create("F"));
    let handle = |response| match response {
        Response::JoinFederationExecution(joined) => joined.result,
        Response::JoinFederationExecutionWithName(joined) => joined.result,
        other => panic!("{other:?}"),
    };
    let handle = |response| handle(response).unwrap().federate_handle.unwrap().data;
    assert_eq!(handle(harness.ask(1, named("a-2", "F"))), &[0, 0, 0, 1][..]);
    harness.refused(2, named("a-2", "F"), "FederateNameAlreadyInUse");
    assert_eq!(
        handle(harness.ask(2, join("a", "F"))),
        &[0, 0, 0, 2][..],
        "its name is not one that is taken"
    );
    harness.ask(1, resign());
    assert_eq!(handle(harness.ask(3, named("a-2", "F"))), &[0, 0, 0, 3][..]);
    let rows = [("a-2-1", "a"), ("a-2", "test")].map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    assert_eq!(members(&mut harness, 4, "F"), Some(rows.to_vec()));
    assert_eq!(members(&mut harness, 4, "G"), None);
}

#[test]
fn federations_are_listed_with_their_times() {
    let mut harness = Harness::default();
    harness.ask(1, request::Connect {});
    harness.ask(1, create("B"));
    let with_time = |name: &str, time: &str| request::CreateFederationExecutionWithTime {
        federation_name: name.to_owned(),
        fom_module: Some(small_module()),
        logical_time_implementation_name: time.to_owned(),
    };
    harness.ask(1, with_time("A", "HLAinteger64Time"));
    let details = harness.refused(1, with_time("C", "Ticks"), "CouldNotCreateLogicalTimeFactory");
    assert_eq!(details, "Ticks is not known; HLAfloat64Time and HLAinteger64Time are");
    harness.ask(1, request::ListFederationExecutions {});
    let [Callback::ReportFederationExecutions(report)] = &*harness.taken(1) else { panic!("one callback") };
    let rows = &report.report.as_ref().unwrap().federation_execution_information;
    let rows = rows
        .iter()
        .map(|row| (row.federation_execution_name.as_str(), row.logical_time_implementation_name.as_str()));
    assert_eq!(rows.collect::<Vec<_>>(), [("A", "HLAinteger64Time"), ("B", "HLAfloat64Time")]);
}

#[test]
fn who_is_lost_has_resigned() {
    let mut harness = Harness::joined(2);
    harness.lose(1);
    assert_eq!(members(&mut harness, 2, "F").map(|rows| rows.len()), Some(1));
    harness.refused(1, resign(), "NotConnected");
    harness.ask(2, resign());
    harness.ask(2, destroy("F"));
}

#[test]
fn modules_that_do_not_fit_are_refused_and_change_nothing() {
    let mut harness = Harness::joined(1);
    harness.ask(2, request::Connect {});
    let join = |module: FomModule| request::JoinFederationExecutionWithModules {
        federate_type: "test".to_owned(),
        federation_name: "F".to_owned(),
        additional_fom_modules: Some(FomModuleSet { fom_module: vec![module] }),
    };
    let ship = |below: &str| {
        let class = format!("<objectClass><name>Ship</name>{below}</objectClass>");
        format!("<objects><objectClass><name>HLAobjectRoot</name>{class}</objectClass></objects>")
    };
    let more = ship("<attribute><name>Crew</name></attribute>");
    let details = harness.refused(2, join(module("2010", &more)), "InconsistentFOM");
    assert_eq!(
        details,
        "module.xml: HLAobjectRoot.Ship exists with Name, Position, here it has Crew; a module of 2010 repeats all \
         of them or none"
    );
    harness.refused(2, join(module("2010", "<objects")), "ErrorReadingFOM");
    harness.refused(2, join(module("1998", &more)), "InvalidFOM");
    let source = |source| FomModule { source: Some(source) };
    let url = source(FomModuleSource::Url("http://example.com/fom.xml".to_owned()));
    let details = harness.refused(2, join(url), "CouldNotOpenFOM");
    assert_eq!(details, "the module http://example.com/fom.xml is not there");
    harness.refused(2, join(source(FomModuleSource::Compressed(Bytes::new()))), "CouldNotOpenFOM");
    harness.refused(2, join(FomModule { source: None }), "CouldNotOpenFOM");
    let latin = FileFomModule { name: "x".to_owned(), content: Bytes::from_static(&[0xe9]) };
    harness.refused(2, join(source(FomModuleSource::File(latin))), "ErrorReadingFOM");
    let class = || request::GetObjectClassHandle { object_class_name: "Ship.Ferry".to_owned() };
    harness.refused(1, class(), "NameNotFound");
    harness.ask(2, join(module("2010", &ship("<objectClass><name>Ferry</name></objectClass>"))));
    harness.ask(1, class());
}

#[test]
fn a_federation_may_bring_its_own_mim_but_not_send_the_standard_one() {
    let mut harness = Harness::default();
    harness.ask(1, request::Connect {});
    let create = |mim: FomModuleSource| request::CreateFederationExecutionWithMIM {
        federation_name: "F".to_owned(),
        fom_modules: None,
        mim_module: Some(FomModule { source: Some(mim) }),
    };
    let standard = FomModuleSource::Url("HLAstandardMIM".to_owned());
    harness.refused(1, create(standard), "DesignatorIsHLAstandardMIM");
    harness.refused(1, create(FomModuleSource::Url("mim.xml".to_owned())), "CouldNotOpenMIM");
    let ship = "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ship</name></objectClass>\
                </objectClass></objects>";
    harness.ask(1, create(module("2025", ship).source.expect("a file")));
    harness.ask(1, join("a", "F"));
    harness.ask(1, request::GetObjectClassHandle { object_class_name: "Ship".to_owned() });
    harness.refused(
        1,
        request::GetObjectClassHandle { object_class_name: "HLAmanager".to_owned() },
        "NameNotFound",
    );
}

#[test]
fn a_name_is_not_empty() {
    let mut harness = Harness::default();
    harness.ask(1, request::Connect {});
    harness.ask(1, create("F"));
    for name in ["", " "] {
        harness.refused(1, create(name), "RTIinternalError");
        harness.refused(1, destroy(name), "RTIinternalError");
        harness.refused(1, named(name, "F"), "RTIinternalError");
    }
    harness.ask(1, join("without a name", "F"));
}
