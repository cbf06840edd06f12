//! An infrastructure with clients that call it and keep what they are called with.

use std::collections::BTreeMap;

use paceline_hla::{
    AttributeHandleSet, Call, Callback, ExceptionData, FileFomModule, FomModule, FomModuleSet,
    FomModuleSource, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, Response, request,
};
use paceline_rti::{Client, Rti};

#[derive(Default)]
pub struct Harness {
    rti: Rti,
    callbacks: BTreeMap<Client, Vec<Callback>>,
}

/// A module of the edition with these tables.
pub fn module(edition: &str, tables: &str) -> FomModule {
    let text = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-{edition}">{tables}</objectModel>"#
    );
    let file = FileFomModule { name: "module.xml".to_owned(), content: text.into() };
    FomModule { source: Some(FomModuleSource::File(file)) }
}

/// A module with a class of objects and one of interactions, for tests that need some.
pub fn small_module() -> FomModule {
    let attributes = ["Position", "Name"].map(|name| format!("<attribute><name>{name}</name></attribute>"));
    let tanker = "<objectClass><name>Tanker</name><attribute><name>Load</name>\
                  <transportation>HLAbestEffort</transportation></attribute></objectClass>";
    let hard = "<interactionClass><name>Hard</name><order>TimeStamp</order><parameter><name>Damage</name></parameter></interactionClass>";
    module(
        "2025",
        &format!(
            "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ship</name>{}{tanker}</objectClass>\
             </objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>\
             <interactionClass><name>Hit</name><parameter><name>Where</name></parameter>{hard}</interactionClass>\
             </interactionClass></interactions>",
            attributes.concat()
        ),
    )
}

impl Harness {
    /// A federation `F` with the small module and this many federates `f1`, `f2`, ... whose clients and
    /// handles are 1, 2, ...
    pub fn joined(federates: u32) -> Self {
        Self::joined_with(federates, "")
    }

    /// The same with times of this kind.
    pub fn joined_with(federates: u32, time: &str) -> Self {
        let mut harness = Self::default();
        for number in 1..=federates {
            harness.ask(number, request::Connect {});
            if number == 1 {
                let fom_modules = Some(FomModuleSet { fom_module: vec![small_module()] });
                let federation_name = "F".to_owned();
                let create = request::CreateFederationExecutionWithModulesAndTime {
                    federation_name,
                    fom_modules,
                    logical_time_implementation_name: time.to_owned(),
                };
                harness.ask(number, create);
            }
            harness.ask(
                number,
                request::JoinFederationExecutionWithName {
                    federate_name: format!("f{number}"),
                    federate_type: "test".to_owned(),
                    federation_name: "F".to_owned(),
                },
            );
        }
        harness.callbacks.clear();
        harness
    }

    pub fn call(&mut self, client: u32, call: impl Into<Call>) -> Response {
        let mut callbacks = Vec::new();
        let response = self.rti.call(Client(client), call.into(), &mut callbacks);
        self.keep(callbacks);
        response
    }

    fn keep(&mut self, callbacks: Vec<(Client, Callback)>) {
        for (client, callback) in callbacks {
            self.callbacks.entry(client).or_default().push(callback);
        }
    }

    /// A call that is not refused.
    #[track_caller]
    pub fn ask(&mut self, client: u32, call: impl Into<Call>) -> Response {
        let call = call.into();
        let name = call.name();
        match self.call(client, call) {
            Response::Exception(exception) => panic!("{name}: {exception:?}"),
            response => response,
        }
    }

    /// A call that is refused with this exception.
    #[track_caller]
    pub fn refused(&mut self, client: u32, call: impl Into<Call>, exception: &str) -> String {
        let call = call.into();
        let name = call.name();
        match self.call(client, call) {
            Response::Exception(ExceptionData { exception_name, details }) => {
                assert_eq!(exception_name, exception, "{name}: {details}");
                details
            }
            response => panic!("{name} is answered: {response:?}"),
        }
    }

    /// The handle of an object class and those of some of its attributes.
    pub fn object_class(
        &mut self,
        class: &str,
        attributes: &[&str],
    ) -> (ObjectClassHandle, AttributeHandleSet) {
        let call = request::GetObjectClassHandle { object_class_name: class.to_owned() };
        let Response::GetObjectClassHandle(found) = self.ask(1, call) else { panic!("its response") };
        let handle = found.result.expect("a handle");
        let attribute = |name: &&str| {
            let (object_class, attribute_name) = (Some(handle.clone()), (*name).to_owned());
            let call = request::GetAttributeHandle { object_class, attribute_name };
            let Response::GetAttributeHandle(found) = self.ask(1, call) else { panic!("its response") };
            found.result.expect("a handle")
        };
        let attribute_handle = attributes.iter().map(attribute).collect();
        (handle, AttributeHandleSet { attribute_handle })
    }

    /// The handle of an interaction class.
    pub fn interaction_class(&mut self, class: &str) -> Option<InteractionClassHandle> {
        let call = request::GetInteractionClassHandle { interaction_class_name: class.to_owned() };
        let Response::GetInteractionClassHandle(found) = self.ask(1, call) else { panic!("its response") };
        found.result
    }

    pub fn publish(&mut self, federate: u32, class: &str, attributes: &[&str]) {
        let (class, attributes) = self.object_class(class, attributes);
        let (object_class, attributes) = (Some(class), Some(attributes));
        self.ask(federate, request::PublishObjectClassAttributes { object_class, attributes });
    }

    pub fn subscribe(&mut self, federate: u32, class: &str, attributes: &[&str]) {
        let (class, attributes) = self.object_class(class, attributes);
        let (object_class, attributes) = (Some(class), Some(attributes));
        self.ask(federate, request::SubscribeObjectClassAttributes { object_class, attributes });
    }

    pub fn register(&mut self, federate: u32, class: &str) -> Option<ObjectInstanceHandle> {
        let object_class = Some(self.object_class(class, &[]).0);
        let response = self.ask(federate, request::RegisterObjectInstance { object_class });
        let Response::RegisterObjectInstance(registered) = response else { panic!("its response") };
        registered.result
    }

    /// The host's time has come so far.
    pub fn pass(&mut self, now: std::time::Duration) {
        let mut callbacks = Vec::new();
        self.rti.pass(now, &mut callbacks);
        self.keep(callbacks);
    }

    /// Whether the infrastructure asks for the host's time.
    pub fn needs_time(&self) -> bool {
        self.rti.needs_time()
    }

    /// From where a client is connected.
    pub fn set_host(&mut self, client: u32, host: &str) {
        self.rti.set_host(Client(client), host);
    }

    /// The client is lost.
    pub fn lose(&mut self, client: u32) {
        let mut callbacks = Vec::new();
        self.rti.remove(Client(client), &mut callbacks);
        self.keep(callbacks);
    }

    /// The callbacks since the last look.
    pub fn taken(&mut self, client: u32) -> Vec<Callback> {
        self.callbacks.remove(&Client(client)).unwrap_or_default()
    }
}
