//! What of the management object model depends on more than calls: reports at a period, and from where
//! federates and modules come.

use std::time::Duration;

use paceline_hla::request;

use crate::harness::Harness;
use crate::manager::{FEDERATE, World};
use crate::manager_orders::{OF_FEDERATE, handle, send, text};

#[test]
fn reports_come_at_their_period() {
    let mut idle = Harness::joined(1);
    assert!(!idle.needs_time(), "nobody watches");
    idle.pass(Duration::from_secs(9));

    let mut world = World::new(2);
    assert!(world.harness.needs_time());
    world.harness.pass(Duration::from_secs(100));
    let timing = format!("{OF_FEDERATE}.HLAadjust.HLAsetTiming");
    send(&mut world.harness, &timing, &[("HLAfederate", &handle(2)), ("HLAreportPeriod", &[0, 0, 0, 2])]);
    world.taken();
    world.harness.pass(Duration::from_millis(101_500));
    assert_eq!(world.taken(), [""; 0], "it is not due");
    world.harness.pass(Duration::from_secs(102));
    let rows = world.taken();
    assert!(rows.contains(&"2 HLAtimeGrantedTime 0 0 7 d0".to_owned()), "2 s: {rows:?}");
    assert!(rows.contains(&"2 HLAtimeAdvancingTime 0 0 0 0".to_owned()), "{rows:?}");
    assert!(rows.iter().all(|row| row.starts_with("2 ")), "it is the second's period: {rows:?}");
    // Time counts as what the federate was in while it passed, and begins anew with each report.
    let lookahead = Some(paceline_hla::LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
    world.harness.ask(1, request::EnableTimeRegulation { lookahead });
    world.harness.ask(2, request::EnableTimeConstrained {});
    let to = Some(paceline_hla::LogicalTime { data: 5.0_f64.to_be_bytes().to_vec().into() });
    world.harness.ask(2, request::TimeAdvanceRequest { time: to });
    world.taken();
    world.harness.pass(Duration::from_millis(103_000));
    assert_eq!(world.taken(), [""; 0]);
    let advancing = world.ask(2, &["HLAtimeAdvancingTime", "HLAtimeGrantedTime"]).join(" ");
    assert!(advancing.contains("HLAtimeAdvancingTime 0 0 3 e8"), "1 s: {advancing}");
    assert!(advancing.contains("HLAtimeGrantedTime 0 0 0 0"), "{advancing}");
    send(&mut world.harness, &timing, &[("HLAfederate", &handle(2)), ("HLAreportPeriod", &[0, 0, 0, 0])]);
    world.taken();
    world.harness.pass(Duration::from_secs(200));
    assert_eq!(world.taken(), [""; 0], "a period of 0 ends the reports");
}

#[test]
fn hosts_and_modules_are_known() {
    let mut world = World::new(1);
    world.harness.set_host(2, "here");
    world.harness.ask(2, request::Connect {});
    let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
    let mut more = crate::harness::module("2025", "<objects/>");
    if let Some(paceline_hla::FomModuleSource::File(file)) = &mut more.source {
        file.name = "more.xml".to_owned();
    }
    let additional_fom_modules = Some(paceline_hla::FomModuleSet { fom_module: vec![more] });
    let join = request::JoinFederationExecutionWithModules {
        federate_type,
        federation_name,
        additional_fom_modules,
    };
    world.harness.ask(2, join);
    world.taken();
    let bytes = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:x}")).collect::<Vec<_>>().join(" ");
    assert_eq!(world.ask(2, &["HLAfederateHost"]), [format!("2 HLAfederateHost {}", bytes(text("here")))]);
    let added = [vec![0, 0, 0, 1], text("more.xml")].concat();
    let list = "HLAFOMmoduleDesignatorList";
    assert_eq!(world.ask(2, &[list]), [format!("2 {list} {}", bytes(added))]);
    let all = [vec![0, 0, 0, 2], text("module.xml"), text("more.xml")].concat();
    assert_eq!(world.ask(0, &[list]), [format!("0 {list} {}", bytes(all))]);
    let mim = format!("0 HLAMIMdesignator {}", bytes(text("HLAstandardMIM")));
    assert_eq!(world.ask(0, &["HLAMIMdesignator"]), [mim]);
    assert_eq!(FEDERATE, OF_FEDERATE);
}
