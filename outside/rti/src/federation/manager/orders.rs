//! Interactions of the management object model that set switches, of one federate or of the federation.
//!
//! They are sent like others, and then carried out. One that cannot be carried out is refused and not sent.

use paceline_hla::{Call, InteractionClassHandle, ParameterHandleValue, Response, response};

use super::super::Federation;
use super::super::switches::Switch;
use crate::exception::{Answer, CallError, Exception, not_yet};
use crate::handles::number;

const FOR_FEDERATE: &str = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAadjust.HLAsetSwitches";
const FOR_FEDERATION: &str = "HLAinteractionRoot.HLAmanager.HLAfederation.HLAadjust.HLAsetSwitches";

/// What is to be carried out.
enum Order {
    Turn(u32, Switch, bool),
    AutoProvide(bool),
}

fn refuse<T>(details: String) -> Answer<T> {
    Err(CallError::new(Exception::RTIinternalError, details))
}

/// An HLAswitch.
fn switch_value(name: &str, bytes: &[u8]) -> Answer<bool> {
    match bytes {
        [0, 0, 0, value @ (0 | 1)] => Ok(*value == 1),
        _ => refuse(format!("{name}: a switch has 4 bytes, 0 or 1 as a number, this one {bytes:?}")),
    }
}

impl Federation {
    /// Whether an interaction is for the infrastructure.
    pub(in super::super) fn is_order(&self, class: Option<&InteractionClassHandle>) -> bool {
        let row = number(class).ok().and_then(|class| self.fom.interactions.class(class));
        row.is_some_and(|row| row.name == FOR_FEDERATE || row.name == FOR_FEDERATION)
    }

    /// Sends an interaction for the infrastructure, and carries it out.
    pub(in super::super) fn take_order(&mut self, federate: u32, call: Call) -> Answer<Response> {
        let Call::SendInteraction(request) = call else { return Err(not_yet(&call)) };
        let values = request.parameter_values.clone().unwrap_or_default().parameter_handle_value;
        let orders = self.read_orders(&values)?;
        self.send(federate, request, None)?;
        for order in orders {
            match order {
                Order::Turn(federate, switch, value) => {
                    self.turn(federate, switch, value);
                    self.watch.mark(federate);
                }
                Order::AutoProvide(value) => {
                    self.auto_provide = Some(value);
                    self.watch.mark(0);
                }
            }
        }
        Ok(response::SendInteraction {}.into())
    }

    /// For an order to a federate, HLAfederate says to which.
    fn read_orders(&self, values: &[ParameterHandleValue]) -> Answer<Vec<Order>> {
        let mut named = Vec::new();
        for value in values {
            let parameter = number(value.parameter_handle.as_ref())?;
            let row = self.fom.interactions.member(parameter);
            named.push((row.map(|row| row.name.as_str()).unwrap_or_default(), &*value.value));
        }
        let federate = named.iter().find(|(name, _)| *name == "HLAfederate").map(|(_, value)| match value {
            // HLAhandle: the number of its bytes, and these.
            [0, 0, 0, 4, a, b, c, d] => u32::from_be_bytes([*a, *b, *c, *d]),
            _ => 0,
        });
        let mut orders = Vec::new();
        for (name, bytes) in named.into_iter().filter(|(name, _)| *name != "HLAfederate") {
            let value = switch_value(name, bytes)?;
            let switch = match name {
                "HLAautoProvide" => {
                    orders.push(Order::AutoProvide(value));
                    continue;
                }
                "HLAobjectClassRelevanceAdvisory" => Switch::ObjectClassRelevance,
                "HLAattributeRelevanceAdvisory" => Switch::AttributeRelevance,
                "HLAattributeScopeAdvisory" => Switch::AttributeScope,
                "HLAinteractionRelevanceAdvisory" => Switch::InteractionRelevance,
                "HLAconveyRegionDesignatorSets" => Switch::ConveyRegions,
                // That of HLA 4 is always conveyed.
                "HLAconveyProducingFederate" if value => continue,
                name if !value && name != "HLAconveyProducingFederate" => continue,
                name => return refuse(format!("not yet: {name}")),
            };
            let Some(federate) = federate.filter(|federate| self.federates.contains_key(federate)) else {
                return refuse("HLAfederate names no federate of the federation".to_owned());
            };
            orders.push(Order::Turn(federate, switch, value));
        }
        Ok(orders)
    }
}
