//! Interactions for the infrastructure, those of the management object model that federates send.
//!
//! Each is sent like any other interaction, and then carried out. What cannot be carried out changes nothing
//! and is reported (HLAreportMOMexception); the call that has sent it is answered all the same, as the
//! standard has it.

use std::collections::BTreeMap;

use paceline_hla::{Bytes, Call, InteractionClassHandle, Response, request, response};

use super::super::Federation;
use super::super::message::Stamp;
use super::super::switches::Switch;
use super::encoding::{Read, boolean, read_boolean, read_handle, read_integer, text, time};
use crate::exception::{Answer, CallError};
use crate::handles::number;

/// Before the names of the classes of the model.
pub(super) const MANAGER: &str = "HLAinteractionRoot.HLAmanager.";

/// Why an interaction is not carried out.
pub(super) struct Failure {
    details: String,
    /// A parameter is missing, or not as its type wants it.
    is_parameter: bool,
}

impl Failure {
    pub(super) fn of_parameter(name: &str, details: &str) -> Self {
        Self { details: format!("{name}: {details}"), is_parameter: true }
    }

    pub(super) fn of_service(details: impl Into<String>) -> Self {
        Self { details: details.into(), is_parameter: false }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::of_service(error.to_string())
    }
}

/// The parameters of an interaction, by name.
pub(super) struct Parameters(BTreeMap<String, Bytes>);

impl Parameters {
    /// A parameter that may be missing.
    pub(super) fn optional<'a, T>(
        &'a self,
        name: &str,
        read: impl Fn(&'a [u8]) -> Read<T>,
    ) -> Result<Option<T>, Failure> {
        let value = self.0.get(name).map(|bytes| read(bytes)).transpose();
        value.map_err(|details| Failure::of_parameter(name, details))
    }

    pub(super) fn get<'a, T>(&'a self, name: &str, read: impl Fn(&'a [u8]) -> Read<T>) -> Result<T, Failure> {
        self.optional(name, read)?.ok_or_else(|| Failure::of_parameter(name, "it is missing"))
    }
}

impl Federation {
    /// Whether an interaction is for the infrastructure.
    pub(in super::super) fn is_order(&self, class: Option<&InteractionClassHandle>) -> bool {
        let row = number(class).ok().and_then(|class| self.fom.interactions.class(class));
        row.is_some_and(|row| row.name.starts_with(MANAGER))
    }

    /// Sends an interaction for the infrastructure, and carries it out.
    pub(in super::super) fn take_order(&mut self, federate: u32, call: Call) -> Answer<Response> {
        let (request, time, has_time) = match call {
            Call::SendInteraction(request) => (request, None, false),
            Call::SendInteractionWithTime(r) => {
                let (interaction_class, parameter_values) = (r.interaction_class, r.parameter_values);
                let user_supplied_tag = r.user_supplied_tag;
                let request =
                    request::SendInteraction { interaction_class, parameter_values, user_supplied_tag };
                (request, Some(r.time.unwrap_or_default()), true)
            }
            call => return self.manage_ownership(federate, call),
        };
        let class = self.interaction_class(request.interaction_class.as_ref())?;
        let values = request.parameter_values.clone().unwrap_or_default().parameter_handle_value;
        let stamp = self.send(federate, request, time.as_ref())?;
        let named = values.into_iter().filter_map(|value| {
            let row = self.fom.interactions.member(number(value.parameter_handle.as_ref()).ok()?)?;
            Some((row.name.clone(), value.value))
        });
        let parameters = Parameters(named.collect());
        if let Err(failure) = self.carry_out(class, &parameters) {
            self.report_failure(federate, class, &failure);
        }
        Ok(if has_time {
            response::SendInteractionWithTime { result: Stamp::retraction_return(stamp) }.into()
        } else {
            response::SendInteraction {}.into()
        })
    }

    /// Carries out an interaction. Modules may add classes below those of the model.
    fn carry_out(&mut self, class: u32, parameters: &Parameters) -> Result<(), Failure> {
        let classes: Vec<String> = self
            .fom
            .interactions
            .lineage(class)
            .filter_map(|above| self.fom.interactions.class(above))
            .map(|row| row.name.clone())
            .collect();
        for name in classes.iter().filter_map(|name| name.strip_prefix(MANAGER)) {
            let parts: Vec<&str> = name.split('.').collect();
            match *parts {
                ["HLAfederation", "HLAadjust", "HLAsetSwitches"] => return self.set_auto_provide(parameters),
                ["HLAfederation", "HLArequest", what] => return self.report_federation(what, parameters),
                ["HLAfederate", kind, what] => {
                    let about = parameters.get("HLAfederate", read_handle)?;
                    if !self.federates.contains_key(&about) {
                        let details = "it names no federate of the federation";
                        return Err(Failure::of_parameter("HLAfederate", details));
                    }
                    return match kind {
                        "HLAadjust" => self.adjust(about, what, parameters),
                        "HLArequest" => self.report_federate(about, what, parameters),
                        "HLAservice" => self.serve_for(about, what, parameters),
                        // Reports are the infrastructure's own.
                        _ => Ok(()),
                    };
                }
                _ => {}
            }
        }
        // Others group classes.
        Ok(())
    }

