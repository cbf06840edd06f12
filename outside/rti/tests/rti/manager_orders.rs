//! Interactions of the management object model: what federates ask of the infrastructure, and what it
//! reports.

use std::collections::BTreeMap;

use paceline_hla::{
    Callback, InteractionClassHandle, ParameterHandleValue, ParameterHandleValueMap, Response, callback,
    request,
};

use crate::harness::Harness;
use crate::manager::World;

pub const OF_FEDERATE: &str = "HLAmanager.HLAfederate";
const ON: [u8; 4] = [0, 0, 0, 1];

/// An HLAhandle.
pub fn handle(number: u8) -> Vec<u8> {
    vec![0, 0, 0, 4, 0, 0, 0, number]
}

/// HLAlogicalTime and HLAtimeInterval.
pub fn time(time: f64) -> Vec<u8> {
    [&[0, 0, 0, 8][..], &time.to_be_bytes()].concat()
}

/// An HLAunicodeString of letters without accents.
pub fn text(text: &str) -> Vec<u8> {
    let units = text.bytes().flat_map(|letter| [0, letter]);
    (text.len() as u32).to_be_bytes().into_iter().chain(units).collect()
}

fn parameter(harness: &mut Harness, class: Option<InteractionClassHandle>, name: &str) -> Vec<u8> {
    let call = request::GetParameterHandle { interaction_class: class, parameter_name: name.to_owned() };
    let Response::GetParameterHandle(found) = harness.ask(1, call) else { panic!("its response") };
    found.result.expect("a handle").data.to_vec()
}

/// An interaction of the model with these values, which the first federate publishes from now on.
fn order(harness: &mut Harness, class: &str, values: &[(&str, &[u8])]) -> request::SendInteraction {
    let interaction_class = harness.interaction_class(class);
    harness.ask(1, request::PublishInteractionClass { interaction_class: interaction_class.clone() });
    let mut rows = Vec::new();
    for (name, value) in values {
        let data = parameter(harness, interaction_class.clone(), name).into();
        let (parameter_handle, value) = (Some(paceline_hla::ParameterHandle { data }), value.to_vec().into());
        rows.push(ParameterHandleValue { parameter_handle, value });
    }
    let parameter_values = Some(ParameterHandleValueMap { parameter_handle_value: rows });
    request::SendInteraction { interaction_class, parameter_values, ..Default::default() }
}

pub fn send(harness: &mut Harness, class: &str, values: &[(&str, &[u8])]) {
    let call = order(harness, class, values);
    harness.ask(1, call);
}

/// Asks for something about the second federate.
fn request_of_second(harness: &mut Harness, name: &str) {
    send(harness, &format!("{OF_FEDERATE}.HLArequest.{name}"), &[("HLAfederate", &handle(2))]);
}

/// Subscribes the first federate to a class of reports, and learns the names of its parameters.
fn watch(harness: &mut Harness, class: &str, parameters: &[&str]) -> BTreeMap<Vec<u8>, String> {
    let interaction_class = harness.interaction_class(class);
    harness.ask(1, request::SubscribeInteractionClass { interaction_class: interaction_class.clone() });
    let of = |name: &&str| (parameter(harness, interaction_class.clone(), name), (*name).to_owned());
    parameters.iter().map(of).collect()
}

/// The values of a report, by name, without those of HLAfederate.
fn values(
    message: callback::ReceiveInteraction,
    names: &BTreeMap<Vec<u8>, String>,
) -> BTreeMap<String, Vec<u8>> {
    let rows = message.parameter_values.unwrap_or_default().parameter_handle_value.into_iter();
    let rows = rows.filter_map(|row| {
        Some((names.get(&row.parameter_handle?.data.to_vec())?.clone(), row.value.to_vec()))
    });
    rows.collect()
}

/// The reports that the first federate has received.
fn reports(harness: &mut Harness, names: &BTreeMap<Vec<u8>, String>) -> Vec<BTreeMap<String, Vec<u8>>> {
    let received = harness.taken(1).into_iter().filter_map(|callback| match callback {
        Callback::ReceiveInteraction(message) => Some(values(message, names)),
        _ => None,
    });
    received.collect()
}

