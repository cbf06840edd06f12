//! MAK's simple federate for its client library in Python, as it is: two of them reflect each other's values.
//!
//! `PACELINE_MAK` names the folder with the library and its examples, `PACELINE_MAK_PYTHON` an interpreter
//! that has what the library needs (protobuf 3). The modules that the federate names are not public; these
//! here have the classes that it asks for.

use std::env::var;
use std::process::{Command, Stdio};

use bytes::Bytes;

use crate::client::Inside;
use crate::running::Running;

/// The federate knows one port only.
const START: &str = "import os, runpy, socket, sys; connect = socket.socket.connect; \
    socket.socket.connect = lambda it, to: connect(it, (to[0], int(os.environ['PORT']))); \
    path = 'examples/simpleFedPro/rtiSimple_FedPro.py'; sys.path[0:0] = ['libsrc', os.path.dirname(path)]; \
    sys.argv = [path]; runpy.run_path(path, run_name='__main__')";

fn elements(element: &str, names: &str) -> String {
    names.split_whitespace().map(|name| format!("<{element}><name>{name}</name></{element}>")).collect()
}

fn module(tables: &str) -> Bytes {
    format!("<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">{tables}</objectModel>").into()
}

fn simple() -> Bytes {
    let attributes = elements(
        "attribute",
        "WorldLocation Orientation VelocityVector AccelerationVector InfraredSignature DamageState \
         NavigationLightsOn LandingLightsOn",
    );
    let ground = elements("attribute", "HeadLightsOn BrakeLightsOn");
    let parameters = elements(
        "parameter",
        "EventIdentifier FireControlSolutionRange FireMissionIndex FiringLocation FiringObjectIdentifier \
         FuseType InitialVelocityVector MunitionObjectIdentifier MunitionType QuantityFired RateOfFire \
         TargetObjectIdentifier WarheadType",
    );
    module(&format!(
        "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>BaseEntity</name>{attributes}\
         <objectClass><name>Aircraft</name></objectClass>\
         <objectClass><name>GroundVehicle</name>{ground}</objectClass></objectClass></objectClass></objects>\
         <interactions><interactionClass><name>HLAinteractionRoot</name>\
         <interactionClass><name>WeaponFire</name>{parameters}</interactionClass></interactionClass>\
         </interactions>"
    ))
}

#[test]
fn two_simple_federates_reflect_each_other() {
    let [Ok(folder), Ok(python)] = ["", "_PYTHON"].map(|name| var(format!("PACELINE_MAK{name}"))) else {
        eprintln!("skipped: PACELINE_MAK and PACELINE_MAK_PYTHON name no client library");
        return;
    };
    let modules = [
        ("MAKsimple1516_2025.xml".to_owned(), simple()),
        ("MAKsimpleExtension1516_2025.xml".to_owned(), module("")),
    ];
    let server = Running::start(Inside { modules: modules.into(), ..Inside::default() });
    let federates = [(); 2].map(|()| {
        let mut program = Command::new(&python);
        program.args(["-u", "-c", START]).current_dir(&folder).env("PORT", server.address.port().to_string());
        program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("there is an interpreter")
    });
    for federate in federates.map(|federate| std::thread::spawn(|| federate.wait_with_output())) {
        let output = federate.join().expect("it waits").expect("it is started");
        let text = String::from_utf8_lossy(&output.stdout);
        for wanted in ["completed successfully", "reflectAttributeValues - ", "receiveInteraction - "] {
            assert!(
                text.contains(wanted),
                "no {wanted:?} in\n{text}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert!(output.status.success(), "{}", output.status);
    }
    server.end();
}
