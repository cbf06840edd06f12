//! All federations and all who are connected: the services that are there before a federate has joined.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_hla::{
    Call, Callback, ConfigurationResult, FederationExecutionInformation, FederationExecutionInformationSet,
    FederationExecutionMemberInformation, FederationExecutionMemberInformationSet, FomModule, FomModuleSet,
    JoinResult, Response, callback, response,
};

use crate::client::Client;
use crate::evolved::EvolvedClients;
use crate::exception::{Answer, CallError, Exception, not_yet};
use crate::federation::documents::Documents;
use crate::federation::{Federation, Newcomer};
use crate::fom::Fom;
use crate::handles::Handle;
use crate::limits::RtiLimits;
use crate::time::TimeKind;

mod administration;
mod modules;

use modules::{check_bytes, documents, merged, read_mim, read_modules};

/// A federation, and the handle there.
#[derive(Clone, Debug)]
struct Membership {
    /// Shared: it is copied with each call.
    federation: Arc<str>,
    federate: u32,
}

/// The run-time infrastructure.
///
/// ```
/// use paceline_rti::{Client, Rti};
/// use paceline_hla::{Response, request};
///
/// let (mut rti, mut callbacks) = (Rti::default(), Vec::new());
/// let mut call = |call| rti.call(Client(1), call, &mut callbacks);
/// assert!(matches!(call(request::Connect {}.into()), Response::Connect(_)));
/// assert!(matches!(call(request::ListFederationExecutions {}.into()), Response::ListFederationExecutions(_)));
/// let [(Client(1), callback)] = &*callbacks else { panic!("one callback follows") };
/// assert_eq!(callback.name(), "ReportFederationExecutions");
/// ```
#[derive(Debug, Default)]
pub struct Rti {
    /// Who is connected, and where it has joined.
    clients: BTreeMap<Client, Option<Membership>>,
    federations: BTreeMap<String, Federation>,
    evolved: EvolvedClients,
    /// From where clients are connected, as far as that was said.
    hosts: BTreeMap<Client, String>,
    limits: RtiLimits,
}

/// All that the six ways to create a federation have in common.
#[derive(Default)]
struct Creation {
    name: String,
    modules: Option<FomModuleSet>,
    mim: Option<FomModule>,
    time: String,
}

/// All that the four ways to join have in common.
#[derive(Default)]
struct Joining {
    federation: String,
    kind: String,
    name: String,
    modules: Option<FomModuleSet>,
}

fn one(module: Option<FomModule>) -> Option<FomModuleSet> {
    Some(FomModuleSet { fom_module: module.into_iter().collect() })
}

/// Nothing of what a client may set is used: the address was, by whoever has brought the client here.
fn configuration_result() -> Option<ConfigurationResult> {
    Some(ConfigurationResult::default())
}

/// Clients send a name that is missing as one without letters.
fn check_name(name: &str, what: &str) -> Answer<()> {
    if name.trim().is_empty() {
        return Err(CallError::new(Exception::RTIinternalError, format!("the name of a {what} is empty")));
    }
    Ok(())
}

fn absent(federation: &str) -> CallError {
    CallError::new(
        Exception::FederationExecutionDoesNotExist,
        format!("no federation is called {federation:?}"),
    )
}

impl Rti {
    /// Answers a call. The callbacks that it causes, to whomever, are added to `callbacks` in their order.
    /// Modules are files here: whoever calls opens those that are named and unpacks archives.
    pub fn call(&mut self, client: Client, call: Call, callbacks: &mut Vec<(Client, Callback)>) -> Response {
        let first = callbacks.len();
        if !self.clients.contains_key(&client) {
            self.evolved.note(client, &call);
        }
        let mut response = self.answer(client, call, callbacks).unwrap_or_else(Response::from);
        self.evolved.adapt_response(client, &mut response);
        self.evolved.adapt_callbacks(&mut callbacks[first..]);
        response
    }

