//! Which service of ownership answers which call.

use paceline_hla::{AttributeHandleSet, Call, Response, response};

use super::super::Federation;
use super::Divestiture;
use crate::exception::{Answer, CallError, Exception};
use crate::handles::attribute_set;

impl Federation {
    /// Answers a call about ownership; others go on to the next group of services.
    pub(in super::super) fn manage_ownership(&mut self, federate: u32, call: Call) -> Answer<Response> {
        Ok(match call {
            Call::UnconditionalAttributeOwnershipDivestiture(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let owned = self.owned_attributes(federate, object, set, |_, _| None)?;
                self.divest_unconditionally(owned, &r.user_supplied_tag);
                response::UnconditionalAttributeOwnershipDivestiture {}.into()
            }
            Call::NegotiatedAttributeOwnershipDivestiture(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let owned = self.owned_attributes(federate, object, set, |object, attribute| {
                    (self.divestiture(object, attribute) != Divestiture::Unwanted)
                        .then_some((Exception::AttributeAlreadyBeingDivested, "is being divested already"))
                })?;
                self.negotiate(federate, owned, &r.user_supplied_tag);
                response::NegotiatedAttributeOwnershipDivestiture {}.into()
            }
            Call::ConfirmDivestiture(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.confirmed_attributes.as_ref());
                let owned = self.owned_attributes(federate, object, set, |object, attribute| {
                    self.refused_as_not_divested(object, attribute).or_else(|| {
                        (!self.is_awaited(object, attribute))
                            .then_some((Exception::NoAcquisitionPending, "is wanted by nobody"))
                    })
                })?;
                self.confirm(owned, &r.user_supplied_tag);
                response::ConfirmDivestiture {}.into()
            }
            Call::AttributeOwnershipReleaseDenied(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let owned = self.owned_attributes(federate, object, set, |_, _| None)?;
                self.deny(owned, &r.user_supplied_tag);
                response::AttributeOwnershipReleaseDenied {}.into()
            }
            Call::AttributeOwnershipDivestitureIfWanted(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let owned = self.owned_attributes(federate, object, set, |_, _| None)?;
                let result = attribute_set(self.divest_if_wanted(owned, &r.user_supplied_tag));
                response::AttributeOwnershipDivestitureIfWanted { result }.into()
            }
            Call::CancelNegotiatedAttributeOwnershipDivestiture(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let owned = self.owned_attributes(federate, object, set, |object, attribute| {
                    self.refused_as_not_divested(object, attribute)
                })?;
                self.cancel_negotiation(federate, owned);
                response::CancelNegotiatedAttributeOwnershipDivestiture {}.into()
            }
            call => return self.acquire_ownership(federate, call),
        })
    }

    fn refused_as_not_divested(&self, object: u32, attribute: u32) -> Option<(Exception, &'static str)> {
        (self.divestiture(object, attribute) == Divestiture::Unwanted)
            .then_some((Exception::AttributeDivestitureWasNotRequested, "is not being divested"))
    }

    fn acquire_ownership(&mut self, federate: u32, call: Call) -> Answer<Response> {
        Ok(match call {
            Call::AttributeOwnershipAcquisition(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.desired_attributes.as_ref());
                let wanted = self.wanted_attributes(federate, object, set, |_, _| None)?;
                self.acquire(federate, wanted, &r.user_supplied_tag, false);
                response::AttributeOwnershipAcquisition {}.into()
            }
            Call::AttributeOwnershipAcquisitionIfAvailable(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.desired_attributes.as_ref());
                let wanted = self.wanted_attributes(federate, object, set, |object, attribute| {
                    self.is_awaited_by(federate, object, attribute).then_some((
                        Exception::AttributeAlreadyBeingAcquired,
                        "is being acquired by this federate already",
                    ))
                })?;
                self.acquire(federate, wanted, &r.user_supplied_tag, true);
                response::AttributeOwnershipAcquisitionIfAvailable {}.into()
            }
            Call::CancelAttributeOwnershipAcquisition(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let wanted = self.checked_attributes(federate, object, set, |object, attribute| {
                    if self.is_owner(federate, object, attribute) {
                        return Some((Exception::AttributeAlreadyOwned, "is its own already"));
                    }
                    (!self.is_requested_by(federate, object, attribute)).then_some((
                        Exception::AttributeAcquisitionWasNotRequested,
                        "was not asked for by this federate",
                    ))
                })?;
                self.cancel_acquisition(federate, wanted);
                response::CancelAttributeOwnershipAcquisition {}.into()
            }
            Call::QueryAttributeOwnership(r) => {
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                let asked = self.checked_attributes(federate, object, set, |_, _| None)?;
                self.query_ownership(federate, asked);
                response::QueryAttributeOwnership {}.into()
            }
            Call::IsAttributeOwnedByFederate(r) => {
                let set = AttributeHandleSet { attribute_handle: r.attribute.into_iter().collect() };
                let asked =
                    self.checked_attributes(federate, r.object_instance.as_ref(), Some(&set), |_, _| None)?;
                let (object, attributes) = asked;
                let attribute = attributes.first().copied().ok_or_else(|| {
                    CallError::new(Exception::InvalidAttributeHandle, "an attribute is to be named")
                })?;
                let result = self.is_owner(federate, object, attribute);
                response::IsAttributeOwnedByFederate { result }.into()
            }
            call => return self.change_carriage(federate, call),
        })
    }
}