    fn set_auto_provide(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        self.auto_provide = Some(parameters.get("HLAautoProvide", read_boolean)?);
        self.watch.mark(0);
        Ok(())
    }

    fn adjust(&mut self, about: u32, what: &str, parameters: &Parameters) -> Result<(), Failure> {
        match what {
            "HLAsetTiming" => {
                let seconds = parameters.get("HLAreportPeriod", read_integer)?;
                // The type has a sign; nothing is reported at a period that is none.
                let period = if seconds > i32::MAX as u32 { 0 } else { seconds };
                self.set_report_period(about, period);
                Ok(())
            }
            "HLAsetSwitches" => self.adjust_switches(about, parameters),
            "HLAsetExceptionReporting" => {
                let value = parameters.get("HLAreportingState", read_boolean)?;
                self.turn(about, Switch::ExceptionReporting, value);
                self.watch.mark(about);
                Ok(())
            }
            "HLAsetServiceReporting" if !parameters.get("HLAreportingState", read_boolean)? => Ok(()),
            "HLAmodifyAttributeState" => {
                let object = parameters.get("HLAobjectInstance", read_handle)?;
                let attribute = parameters.get("HLAattribute", read_handle)?;
                let is_owned = parameters.get("HLAattributeState", read_boolean)?;
                self.modify_ownership(about, object, attribute, is_owned)
            }
            what => Err(Failure::of_service(format!("not yet: {what}"))),
        }
    }

    /// All switches that are named are set, or none.
    fn adjust_switches(&mut self, about: u32, parameters: &Parameters) -> Result<(), Failure> {
        let mut set = Vec::new();
        for name in parameters.0.keys().filter(|name| *name != "HLAfederate") {
            let value = parameters.get(name, read_boolean)?;
            let switch = match &**name {
                "HLAobjectClassRelevanceAdvisory" => Switch::ObjectClassRelevance,
                "HLAattributeRelevanceAdvisory" => Switch::AttributeRelevance,
                "HLAattributeScopeAdvisory" => Switch::AttributeScope,
                "HLAinteractionRelevanceAdvisory" => Switch::InteractionRelevance,
                "HLAconveyRegionDesignatorSets" => Switch::ConveyRegions,
                "HLAexceptionReporting" => Switch::ExceptionReporting,
                // That of HLA 4 is always conveyed.
                "HLAconveyProducingFederate" if value => continue,
                name if !value && name != "HLAconveyProducingFederate" => continue,
                name => return Err(Failure::of_service(format!("not yet: {name}"))),
            };
            set.push((switch, value));
        }
        set.into_iter().for_each(|(switch, value)| self.turn(about, switch, value));
        self.watch.mark(about);
        Ok(())
    }

    /// The federate comes to own an attribute that nobody does, or gives up one of its own.
    fn modify_ownership(
        &mut self,
        about: u32,
        object: u32,
        attribute: u32,
        is_owned: bool,
    ) -> Result<(), Failure> {
        let known = self.federates[&about].known.get(&object);
        let Some(class) = known.filter(|class| self.fom.objects.has_member(**class, attribute)) else {
            return Err(Failure::of_service("the federate knows no such attribute of such an instance"));
        };
        let declared = self.federates[&about].declarations.published.get(class);
        let is_published = declared.is_some_and(|attributes| attributes.contains(&attribute));
        let owner = self.objects[&object].owners.get(&attribute).copied();
        match (is_owned, owner) {
            (true, Some(owner)) if owner == about => Ok(()),
            (true, None) if is_published => {
                self.set_owner(about, object, attribute);
                Ok(())
            }
            (false, Some(owner)) if owner == about => {
                self.divest_where(about, |_, instance, one| (instance, one) == (object, attribute));
                Ok(())
            }
            (true, _) => Err(Failure::of_service("somebody owns the attribute, or it is not published")),
            (false, _) => Err(Failure::of_service("the federate does not own the attribute")),
        }
    }

    fn report_failure(&mut self, federate: u32, class: u32, failure: &Failure) {
        let service = self.fom.interactions.class(class).map(|row| row.name.clone()).unwrap_or_default();
        let values = [
            ("HLAservice", text(&service)),
            ("HLAexception", text(&failure.details)),
            ("HLAparameterError", boolean(failure.is_parameter)),
        ];
        self.report(federate, "HLAreportMOMexception", &values);
    }

    /// Reports that a federate is lost.
    pub(in super::super) fn report_loss(&mut self, federate: u32) {
        let member = &self.federates[&federate];
        let values = [
            ("HLAfederateName", text(&member.name)),
            ("HLAtimeStamp", time(Some(member.clock.now))),
            ("HLAfaultDescription", text("its client is gone")),
        ];
        self.report(federate, "HLAreportFederateLost", &values);
    }

    /// Reports that a call was refused, if the federate wants that.
    pub(in super::super) fn report_exception(&mut self, federate: u32, service: &str, error: &CallError) {
        let is_on = |row: &super::super::Federate| row.switches.contains(&Switch::ExceptionReporting);
        if self.federates.get(&federate).is_some_and(is_on) {
            let values =
                [("HLAservice", text(service)), ("HLAexception", text(&format!("{:?}", error.exception)))];
            self.report(federate, "HLAreportException", &values);
        }
    }
}
