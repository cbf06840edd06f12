//! Clients whose federates are written for HLA Evolved (IEEE 1516-2010): they know fewer exceptions, one
//! grant for all advances, and are called with the producing federate only where the object model says so.
//!
//! A client library for both editions says so in the settings of a connection: `API.version=IEEE 1516-2010`.

use std::collections::BTreeMap;

use paceline_hla::{Call, Callback, Response, callback};

use crate::client::Client;
use crate::fom::Fom;

const SETTING: &str = "API.version=IEEE 1516-2010";

/// Those who have connected so, and whether they are called with producing federates.
#[derive(Debug, Default)]
pub(crate) struct EvolvedClients(BTreeMap<Client, bool>);

/// The exception of 2010 that says what one of 2025 does. Client libraries take the names of modules as they
/// were in 2025, and turn them into those of 2010 themselves, but for one that they leave as it is.
fn exception_of_2010(name: &str) -> Option<&'static str> {
    Some(match name {
        "InvalidFOM" => "ErrorReadingFOM",
        "InvalidMIM" => "ErrorReadingMIM",
        "InconsistentFOM" => "InconsistentFDD",
        "InvalidCredentials" => "Unauthorized",
        "InvalidObjectInstanceHandle" => "ObjectInstanceNotKnown",
        "InvalidTransportationTypeHandle" => "InvalidTransportationType",
        "ReportServiceInvocationsAreSubscribed" => "FederateServiceInvocationsAreBeingReportedViaMOM",
        _ => return None,
    })
}

impl EvolvedClients {
    /// Looks at how a client connects.
    pub(crate) fn note(&mut self, client: Client, call: &Call) {
        let configuration = match call {
            Call::ConnectWithConfiguration(r) => r.rti_configuration.as_ref(),
            Call::ConnectWithConfigurationAndCredentials(r) => r.rti_configuration.as_ref(),
            _ => None,
        };
        let mut settings = configuration.into_iter().flat_map(|it| it.additional_settings.lines());
        if settings.any(|setting| setting.trim() == SETTING) {
            self.0.insert(client, false);
        } else {
            self.0.remove(&client);
        }
    }

    /// The client has joined a federation with this object model.
    pub(crate) fn join(&mut self, client: Client, fom: &Fom) {
        if let Some(conveys_producer) = self.0.get_mut(&client) {
            let switch = fom.switch("conveyProducingFederate");
            *conveys_producer = switch.is_some_and(|value| value.eq_ignore_ascii_case("true"));
        }
    }

    pub(crate) fn has(&self, client: Client) -> bool {
        self.0.contains_key(&client)
    }

    pub(crate) fn forget(&mut self, client: Client) {
        self.0.remove(&client);
    }

    pub(crate) fn adapt_response(&self, client: Client, response: &mut Response) {
        let Response::Exception(exception) = response else { return };
        if let Some(name) =
            exception_of_2010(&exception.exception_name).filter(|_| self.0.contains_key(&client))
        {
            exception.exception_name = name.to_owned();
        }
    }

    pub(crate) fn adapt_callbacks(&self, callbacks: &mut [(Client, Callback)]) {
        if self.0.is_empty() {
            return;
        }
        for (client, callback) in callbacks {
            let Some(conveys_producer) = self.0.get(client) else { continue };
            if !conveys_producer {
                remove_producer(callback);
            }
            // In 2010 a flushed queue ended with the same grant as any other advance.
            if let Callback::FlushQueueGrant(grant) = callback {
                *callback = callback::TimeAdvanceGrant { time: grant.time.take() }.into();
            }
        }
    }
}

fn remove_producer(callback: &mut Callback) {
    match callback {
        Callback::DiscoverObjectInstance(it) => it.producing_federate = None,
        Callback::ReflectAttributeValues(it) => it.producing_federate = None,
        Callback::ReflectAttributeValuesWithTime(it) => it.producing_federate = None,
        Callback::ReceiveInteraction(it) => it.producing_federate = None,
        Callback::ReceiveInteractionWithTime(it) => it.producing_federate = None,
        Callback::RemoveObjectInstance(it) => it.producing_federate = None,
        Callback::RemoveObjectInstanceWithTime(it) => it.producing_federate = None,
        _ => {}
    }
}
