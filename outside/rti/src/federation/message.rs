//! What federates send to each other.

use paceline_hla::{Bytes, Callback, MessageRetractionHandle, MessageRetractionReturn, OrderType, callback};

use crate::time::LogicalTime;

/// The time of a message, its order, and which message it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) time: LogicalTime,
    /// It was sent in timestamp order.
    pub(super) is_timestamped: bool,
    pub(super) sender: u32,
    /// The sender's count of its messages in timestamp order; the last one's, if this is none of them.
    pub(super) count: u64,
}

impl Stamp {
    /// By which the message is retracted: sender, count and time.
    pub(super) fn handle(&self) -> MessageRetractionHandle {
        let mut data = Vec::with_capacity(20);
        data.extend_from_slice(&self.sender.to_be_bytes());
        data.extend_from_slice(&self.count.to_be_bytes());
        data.extend_from_slice(&self.time.to_bytes());
        MessageRetractionHandle { data: Bytes::from(data) }
    }

    /// What a federate is answered that has sent with a time: a handle if it went out in timestamp order.
    pub(super) fn retraction_return(stamp: Option<Self>) -> Option<MessageRetractionReturn> {
        let handle = stamp.filter(|stamp| stamp.is_timestamped).map(|stamp| stamp.handle());
        Some(MessageRetractionReturn {
            retraction_handle_is_valid: handle.is_some(),
            message_retraction_handle: handle,
        })
    }

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
        let Some(stamp) = stamp else { return self.plain() };
        let Stamp { time, is_timestamped, .. } = stamp;
        let optional_retraction = is_timestamped.then(|| stamp.handle());
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
                optional_retraction,
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
                optional_retraction,
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
                optional_retraction,
            }
            .into(),
            Self::Remove(message) => callback::RemoveObjectInstanceWithTime {
                object_instance: message.object_instance,
                user_supplied_tag: message.user_supplied_tag,
                producing_federate: message.producing_federate,
                time,
                sent_order_type,
                received_order_type,
                optional_retraction,
            }
            .into(),
        }
    }
}
