//! A small infrastructure to compare with: it keeps lists, sorts and searches them, and has no index. What a
//! client is called with it puts into words.
//!
//! Classes are numbers: objects 0 (`A`) and 1 (`A.B`, which inherits of 0), interactions 0 (`X`), 1 (`X.Y`)
//! and 2 (`Z`). Attributes are bits of a mask; the last one is the privilege to delete.

use std::collections::BTreeMap;

use super::Step;
use super::reference_time::Clock;

pub const PRIVILEGE: u8 = 8;
/// Attributes in timestamp order.
const ORDERED: u8 = 0b101;
pub const ATTRIBUTES: [&str; 3] = ["a1", "a2", "b1"];

/// A message to one federate.
#[derive(Clone, Debug)]
pub struct Message {
    pub text: String,
    pub at: Option<i64>,
    /// Its number among those in timestamp order, and its sender.
    pub ordered: Option<(usize, u32)>,
}

impl Message {
    pub fn words(&self, is_in_order: bool) -> String {
        let at = self.at.map(|at| format!(" at {at}")).unwrap_or_default();
        let number = self.ordered.map(|(number, _)| format!(" #{number}")).unwrap_or_default();
        format!("{}{at}{number}{}", self.text, if is_in_order { " in order" } else { "" })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Federate {
    pub client: u32,
    published: BTreeMap<u8, u8>,
    subscribed: BTreeMap<u8, u8>,
    published_interactions: Vec<u8>,
    subscribed_interactions: Vec<u8>,
    /// The class as which it knows each instance.
    known: BTreeMap<usize, u8>,
    pub clock: Clock,
}

#[derive(Clone, Debug)]
struct Object {
    class: u8,
    producer: u32,
    /// By attribute.
    owners: BTreeMap<u8, u32>,
}

/// A message in timestamp order that was sent, and who has got it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub sender: u32,
    pub at: i64,
    pub receivers: Vec<u32>,
    pub is_final: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Federation {
    /// By handle, which is the order in which they joined.
    pub federates: BTreeMap<u32, Federate>,
    last: u32,
    objects: BTreeMap<usize, Object>,
    /// How many instances there have been.
    pub registered: usize,
    pub sent: Vec<Sent>,
    /// What clients are called with.
    pub words: Vec<(u32, String)>,
}

/// A class and what it inherits from.
fn lineage(class: u8) -> &'static [u8] {
    match class {
        0 => &[0],
        1 => &[1, 0],
        _ => &[2],
    }
}

fn attributes_of(class: u8) -> u8 {
    if class == 0 { 0b1011 } else { 0b1111 }
}

fn bits(mask: u8) -> impl Iterator<Item = u8> {
    (0..8).map(|bit| 1 << bit).filter(move |bit| mask & bit != 0)
}

/// Attributes by their names.
pub fn names(mask: u8) -> String {
    bits(mask).map(|bit| ATTRIBUTES[bit.trailing_zeros() as usize]).collect::<Vec<_>>().join(" ")
}

impl Federation {
    pub fn tell(&mut self, federate: u32, words: String) {
        self.words.push((self.federates[&federate].client, words));
    }

    pub fn handle_of(&self, client: u32) -> Option<u32> {
        self.federates.iter().find(|(_, federate)| federate.client == client).map(|(handle, _)| *handle)
    }

    pub fn join(&mut self, client: u32) {
        self.last += 1;
        self.federates.insert(self.last, Federate { client, ..Federate::default() });
    }

    fn others(&self, federate: u32) -> Vec<u32> {
        self.federates.keys().copied().filter(|other| *other != federate).collect()
    }

    fn closest(&self, federate: u32, class: u8) -> Option<u8> {
        let subscribed = &self.federates[&federate].subscribed;
        lineage(class).iter().copied().find(|above| subscribed.contains_key(above))
    }

