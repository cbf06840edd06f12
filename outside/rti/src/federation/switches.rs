//! Switches of federates and of the federation, and the support services that ask what one federate has
//! declared or knows.
//!
//! Invariant: whoever joins has the switches that the modules turn on. Reports of services are not there yet,
//! so that their switches are off and cannot be turned on.

use std::collections::BTreeSet;

use paceline_hla::{Call, DimensionHandle, DimensionHandleSet, Response, response};

use super::Federation;
use crate::exception::{Answer, CallError, Exception, not_yet};
use crate::handles::{Handle, number};

/// What a federate may turn on and off for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Switch {
    ObjectClassRelevance,
    AttributeRelevance,
    AttributeScope,
    InteractionRelevance,
    ConveyRegions,
    ExceptionReporting,
}

/// Each with the name that modules have for it.
const SWITCHES: [(Switch, &str); 6] = [
    (Switch::ObjectClassRelevance, "objectClassRelevanceAdvisory"),
    (Switch::AttributeRelevance, "attributeRelevanceAdvisory"),
    (Switch::AttributeScope, "attributeScopeAdvisory"),
    (Switch::InteractionRelevance, "interactionRelevanceAdvisory"),
    (Switch::ConveyRegions, "conveyRegionDesignatorSets"),
    (Switch::ExceptionReporting, "exceptionReporting"),
];

/// Whether what a module says of a switch means that it is on: a boolean of XML.
pub(super) fn is_on(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value == "1"
}

impl Federation {
    /// Whether the modules turn a switch on.
    pub(super) fn is_on_by_modules(&self, name: &str) -> bool {
        self.fom.switch(name).is_some_and(is_on)
    }

    /// The switches that are on for who joins.
    pub(super) fn first_switches(&self) -> BTreeSet<Switch> {
        let on = SWITCHES.iter().filter(|(_, name)| self.is_on_by_modules(name));
        on.map(|(switch, _)| *switch).collect()
    }

    /// Whether owners are asked for values as soon as somebody discovers an instance.
    pub(super) fn provides_automatically(&self) -> bool {
        self.auto_provide.unwrap_or_else(|| self.is_on_by_modules("autoProvide"))
    }

    pub(super) fn turn(&mut self, federate: u32, switch: Switch, value: bool) {
        let switches = &mut self.federates.get_mut(&federate).expect("it has joined").switches;
        if value {
            switches.insert(switch);
        } else {
            switches.remove(&switch);
        }
    }

    /// Answers a support service that depends on the federate. The last of all groups of services.
    pub(super) fn support_federate(&mut self, federate: u32, call: &Call) -> Answer<Response> {
        match call {
            Call::NormalizeObjectInstanceHandle(r) => {
                let known = self.known_object(federate, r.object_instance.as_ref()).map_err(|error| {
                    CallError { exception: Exception::InvalidObjectInstanceHandle, ..error }
                });
                Ok(response::NormalizeObjectInstanceHandle { result: known?.0 }.into())
            }
            Call::GetUpdateRateValueForAttribute(r) => {
                let (object, class) = self.known_object(federate, r.object_instance.as_ref())?;
                let attribute = number(r.attribute.as_ref())
                    .ok()
                    .filter(|attribute| self.fom.objects.has_member(class, *attribute));
                let details = || format!("{:?} has no such attribute", self.objects[&object].name);
                let attribute =
                    attribute.ok_or_else(|| CallError::new(Exception::AttributeNotDefined, details()))?;
                let result = self.rate_of(federate, class, attribute);
                Ok(response::GetUpdateRateValueForAttribute { result }.into())
            }
            Call::GetAvailableDimensionsForObjectClass(r) => {
                let table = &self.fom.objects;
                let class = number(r.object_class.as_ref())?;
                let details = || format!("no object class has the handle {class}");
                table
                    .class(class)
                    .ok_or_else(|| CallError::new(Exception::InvalidObjectClassHandle, details()))?;
                let members = table.all_members(class).filter_map(|member| table.member(member));
                let result = self.dimension_set(members.flat_map(|member| member.dimensions()));
                Ok(response::GetAvailableDimensionsForObjectClass { result }.into())
            }
            Call::GetAvailableDimensionsForInteractionClass(r) => {
                let table = &self.fom.interactions;
                let class = number(r.interaction_class.as_ref())?;
                let details = || format!("no interaction class has the handle {class}");
                table
                    .class(class)
                    .ok_or_else(|| CallError::new(Exception::InvalidInteractionClassHandle, details()))?;
                let classes = table.lineage(class).filter_map(|above| table.class(above));
                let result = self.dimension_set(classes.flat_map(|class| class.dimensions()));
                Ok(response::GetAvailableDimensionsForInteractionClass { result }.into())
            }
            call => self.switch_for_federate(federate, call),
        }
    }