    /// The answer to a call that the table of messages does not have.
    pub fn unknown_call() -> Response {
        CallError::new(Exception::RTIinternalError, "the call is none of HLA 4").into()
    }

    /// The client is gone and will not come back: it resigns as its automatic resign directive says, and is
    /// disconnected.
    pub fn remove(&mut self, client: Client, callbacks: &mut Vec<(Client, Callback)>) {
        self.evolved.forget(client);
        self.hosts.remove(&client);
        let Some(Some(Membership { federation, federate })) = self.clients.remove(&client) else { return };
        let federation =
            self.federations.get_mut(&*federation).expect("one with a federate is not destroyed");
        federation.leave(federate);
        self.evolved.adapt_callbacks(&mut federation.callbacks);
        callbacks.append(&mut federation.callbacks);
    }

    fn answer(&mut self, client: Client, call: Call, out: &mut Vec<(Client, Callback)>) -> Answer<Response> {
        match call {
            Call::Connect(_) => {
                self.connect(client)?;
                Ok(response::Connect { configuration_result: configuration_result() }.into())
            }
            Call::ConnectWithCredentials(_) => {
                self.connect(client)?;
                Ok(response::ConnectWithCredentials { configuration_result: configuration_result() }.into())
            }
            Call::ConnectWithConfiguration(_) => {
                self.connect(client)?;
                Ok(response::ConnectWithConfiguration { configuration_result: configuration_result() }.into())
            }
            Call::ConnectWithConfigurationAndCredentials(_) => {
                self.connect(client)?;
                let configuration_result = configuration_result();
                Ok(response::ConnectWithConfigurationAndCredentials { configuration_result }.into())
            }
            call => {
                let Some(membership) = self.clients.get(&client) else {
                    return Err(CallError::new(Exception::NotConnected, "connect comes first"));
                };
                let membership = membership.clone();
                self.answer_connected(client, membership, call, out)
            }
        }
    }

    fn connect(&mut self, client: Client) -> Answer<()> {
        if self.clients.contains_key(&client) {
            return Err(CallError::new(Exception::AlreadyConnected, "disconnect comes first"));
        }
        self.clients.insert(client, None);
        Ok(())
    }

    fn answer_connected(
        &mut self,
        client: Client,
        membership: Option<Membership>,
        call: Call,
        out: &mut Vec<(Client, Callback)>,
    ) -> Answer<Response> {
        match call {
            Call::Disconnect(_) => {
                if membership.is_some() {
                    return Err(CallError::new(Exception::FederateIsExecutionMember, "resign comes first"));
                }
                self.clients.remove(&client);
                Ok(response::Disconnect {}.into())
            }
            Call::ListFederationExecutions(_) => {
                out.push((client, self.report_federations()));
                Ok(response::ListFederationExecutions {}.into())
            }
            Call::ListFederationExecutionMembers(request) => {
                out.push((client, self.report_members(request.federation_name)));
                Ok(response::ListFederationExecutionMembers {}.into())
            }
            Call::DestroyFederationExecution(request) => {
                check_name(&request.federation_name, "federation")?;
                self.destroy(&request.federation_name)
            }
            Call::CreateFederationExecution(_)
            | Call::CreateFederationExecutionWithTime(_)
            | Call::CreateFederationExecutionWithModules(_)
            | Call::CreateFederationExecutionWithModulesAndTime(_)
            | Call::CreateFederationExecutionWithMIM(_)
            | Call::CreateFederationExecutionWithMIMAndTime(_) => self.answer_creation(call),
            Call::JoinFederationExecution(_)
            | Call::JoinFederationExecutionWithModules(_)
            | Call::JoinFederationExecutionWithName(_)
            | Call::JoinFederationExecutionWithNameAndModules(_) => {
                self.answer_joining(client, membership.as_ref(), call, out)
            }
            call => {
                let Some(Membership { federation, federate }) = membership else {
                    return Err(CallError::new(Exception::FederateNotExecutionMember, "join comes first"));
                };
                let federation = self.federations.get_mut(&*federation);
                let federation = federation.expect("one with a federate is not destroyed");
                let resigns = matches!(call, Call::ResignFederationExecution(_));
                let response = federation.call(federate, call).inspect_err(|_| {
                    // It may be reported that a call was refused.
                    out.append(&mut federation.callbacks);
                })?;
                out.append(&mut federation.callbacks);
                let mut resigned = std::mem::take(&mut federation.resigned);
                resigned.extend(resigns.then_some(client));
                resigned.into_iter().for_each(|client| drop(self.clients.insert(client, None)));
                Ok(response)
            }
        }
    }