    fn discover(&mut self, federate: u32, number: usize) {
        let object = self.objects[&number].clone();
        let Some(class) = self.closest(federate, object.class) else { return };
        let row = self.federates.get_mut(&federate).expect("it is there");
        let wanted = bits(row.subscribed[&class]);
        let mut owners = wanted.filter_map(|attribute| object.owners.get(&attribute));
        if !row.known.contains_key(&number) && owners.any(|owner| *owner != federate) {
            row.known.insert(number, class);
            self.tell(federate, format!("discover {number} as {class} by {}", object.producer));
        }
    }

    /// To one federate.
    fn transmit(&mut self, to: u32, message: Message) {
        let is_constrained = self.federates[&to].clock.is_constrained;
        if let Some((number, _)) = message.ordered {
            self.sent[number].receivers.push(to);
            if is_constrained {
                let queue = &mut self.federates.get_mut(&to).expect("it is there").clock.queue;
                queue.push(message);
                queue.sort_by_key(|message| {
                    (message.at, message.ordered.map(|(number, sender)| (sender, number)))
                });
                return;
            }
        }
        self.deliver(to, message);
    }

    fn deliver(&mut self, to: u32, message: Message) {
        let clock = &mut self.federates.get_mut(&to).expect("it is there").clock;
        if clock.holds() {
            clock.held.push(message);
        } else {
            self.tell(to, message.words(false));
        }
    }

    /// The number of a message with a time, if it goes out in timestamp order; nothing if it is too early.
    fn stamp(&mut self, federate: u32, at: Option<i64>, is_ordered: bool) -> Option<Option<usize>> {
        let (Some(at), Some(bound)) = (at, self.federates[&federate].clock.send_bound()) else {
            return Some(None);
        };
        if (at, false) < bound {
            return None;
        }
        if !is_ordered {
            return Some(None);
        }
        self.sent.push(Sent { sender: federate, at, receivers: Vec::new(), is_final: false });
        Some(Some(self.sent.len() - 1))
    }

    fn update(&mut self, federate: u32, number: usize, mask: u8, at: Option<i64>) -> bool {
        let Some(class) = self.objects.get(&number).map(|object| object.class) else { return false };
        let owners = &self.objects[&number].owners;
        let is_owner = bits(mask).all(|attribute| owners.get(&attribute) == Some(&federate));
        if !self.federates[&federate].known.contains_key(&number)
            || mask & !attributes_of(class) != 0
            || !is_owner
        {
            return false;
        }
        let Some(ordered) = self.stamp(federate, at, mask & ORDERED != 0) else { return false };
        for other in self.others(federate) {
            let Some(known) = self.federates[&other].known.get(&number).copied() else { continue };
            let Some(class) = self.closest(other, known) else { continue };
            let wanted = mask & self.federates[&other].subscribed[&class];
            // Attributes without an order come apart, and first.
            for (part, is_ordered) in [(wanted & !ORDERED, false), (wanted & ORDERED, true)] {
                if part != 0 {
                    let text = format!("reflect {number} {} by {federate}", names(part));
                    let ordered = ordered.filter(|_| is_ordered).map(|ordered| (ordered, federate));
                    self.transmit(other, Message { text, at, ordered });
                }
            }
        }
        self.grant_all();
        true
    }

    fn send(&mut self, federate: u32, interaction: u8, at: Option<i64>) -> bool {
        if !self.federates[&federate].published_interactions.contains(&interaction) {
            return false;
        }
        let Some(ordered) = self.stamp(federate, at, interaction < 2) else { return false };
        for other in self.others(federate) {
            let subscribed = &self.federates[&other].subscribed_interactions;
            let Some(class) = lineage(interaction).iter().find(|above| subscribed.contains(above)) else {
                continue;
            };
            let text = format!("receive {class} by {federate}");
            self.transmit(other, Message { text, at, ordered: ordered.map(|ordered| (ordered, federate)) });
        }
        self.grant_all();
        true
    }

    fn register(&mut self, federate: u32, class: u8) -> bool {
        let Some(published) = self.federates[&federate].published.get(&class).copied() else { return false };
        let number = self.registered;
        self.registered += 1;
        let owners = bits(published).map(|attribute| (attribute, federate)).collect();
        self.objects.insert(number, Object { class, producer: federate, owners });
        self.federates.get_mut(&federate).expect("it is there").known.insert(number, class);
        self.others(federate).into_iter().for_each(|other| self.discover(other, number));
        true
    }