/// What one kind of request is answered with.
fn answers(harness: &mut Harness, what: &str, parameters: &[&str]) -> Vec<BTreeMap<String, Vec<u8>>> {
    let names = watch(harness, &format!("{OF_FEDERATE}.HLAreport.HLAreport{what}"), parameters);
    harness.taken(1);
    // Some requests have several kinds of answers.
    let request = match what {
        what if what.ends_with("Publication") => "HLArequestPublications".to_owned(),
        what if what.ends_with("Subscription") => "HLArequestSubscriptions".to_owned(),
        what => format!("HLArequest{what}"),
    };
    request_of_second(harness, &request);
    reports(harness, &names)
}

/// The names of exceptions that were reported, and whether a parameter was wrong.
fn failures(harness: &mut Harness, names: &BTreeMap<Vec<u8>, String>) -> Vec<(String, bool)> {
    let failures = reports(harness, names).into_iter().map(|report| {
        let text: Vec<u8> = report["HLAexception"][4..].iter().copied().skip(1).step_by(2).collect();
        (String::from_utf8(text).expect("letters"), report["HLAparameterError"] == ON)
    });
    failures.collect()
}

fn watch_failures(harness: &mut Harness) -> BTreeMap<Vec<u8>, String> {
    let parameters = ["HLAservice", "HLAexception", "HLAparameterError"];
    watch(harness, &format!("{OF_FEDERATE}.HLAreport.HLAreportMOMexception"), &parameters)
}

#[test]
fn switches_are_set() {
    let mut world = World::new(2);
    let failed = watch_failures(&mut world.harness);
    world.harness.taken(1);
    let class = "HLAmanager.HLAfederation.HLAadjust.HLAsetSwitches";
    send(&mut world.harness, class, &[("HLAautoProvide", &ON)]);
    assert_eq!(world.taken(), ["0 HLAautoProvide 0 0 0 1"]);
    let automatic = world.harness.ask(2, request::GetAutoProvideSwitch {});
    assert!(matches!(automatic, Response::GetAutoProvideSwitch(r) if r.result));
    send(&mut world.harness, class, &[("HLAautoProvide", &ON[1..])]);
    let wanted = "HLAautoProvide: a switch is wanted: 4 bytes, 0 or 1 as a number";
    assert_eq!(failures(&mut world.harness, &failed), [(wanted.to_owned(), true)]);

    let class = "HLAmanager.HLAfederate.HLAadjust.HLAsetSwitches";
    let (second, scope) = (handle(2), ("HLAattributeScopeAdvisory", &ON[..]));
    let call = order(&mut world.harness, class, &[("HLAfederate", &second), scope]);
    world.harness.ask(1, call.clone());
    assert_eq!(world.taken(), ["2 HLAattributeScopeAdvisory 0 0 0 1"]);
    let set = world.harness.ask(2, request::GetAttributeScopeAdvisorySwitch {});
    assert!(matches!(set, Response::GetAttributeScopeAdvisorySwitch(r) if r.result));
    world.harness.refused(2, call, "InteractionClassNotPublished");
    for (values, wanted, is_parameter) in [
        (
            &[("HLAfederate", &handle(9)[..]), scope][..],
            "HLAfederate: it names no federate of the federation",
            true,
        ),
        (&[scope], "HLAfederate: it is missing", true),
        (&[("HLAfederate", &second), ("HLAserviceReporting", &ON)], "not yet: HLAserviceReporting", false),
    ] {
        send(&mut world.harness, class, values);
        assert_eq!(failures(&mut world.harness, &failed), [(wanted.to_owned(), is_parameter)]);
    }
}

/// An array of records of a handle and a number.
fn counts(rows: &[(u8, u8)]) -> Vec<u8> {
    let rows = rows.iter().flat_map(|(of, number)| [handle(*of), vec![0, 0, 0, *number]].concat());
    let rows: Vec<u8> = rows.collect();
    [vec![0, 0, 0, (rows.len() / 12) as u8], rows].concat()
}