    fn answer_creation(&mut self, call: Call) -> Answer<Response> {
        macro_rules! create {
            ($name:ident { $request:ident => $($field:ident: $value:expr),* }) => {{
                let mut creation = Creation { name: $request.federation_name, ..Creation::default() };
                $(creation.$field = $value;)*
                self.create(creation)?;
                Ok(response::$name {}.into())
            }};
        }
        match call {
            Call::CreateFederationExecution(r) => {
                create!(CreateFederationExecution { r => modules: one(r.fom_module) })
            }
            Call::CreateFederationExecutionWithTime(r) => create!(CreateFederationExecutionWithTime {
                r => modules: one(r.fom_module), time: r.logical_time_implementation_name
            }),
            Call::CreateFederationExecutionWithModules(r) => {
                create!(CreateFederationExecutionWithModules { r => modules: r.fom_modules })
            }
            Call::CreateFederationExecutionWithModulesAndTime(r) => {
                create!(CreateFederationExecutionWithModulesAndTime {
                    r => modules: r.fom_modules, time: r.logical_time_implementation_name
                })
            }
            Call::CreateFederationExecutionWithMIM(r) => create!(CreateFederationExecutionWithMIM {
                r => modules: r.fom_modules, mim: r.mim_module
            }),
            Call::CreateFederationExecutionWithMIMAndTime(r) => {
                create!(CreateFederationExecutionWithMIMAndTime {
                    r => modules: r.fom_modules, mim: r.mim_module, time: r.logical_time_implementation_name
                })
            }
            call => Err(not_yet(&call)),
        }
    }

    fn create(&mut self, creation: Creation) -> Answer<()> {
        let Creation { name, modules, mim, time } = creation;
        check_name(&name, "federation")?;
        if self.federations.contains_key(&name) {
            let details = format!("a federation is called {name:?} already");
            return Err(CallError::new(Exception::FederationExecutionAlreadyExists, details));
        }
        self.check_room()?;
        let time = TimeKind::named(&time)?;
        let mut kept = Documents::new(documents(&mim).pop());
        let files = documents(modules.iter().flat_map(|set| &set.fom_module));
        // Before they are read, which takes more than keeping them.
        check_bytes(&kept, &files, self.limits)?;
        let mut fom = Fom::default();
        fom.merge(&read_mim(mim.as_ref())?)
            .map_err(|error| CallError::new(Exception::InvalidMIM, error.to_string()))?;
        let fom = merged(&fom, &read_modules(modules)?)?;
        kept.keep(files);
        self.federations.insert(name.clone(), Federation::new(name, fom, time, (self.limits, kept)));
        Ok(())
    }