    fn may_delete(&self, federate: u32, number: usize) -> bool {
        self.objects.get(&number).is_some_and(|object| object.owners.get(&PRIVILEGE) == Some(&federate))
    }

    fn owns(&self, federate: u32, number: usize) -> bool {
        self.objects.get(&number).is_some_and(|object| object.owners.values().any(|owner| *owner == federate))
    }

    fn delete(&mut self, federate: u32, number: usize) {
        self.objects.remove(&number);
        for other in self.federates.keys().copied().collect::<Vec<_>>() {
            let knew = self.federates.get_mut(&other).expect("it is there").known.remove(&number).is_some();
            if knew && other != federate {
                let text = format!("remove {number} by {federate}");
                self.deliver(other, Message { text, at: None, ordered: None });
            }
        }
    }

    /// 0 divests all, 1 deletes, 4 deletes and divests, 5 does nothing.
    pub fn resign(&mut self, federate: u32, action: i32) -> bool {
        let owned: Vec<usize> =
            self.objects.keys().copied().filter(|number| self.owns(federate, *number)).collect();
        let is_left = match action {
            5 => !owned.is_empty(),
            1 => owned.iter().any(|number| !self.may_delete(federate, *number)),
            _ => false,
        };
        if is_left {
            return false;
        }
        for number in owned {
            if [1, 4].contains(&action) && self.may_delete(federate, number) {
                self.delete(federate, number);
            }
        }
        self.objects.values_mut().for_each(|object| object.owners.retain(|_, owner| *owner != federate));
        self.federates.remove(&federate);
        self.grant_all();
        true
    }

    /// Takes a step of a federate; says whether it is allowed.
    pub fn take(&mut self, federate: u32, step: Step) -> bool {
        let row = self.federates.get_mut(&federate).expect("it is there");
        match step {
            Step::Publish(class, mask) | Step::Subscribe(class, mask)
                if mask & !attributes_of(class) != 0 =>
            {
                false
            }
            Step::Publish(class, mask) => {
                if mask != 0 {
                    *row.published.entry(class).or_default() |= mask | PRIVILEGE;
                }
                true
            }
            Step::Unpublish(class) => {
                row.published.remove(&class);
                for object in self.objects.values_mut().filter(|object| object.class == class) {
                    object.owners.retain(|_, owner| *owner != federate);
                }
                true
            }
            Step::Subscribe(class, mask) => {
                if mask != 0 {
                    *row.subscribed.entry(class).or_default() |= mask;
                }
                let all: Vec<usize> = self.objects.keys().copied().collect();
                all.into_iter().for_each(|number| self.discover(federate, number));
                true
            }
            Step::Unsubscribe(class) => {
                row.subscribed.remove(&class);
                true
            }
            Step::PublishInteraction(class) => {
                row.published_interactions.push(class);
                true
            }
            Step::UnpublishInteraction(class) => {
                row.published_interactions.retain(|known| *known != class);
                true
            }
            Step::SubscribeInteraction(class) => {
                row.subscribed_interactions.push(class);
                true
            }
            Step::UnsubscribeInteraction(class) => {
                row.subscribed_interactions.retain(|known| *known != class);
                true
            }
            Step::Register(class) => self.register(federate, class),
            Step::Update { object, mask, at } => self.update(federate, object, mask, at),
            Step::Send { interaction, at } => self.send(federate, interaction, at),
            Step::Delete(number) => {
                let may_delete = row.known.contains_key(&number) && self.may_delete(federate, number);
                if may_delete {
                    self.delete(federate, number);
                }
                may_delete
            }
            Step::Forget(number) => {
                let is_known = row.known.contains_key(&number) && !self.owns(federate, number);
                if is_known {
                    self.federates.get_mut(&federate).expect("it is there").known.remove(&number);
                }
                is_known
            }
            step => self.take_time(federate, step),
        }
    }
}