/// Federates 1 and 2; the second publishes and subscribes, has a ship, and has sent an update and an
/// interaction. The handle of the class, of the ship and of the interaction.
fn busy() -> (Harness, u8, u8, u8) {
    let mut harness = Harness::joined(2);
    harness.publish(2, "Ship", &["Name"]);
    harness.subscribe(1, "Ship", &["Name"]);
    harness.subscribe(2, "Ship", &["Position"]);
    let ship = harness.register(2, "Ship").expect("a handle");
    let (class, set) = harness.object_class("Ship", &["Name"]);
    let value = paceline_hla::AttributeHandleValue {
        attribute_handle: set.attribute_handle.first().cloned(),
        ..Default::default()
    };
    let attribute_values =
        Some(paceline_hla::AttributeHandleValueMap { attribute_handle_value: vec![value] });
    let object_instance = Some(ship.clone());
    let update = request::UpdateAttributeValues { object_instance, attribute_values, ..Default::default() };
    harness.ask(2, update);
    let interaction_class = harness.interaction_class("Hit");
    harness.ask(2, request::PublishInteractionClass { interaction_class: interaction_class.clone() });
    harness
        .ask(2, request::SubscribeInteractionClassPassively { interaction_class: interaction_class.clone() });
    let hit = interaction_class.clone().expect("a handle").data[3];
    harness.ask(2, request::SendInteraction { interaction_class, ..Default::default() });
    (harness, class.data[3], ship.data[3], hit)
}

#[test]
fn declarations_are_reported() {
    let (mut harness, class, _, hit) = busy();
    let list = |harness: &mut Harness, names: &[&str]| {
        let mut set: Vec<u8> = harness
            .object_class("Ship", names)
            .1
            .attribute_handle
            .iter()
            .map(|attribute| attribute.data[3])
            .collect();
        set.sort_unstable();
        [vec![0, 0, 0, set.len() as u8], set.into_iter().flat_map(handle).collect()].concat()
    };
    let published = ["HLAnumberOfClasses", "HLAobjectClass", "HLAattributeList"];
    let answer = answers(&mut harness, "ObjectClassPublication", &published);
    let attributes = list(&mut harness, &["Name", "HLAprivilegeToDeleteObject"]);
    let [row] = &*answer else { panic!("one class: {answer:?}") };
    assert_eq!((&row["HLAobjectClass"], &row["HLAattributeList"]), (&handle(class), &attributes));
    assert_eq!(row["HLAnumberOfClasses"], ON);
    let answer = answers(&mut harness, "InteractionPublication", &["HLAinteractionClassList"]);
    assert_eq!(answer.len(), 2, "the other kind comes, too: {answer:?}");
    let interactions = [vec![0, 0, 0, 1], handle(hit)].concat();
    assert!(answer.iter().any(|row| row.get("HLAinteractionClassList") == Some(&interactions)), "{answer:?}");
    let answer = answers(&mut harness, "DirectedInteractionPublication", &["HLAnumberOfClasses"]);
    assert!(answer.iter().any(|row| row.get("HLAnumberOfClasses") == Some(&vec![0; 4])), "there is none");

    let subscribed = ["HLAobjectClass", "HLAactive", "HLAmaxUpdateRate", "HLAattributeList"];
    let answer = answers(&mut harness, "ObjectClassSubscription", &subscribed);
    let [row] = &*answer else { panic!("one class: {answer:?}") };
    assert_eq!(row["HLAattributeList"], list(&mut harness, &["Position"]));
    assert_eq!((&row["HLAactive"][..], &row["HLAmaxUpdateRate"]), (&ON[..], &text("HLAdefault")));
    let answer = answers(&mut harness, "InteractionSubscription", &["HLAinteractionClassList"]);
    let passive = counts(&[(hit, 0)]);
    assert!(answer.iter().any(|row| row.get("HLAinteractionClassList") == Some(&passive)), "{answer:?}");
}

