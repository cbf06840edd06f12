//! What federates send to each other.

use paceline_hla::{Callback, OrderType, callback};

use crate::time::LogicalTime;

/// The time of a message, and its order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) time: LogicalTime,
    /// It was sent in timestamp order.
    pub(super) is_timestamped: bool,
}

impl Stamp {
    /// The same for a part of it, which may be wanted in receive order.
    pub(super) fn in_order(self, is_timestamped: bool) -> Self {
        Self { is_timestamped: self.is_timestamped && is_timestamped, ..self }
    }
}

/// A message to one federate.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Reflect(callback::ReflectAttributeValues),
    Receive(callback::ReceiveInteraction),
    Direct(callback::ReceiveDirectedInteraction),
    Remove(callback::RemoveObjectInstance),
}

impl Body {
    /// As it is received without a time.
    fn plain(self) -> Callback {
        match self {
            Self::Reflect(message) => message.into(),
            Self::Receive(message) => message.into(),
            Self::Direct(message) => message.into(),
            Self::Remove(message) => message.into(),
        }
    }

    /// As it is received: in the order of times, or as it comes.
    pub(super) fn callback(self, stamp: Option<Stamp>, is_in_order: bool) -> Callback {
        let Some(Stamp { time, is_timestamped }) = stamp else { return self.plain() };
        let order = |is_timestamped| if is_timestamped { OrderType::Timestamp } else { OrderType::Receive };
        let (time, sent_order_type, received_order_type) =
            (time.time(), order(is_timestamped).into(), order(is_in_order).into());
        match self {
            Self::Reflect(message) => callback::ReflectAttributeValuesWithTime {
                object_instance: message.object_instance,
                attribute_values: message.attribute_values,
                user_supplied_tag: message.user_supplied_tag,
                transportation_type: message.transportation_type,
                producing_federate: message.producing_federate,
                optional_sent_regions: message.optional_sent_regions,
                time,
                sent_order_type,
                received_order_type,
                optional_retraction: None,
            }
            .into(),
            Self::Receive(message) => callback::ReceiveInteractionWithTime {
                interaction_class: message.interaction_class,
                parameter_values: message.parameter_values,
                user_supplied_tag: message.user_supplied_tag,
                transportation_type: message.transportation_type,
                producing_federate: message.producing_federate,
                optional_sent_regions: message.optional_sent_regions,
                time,
                sent_order_type,
                received_order_type,
                optional_retraction: None,
            }
            .into(),
            Self::Direct(message) => callback::ReceiveDirectedInteractionWithTime {
                interaction_class: message.interaction_class,
                object_instance: message.object_instance,
                parameter_values: message.parameter_values,
                user_supplied_tag: message.user_supplied_tag,
                transportation_type: message.transportation_type,
                producing_federate: message.producing_federate,
                time,
                sent_order_type,
                received_order_type,
                optional_retraction: None,
            }
            .into(),
            Self::Remove(message) => callback::RemoveObjectInstanceWithTime {
                object_instance: message.object_instance,
                user_supplied_tag: message.user_supplied_tag,
                producing_federate: message.producing_federate,
                time,
                sent_order_type,
                received_order_type,
                optional_retraction: None,
            }
            .into(),
        }
    }
}