    fn answer_joining(
        &mut self,
        client: Client,
        membership: Option<&Membership>,
        call: Call,
        out: &mut Vec<(Client, Callback)>,
    ) -> Answer<Response> {
        if let Some(Membership { federation, .. }) = membership {
            let details = format!("resign from {federation:?} comes first");
            return Err(CallError::new(Exception::FederateAlreadyExecutionMember, details));
        }
        macro_rules! join {
            ($name:ident { $request:ident => $($field:ident: $value:expr),* }) => {{
                let (federation, kind) = ($request.federation_name, $request.federate_type);
                let mut joining = Joining { federation, kind, ..Joining::default() };
                $(joining.$field = $value;)*
                Ok(response::$name { result: Some(self.join(client, joining, out)?) }.into())
            }};
        }
        match call {
            Call::JoinFederationExecution(r) => join!(JoinFederationExecution { r => modules: None }),
            Call::JoinFederationExecutionWithModules(r) => {
                join!(JoinFederationExecutionWithModules { r => modules: r.additional_fom_modules })
            }
            Call::JoinFederationExecutionWithName(r) => {
                check_name(&r.federate_name, "federate")?;
                join!(JoinFederationExecutionWithName { r => name: r.federate_name })
            }
            Call::JoinFederationExecutionWithNameAndModules(r) => {
                check_name(&r.federate_name, "federate")?;
                join!(JoinFederationExecutionWithNameAndModules {
                    r => name: r.federate_name, modules: r.additional_fom_modules
                })
            }
            call => Err(not_yet(&call)),
        }
    }

    fn join(
        &mut self,
        client: Client,
        joining: Joining,
        out: &mut Vec<(Client, Callback)>,
    ) -> Answer<JoinResult> {
        let Joining { federation: name, kind, name: federate_name, modules } = joining;
        let federation = self.federations.get_mut(&name).ok_or_else(|| absent(&name))?;
        federation.check_federate_name(&federate_name)?;
        let files = documents(modules.iter().flat_map(|set| &set.fom_module));
        check_bytes(&federation.documents, &files, self.limits)?;
        let modules = read_modules(modules)?;
        if !modules.is_empty() {
            federation.fom = merged(&federation.fom, &modules)?;
        }
        let modules = federation.documents.keep(files);
        let (host, is_evolved) =
            (self.hosts.get(&client).cloned().unwrap_or_default(), self.evolved.has(client));
        let newcomer = Newcomer { client, kind, name: federate_name, host, modules, is_evolved };
        let federate = federation.join(newcomer);
        let time = federation.time.name().to_owned();
        self.evolved.join(client, &federation.fom);
        out.append(&mut federation.callbacks);
        self.clients.insert(client, Some(Membership { federation: name.into(), federate }));
        Ok(JoinResult { federate_handle: Handle::some(federate), logical_time_implementation_name: time })
    }

    fn destroy(&mut self, name: &str) -> Answer<Response> {
        let federation = self.federations.get(name).ok_or_else(|| absent(name))?;
        let members: Vec<_> = federation.members().map(|(name, _)| name).collect();
        if !members.is_empty() {
            let details = format!("still there: {}", members.join(", "));
            return Err(CallError::new(Exception::FederatesCurrentlyJoined, details));
        }
        self.federations.remove(name);
        Ok(response::DestroyFederationExecution {}.into())
    }

    fn report_federations(&self) -> Callback {
        let row = |federation: &Federation| FederationExecutionInformation {
            federation_execution_name: federation.name.clone(),
            logical_time_implementation_name: federation.time.name().to_owned(),
        };
        let federation_execution_information = self.federations.values().map(row).collect();
        let report = Some(FederationExecutionInformationSet { federation_execution_information });
        callback::ReportFederationExecutions { report }.into()
    }

    fn report_members(&self, federation_name: String) -> Callback {
        let Some(federation) = self.federations.get(&federation_name) else {
            return callback::ReportFederationExecutionDoesNotExist { federation_name }.into();
        };
        let row = |(name, kind): (&str, &str)| FederationExecutionMemberInformation {
            federate_name: name.to_owned(),
            federate_type: kind.to_owned(),
        };
        let federation_execution_member_information = federation.members().map(row).collect();
        let report =
            Some(FederationExecutionMemberInformationSet { federation_execution_member_information });
        callback::ReportFederationExecutionMembers { federation_name, report }.into()
    }
}