#[test]
fn what_was_sent_and_received_is_reported() {
    let (mut harness, class, ship, hit) = busy();
    for (what, parameter, of_reliable) in [
        ("UpdatesSent", "HLAupdateCounts", counts(&[(class, 1)])),
        ("ReflectionsReceived", "HLAreflectCounts", counts(&[])),
        ("InteractionsSent", "HLAinteractionCounts", counts(&[(hit, 1)])),
        ("DirectedInteractionsSent", "HLAinteractionCounts", counts(&[])),
        ("InteractionsReceived", "HLAinteractionCounts", counts(&[])),
        ("DirectedInteractionsReceived", "HLAinteractionCounts", counts(&[])),
    ] {
        let rows: Vec<_> = answers(&mut harness, what, &["HLAtransportation", parameter])
            .into_iter()
            .map(|mut row| (row.remove("HLAtransportation"), row.remove(parameter)))
            .collect();
        let wanted = [(Some(handle(1)), Some(of_reliable)), (Some(handle(2)), Some(counts(&[])))];
        assert_eq!(rows, wanted, "{what}");
    }
    for (what, wanted) in [
        ("ObjectInstancesThatCanBeDeleted", counts(&[(class, 1)])),
        ("ObjectInstancesUpdated", counts(&[(class, 1)])),
        ("ObjectInstancesReflected", counts(&[])),
    ] {
        let answer = answers(&mut harness, what, &["HLAobjectInstanceCounts"]);
        assert_eq!(answer, [[("HLAobjectInstanceCounts".to_owned(), wanted)].into()], "{what}");
    }
    let parameters =
        ["HLAobjectInstance", "HLAownedInstanceAttributeList", "HLAregisteredClass", "HLAknownClass"];
    let report = format!("{OF_FEDERATE}.HLAreport.HLAreportObjectInstanceInformation");
    let names = watch(&mut harness, &report, &parameters);
    harness.taken(1);
    let request = format!("{OF_FEDERATE}.HLArequest.HLArequestObjectInstanceInformation");
    send(&mut harness, &request, &[("HLAfederate", &handle(2)), ("HLAobjectInstance", &handle(ship))]);
    let answer = reports(&mut harness, &names);
    let [row] = &*answer else { panic!("one instance: {answer:?}") };
    assert_eq!((&row["HLAregisteredClass"], &row["HLAknownClass"]), (&handle(class), &handle(class)));
    assert_eq!(row["HLAownedInstanceAttributeList"][..4], [0, 0, 0, 2]);
}

#[test]
fn points_and_modules_of_the_federation_are_reported() {
    let mut harness = Harness::joined(2);
    let synchronization_point_label = "go".to_owned();
    let register = request::RegisterFederationSynchronizationPoint {
        synchronization_point_label: synchronization_point_label.clone(),
        ..Default::default()
    };
    harness.ask(1, register);
    let successfully = true;
    harness.ask(2, request::SynchronizationPointAchieved { synchronization_point_label, successfully });
    let class = |name: &str| format!("HLAmanager.HLAfederation.{name}");
    let mut ask = |request: &str, report: &str, parameters: &[&str], values: &[(&str, &[u8])]| {
        let names = watch(&mut harness, &class(&format!("HLAreport.HLAreport{report}")), parameters);
        harness.taken(1);
        send(&mut harness, &class(&format!("HLArequest.HLArequest{request}")), values);
        reports(&mut harness, &names)
    };
    let answer = ask("SynchronizationPoints", "SynchronizationPoints", &["HLAsyncPoints"], &[]);
    assert_eq!(answer[0]["HLAsyncPoints"], [vec![0, 0, 0, 1], text("go")].concat());
    let parameters = ["HLAsyncPointName", "HLAsyncPointFederates"];
    for values in [&[][..], &[("HLAsyncPointName", &text("go")[..])]] {
        let answer = ask("SynchronizationPointStatus", "SynchronizationPointStatus", &parameters, values);
        assert_eq!(answer[0]["HLAsyncPointFederates"], counts(&[(1, 2), (2, 3)]), "1 is waited for");
    }
    let other = [("HLAsyncPointName", &text("come")[..])];
    let answer = ask("SynchronizationPointStatus", "SynchronizationPointStatus", &parameters, &other);
    assert_eq!(answer.len(), 0);
    let first = [("HLAFOMmoduleIndicator", &[0, 0, 0, 0][..])];
    let answer = ask("FOMmoduleData", "FOMmoduleData", &["HLAFOMmoduleData"], &first);
    let words = text("Tanker")[4..].to_vec();
    assert!(answer[0]["HLAFOMmoduleData"].windows(words.len()).any(|window| window == words));
    let answer = ask("MIMdata", "MIMdata", &["HLAMIMdata"], &[]);
    assert!(answer[0]["HLAMIMdata"].len() > 10_000);
}

