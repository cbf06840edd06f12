//! Digests of what federates are called with, to compare two runs.
//!
//! Each federate has two. That of all its callbacks depends on their order and on every byte: it is equal in
//! two runs whose calls came in the same order, as those of a record that is replayed. That of its messages
//! in timestamp order names federates and instances by what they are and not by when they came, and is a sum:
//! it is equal in every run of federates whose own messages depend on nothing but the times and messages that
//! they are given.
//!
//! Invariant: whoever is named in a message has joined, and whatever is named was discovered, before.

use std::collections::BTreeMap;

use paceline_hla::{
    Bytes, Callback, CallbackRequest, FederateHandle, Message, ObjectInstanceHandle, OrderType,
};
use paceline_kernel::Digest;

use crate::client::Client;
use crate::handles::number;
use crate::rti::Rti;

/// What one federate was called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FederateDigest {
    /// How many callbacks it had.
    pub callbacks: u64,
    /// Of these, in their order.
    pub callbacks_digest: Digest,
    /// How many of them were messages in timestamp order.
    pub timestamped: u64,
    /// Of these, whatever their order.
    pub timestamped_digest: Digest,
}

/// Where a client has joined, and what it has discovered there.
#[derive(Debug)]
struct Member {
    federation: String,
    federate: u32,
    name: String,
    /// The instances that it knows: who made each, and how many of that federate it knew before.
    instances: BTreeMap<u32, (String, u32)>,
    /// How many it has discovered of each federate.
    discovered: BTreeMap<String, u32>,
}

/// The digests of all federates.
///
/// ```
/// use paceline_hla::request;
/// use paceline_rti::{Client, Digests, Rti};
///
/// let (mut rti, mut digests, mut callbacks) = (Rti::default(), Digests::default(), Vec::new());
/// rti.call(Client(1), request::Connect {}.into(), &mut callbacks);
/// digests.take_in(&rti, Client(1), &callbacks);
/// assert_eq!(digests.federates().count(), 0, "nobody has joined");
/// ```
#[derive(Debug, Default)]
pub struct Digests {
    members: BTreeMap<Client, Member>,
    /// Everyone who has ever joined: its name, by federation and handle.
    names: BTreeMap<(String, u32), String>,
    federates: BTreeMap<(String, String), FederateDigest>,
}

/// A message in timestamp order without what differs between runs, or nothing if the callback is none.
/// `instance` and `federate` say what a handle stands for.
macro_rules! portable {
    ($callback:expr, $instance:expr, $federate:expr, $($name:ident $(($object:ident))?),*) => {
        match $callback {
            $(Callback::$name(message) => {
                let orders = [message.sent_order_type, message.received_order_type];
                if orders != [OrderType::Timestamp as i32; 2] {
                    return None;
                }
                let mut message = message.clone();
                message.optional_retraction = None;
                message.producing_federate =
                    message.producing_federate.map(|handle| FederateHandle { data: $federate(&handle) });
                $(message.$object =
                    message.$object.map(|handle| ObjectInstanceHandle { data: $instance(&handle) });)?
                Some(Callback::from(message))
            })*
            _ => None,
        }
    };
}

impl Digests {
    /// Takes in what a call of `client` has caused, after the call: nothing, if it caused no callback.
    pub fn take_in(&mut self, rti: &Rti, client: Client, callbacks: &[(Client, Callback)]) {
        self.look_at(rti, client);
        for (client, callback) in callbacks {
            self.take_in_callback(*client, callback);
        }
    }

    /// The digests by the names of federation and federate. Whoever joins again under a name goes on with its
    /// digest.
    pub fn federates(&self) -> impl Iterator<Item = (&str, &str, FederateDigest)> {
        self.federates.iter().map(|((federation, name), digest)| (&**federation, &**name, *digest))
    }

    /// Learns whether a client has joined, or resigned.
    fn look_at(&mut self, rti: &Rti, client: Client) {
        let Some((federation, federate, name)) = rti.membership(client) else {
            self.members.remove(&client);
            return;
        };
        let is_known = |member: &Member| member.federate == federate && member.federation == federation;
        if self.members.get(&client).is_some_and(is_known) {
            return;
        }
        let (federation, name) = (federation.to_owned(), name.to_owned());
        self.names.insert((federation.clone(), federate), name.clone());
        self.federates.entry((federation.clone(), name.clone())).or_default();
        let (instances, discovered) = Default::default();
        self.members.insert(client, Member { federation, federate, name, instances, discovered });
    }

    fn take_in_callback(&mut self, client: Client, callback: &Callback) {
        // A client that has not joined is called back about federations: it is no federate.
        let Some(member) = self.members.get_mut(&client) else { return };
        let names = &self.names;
        let name_of = |handle: &FederateHandle| {
            let known = number(Some(handle)).ok().and_then(|handle| {
                // Who made an instance may be the infrastructure, which has no handle among federates.
                names.get(&(member.federation.clone(), handle))
            });
            known.cloned().unwrap_or_default()
        };
        if let Callback::DiscoverObjectInstance(discovery) = callback
            && let Ok(instance) = number(discovery.object_instance.as_ref())
        {
            let producer = discovery.producing_federate.as_ref().map(name_of).unwrap_or_default();
            let count = member.discovered.entry(producer.clone()).or_default();
            member.instances.insert(instance, (producer, *count));
            *count += 1;
        }
        let instances = &member.instances;
        let instance_of = |handle: &ObjectInstanceHandle| {
            let known = number(Some(handle)).ok().and_then(|handle| instances.get(&handle));
            let name = known.map(|(producer, count)| format!("{producer}/{count}"));
            Bytes::from(name.unwrap_or_default())
        };
        let federate_of = |handle: &FederateHandle| Bytes::from(name_of(handle));
        let message = timestamped(callback, instance_of, federate_of);
        if let Callback::RemoveObjectInstance(_) | Callback::RemoveObjectInstanceWithTime(_) = callback
            && let Some(instance) = removed(callback)
        {
            member.instances.remove(&instance);
        }
        let key = (member.federation.clone(), member.name.clone());
        let digest = self.federates.get_mut(&key).expect("it was entered when it joined");
        digest.callbacks += 1;
        digest.callbacks_digest = Digest::of(&(digest.callbacks_digest.value(), bytes(callback.clone())));
        if let Some(message) = message {
            digest.timestamped += 1;
            digest.timestamped_digest.join(Digest::of(&bytes(message)));
        }
    }
}

fn removed(callback: &Callback) -> Option<u32> {
    let instance = match callback {
        Callback::RemoveObjectInstance(removal) => removal.object_instance.as_ref(),
        Callback::RemoveObjectInstanceWithTime(removal) => removal.object_instance.as_ref(),
        _ => None,
    };
    number(instance).ok()
}

fn timestamped(
    callback: &Callback,
    instance: impl Fn(&ObjectInstanceHandle) -> Bytes,
    federate: impl Fn(&FederateHandle) -> Bytes,
) -> Option<Callback> {
    portable!(
        callback,
        instance,
        federate,
        ReflectAttributeValuesWithTime(object_instance),
        ReceiveInteractionWithTime,
        ReceiveDirectedInteractionWithTime(object_instance),
        RemoveObjectInstanceWithTime(object_instance)
    )
}

fn bytes(callback: Callback) -> Vec<u8> {
    CallbackRequest { callback: Some(callback) }.encode_to_vec()
}
