//! An infrastructure with clients that call it and keep what they are called with.

use std::collections::BTreeMap;

use paceline_hla::{
    Call, Callback, ExceptionData, FileFomModule, FomModule, FomModuleSet, FomModuleSource, Response, request,
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
    module(
        "2025",
        &format!(
            "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ship</name>{}</objectClass>\
             </objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>\
             <interactionClass><name>Hit</name><parameter><name>Where</name></parameter></interactionClass>\
             </interactionClass></interactions>",
            attributes.concat()
        ),
    )
}

impl Harness {
    /// A federation `F` with the small module and this many federates `f1`, `f2`, ... whose clients and
    /// handles are 1, 2, ...
    pub fn joined(federates: u32) -> Self {
        let mut harness = Self::default();
        for number in 1..=federates {
            harness.ask(number, request::Connect {});
            if number == 1 {
                let fom_modules = Some(FomModuleSet { fom_module: vec![small_module()] });
                let federation_name = "F".to_owned();
                let create = request::CreateFederationExecutionWithModules { federation_name, fom_modules };
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