#[test]
fn services_are_performed_for_others() {
    let mut harness = Harness::joined(3);
    let failed = watch_failures(&mut harness);
    let second = handle(2);
    let mut ask = |what: &str, values: &[(&str, &[u8])]| {
        let values = [&[("HLAfederate", &second[..])], values].concat();
        send(&mut harness, &format!("{OF_FEDERATE}.HLAservice.{what}"), &values);
        let words: Vec<String> =
            harness.taken(2).into_iter().map(|callback| callback.name().to_owned()).collect();
        (words, failures(&mut harness, &failed))
    };
    let none: Vec<(String, bool)> = Vec::new();
    let one = |name: &str| (vec![name.to_owned()], Vec::new());
    assert_eq!(ask("HLAenableTimeRegulation", &[("HLAlookahead", &time(1.0))]), one("TimeRegulationEnabled"));
    assert_eq!(ask("HLAenableTimeConstrained", &[]), one("TimeConstrainedEnabled"));
    assert_eq!(ask("HLAtimeAdvanceRequest", &[("HLAtimeStamp", &time(3.0))]), one("TimeAdvanceGrant"));
    let (callbacks, failure) = ask("HLAtimeAdvanceRequest", &[("HLAtimeStamp", &time(2.0))]);
    assert_eq!(callbacks.len(), 0);
    assert!(failure[0].0.starts_with("LogicalTimeAlreadyPassed") && !failure[0].1, "{failure:?}");
    let (_, failure) = ask("HLAtimeAdvanceRequest", &[]);
    assert_eq!(failure, [("HLAtimeStamp: it is missing".to_owned(), true)]);
    assert_eq!(ask("HLAfederateSaveBegun", &[]).1, [("not yet: HLAfederateSaveBegun".to_owned(), false)]);
    assert_eq!(ask("HLAdisableTimeConstrained", &[]), (Vec::new(), none));
    let (callbacks, _) = ask("HLAresignFederationExecution", &[("HLAresignAction", &[0, 0, 0, 6])]);
    assert_eq!(callbacks, ["FederateResigned"]);
    harness.refused(2, request::QueryLogicalTime {}, "FederateNotExecutionMember");
    let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
    harness.ask(2, request::JoinFederationExecution { federate_type, federation_name });
}

#[test]
fn exceptions_are_reported_where_that_is_wanted() {
    let mut harness = Harness::joined(2);
    let report = format!("{OF_FEDERATE}.HLAreport.HLAreportException");
    let names = watch(&mut harness, &report, &["HLAservice", "HLAexception"]);
    harness.taken(1);
    harness.refused(2, request::QueryLookahead {}, "TimeRegulationIsNotEnabled");
    assert_eq!(reports(&mut harness, &names).len(), 0);
    harness.ask(2, request::SetExceptionReportingSwitch { value: true });
    harness.refused(2, request::QueryLookahead {}, "TimeRegulationIsNotEnabled");
    let [row] = &*reports(&mut harness, &names) else { panic!("one report") };
    assert_eq!(row["HLAservice"], text("QueryLookahead"));
    assert_eq!(row["HLAexception"], text("TimeRegulationIsNotEnabled"));
    let report = format!("{OF_FEDERATE}.HLAreport.HLAreportFederateLost");
    let names = watch(&mut harness, &report, &["HLAfederateName", "HLAtimeStamp"]);
    harness.lose(2);
    let [row] = &*reports(&mut harness, &names) else { panic!("one report") };
    assert_eq!((&row["HLAfederateName"], &row["HLAtimeStamp"]), (&text("f2"), &time(0.0)));
}