    /// The updates a second that a federate has asked for; 0 if it wants all.
    fn rate_of(&self, federate: u32, class: u32, attribute: u32) -> f64 {
        let declared = &self.federates[&federate].declarations;
        let subscribed = self.closest_subscribed(federate, class);
        let name = subscribed.and_then(|class| declared.rates.get(&(class, attribute)));
        name.and_then(|name| self.fom.update_rate(name)?.parse().ok()).unwrap_or_default()
    }

    fn dimension_set<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<DimensionHandleSet> {
        let handles: BTreeSet<u32> = names.filter_map(|name| self.fom.dimension(name)).collect();
        let dimension_handle = handles.into_iter().map(DimensionHandle::of).collect();
        Some(DimensionHandleSet { dimension_handle })
    }

    fn switch_for_federate(&mut self, federate: u32, call: &Call) -> Answer<Response> {
        macro_rules! get {
            ($name:ident, $switch:ident) => {{
                let result = self.federates[&federate].switches.contains(&Switch::$switch);
                Ok(response::$name { result }.into())
            }};
        }
        macro_rules! set {
            ($name:ident, $switch:ident, $value:expr) => {{
                self.turn(federate, Switch::$switch, $value);
                Ok(response::$name {}.into())
            }};
        }
        match call {
            Call::GetObjectClassRelevanceAdvisorySwitch(_) => {
                get!(GetObjectClassRelevanceAdvisorySwitch, ObjectClassRelevance)
            }
            Call::SetObjectClassRelevanceAdvisorySwitch(r) => {
                set!(SetObjectClassRelevanceAdvisorySwitch, ObjectClassRelevance, r.value)
            }
            Call::GetAttributeRelevanceAdvisorySwitch(_) => {
                get!(GetAttributeRelevanceAdvisorySwitch, AttributeRelevance)
            }
            Call::SetAttributeRelevanceAdvisorySwitch(r) => {
                set!(SetAttributeRelevanceAdvisorySwitch, AttributeRelevance, r.value)
            }
            Call::GetAttributeScopeAdvisorySwitch(_) => {
                get!(GetAttributeScopeAdvisorySwitch, AttributeScope)
            }
            Call::SetAttributeScopeAdvisorySwitch(r) => {
                set!(SetAttributeScopeAdvisorySwitch, AttributeScope, r.value)
            }
            Call::GetInteractionRelevanceAdvisorySwitch(_) => {
                get!(GetInteractionRelevanceAdvisorySwitch, InteractionRelevance)
            }
            Call::SetInteractionRelevanceAdvisorySwitch(r) => {
                set!(SetInteractionRelevanceAdvisorySwitch, InteractionRelevance, r.value)
            }
            Call::GetConveyRegionDesignatorSetsSwitch(_) => {
                get!(GetConveyRegionDesignatorSetsSwitch, ConveyRegions)
            }
            Call::SetConveyRegionDesignatorSetsSwitch(r) => {
                set!(SetConveyRegionDesignatorSetsSwitch, ConveyRegions, r.value)
            }
            Call::GetExceptionReportingSwitch(_) => get!(GetExceptionReportingSwitch, ExceptionReporting),
            Call::SetExceptionReportingSwitch(r) => {
                set!(SetExceptionReportingSwitch, ExceptionReporting, r.value)
            }
            call => self.switch_of_federation(call),
        }
    }

    fn switch_of_federation(&self, call: &Call) -> Answer<Response> {
        macro_rules! get {
            ($name:ident, $switch:literal) => {
                Ok(response::$name { result: self.is_on_by_modules($switch) }.into())
            };
        }
        match call {
            Call::GetAutoProvideSwitch(_) => {
                Ok(response::GetAutoProvideSwitch { result: self.provides_automatically() }.into())
            }
            Call::GetDelaySubscriptionEvaluationSwitch(_) => {
                get!(GetDelaySubscriptionEvaluationSwitch, "delaySubscriptionEvaluation")
            }
            Call::GetAdvisoriesUseKnownClassSwitch(_) => {
                get!(GetAdvisoriesUseKnownClassSwitch, "advisoriesUseKnownClass")
            }
            Call::GetAllowRelaxedDDMSwitch(_) => get!(GetAllowRelaxedDDMSwitch, "allowRelaxedDDM"),
            Call::GetNonRegulatedGrantSwitch(_) => {
                Ok(response::GetNonRegulatedGrantSwitch { result: self.grants_non_regulated }.into())
            }
            // No service is reported yet, so that these are off.
            Call::GetServiceReportingSwitch(_) => {
                Ok(response::GetServiceReportingSwitch { result: false }.into())
            }
            Call::GetSendServiceReportsToFileSwitch(_) => {
                Ok(response::GetSendServiceReportsToFileSwitch { result: false }.into())
            }
            Call::SetServiceReportingSwitch(r) if !r.value => {
                Ok(response::SetServiceReportingSwitch {}.into())
            }
            Call::SetSendServiceReportsToFileSwitch(r) if !r.value => {
                Ok(response::SetSendServiceReportsToFileSwitch {}.into())
            }
            call => Err(not_yet(call)),
        }
    }
}
