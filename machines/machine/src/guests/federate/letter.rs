//! What federates send each other: packets of events and anti-messages, and notes of the reductions.
//!
//! Invariant: what goes to one federate stays in the order in which it was sent.

use paceline_kernel::{Event, Mail, Receipt};

use super::allreduce::Note;

/// The payload of a message. A packet carries its sender's colour.
#[derive(Debug)]
pub(super) enum Letter<E> {
    /// A packet with one event.
    Event(u32, Event<E>),
    /// A packet with one anti-message.
    Anti(u32, Receipt<E>),
    /// A packet with several of them.
    Mail(u32, Mail<E>),
    Note(Note),
}

/// An event or an anti-message.
enum Item<E> {
    Event(Event<E>),
    Anti(Receipt<E>),
}

/// Empties `mail` into packets of at most `most` events and anti-messages, each given out with how many are
/// in it.
pub(super) fn pack<E>(mail: &mut Mail<E>, colour: u32, most: u32, mut send: impl FnMut(Letter<E>, u32)) {
    let mut group = Mail::default();
    in_order(mail, |item| {
        // A single item needs no list.
        if most == 1 {
            let letter = match item {
                Item::Event(event) => Letter::Event(colour, event),
                Item::Anti(receipt) => Letter::Anti(colour, receipt),
            };
            return send(letter, 1);
        }
        put(&mut group, item);
        let items = len(&group);
        if items == most {
            send(Letter::Mail(colour, std::mem::take(&mut group)), items);
        }
    });
    if !group.is_empty() {
        let items = len(&group);
        send(Letter::Mail(colour, group), items);
    }
}

pub(super) fn add_event<E>(mail: &mut Mail<E>, event: Event<E>) {
    put(mail, Item::Event(event));
}

pub(super) fn add_anti<E>(mail: &mut Mail<E>, receipt: Receipt<E>) {
    put(mail, Item::Anti(receipt));
}

pub(super) fn add_mail<E>(mail: &mut Mail<E>, mut more: Mail<E>) {
    in_order(&mut more, |item| put(mail, item));
}

fn len<E>(mail: &Mail<E>) -> u32 {
    (mail.events.len() + mail.antis.len()) as u32
}

fn put<E>(mail: &mut Mail<E>, item: Item<E>) {
    match item {
        Item::Event(event) => mail.events.push(event),
        Item::Anti(receipt) => mail.antis.push((mail.events.len() as u32, receipt)),
    }
}

fn in_order<E>(mail: &mut Mail<E>, mut each: impl FnMut(Item<E>)) {
    let mut antis = mail.antis.drain(..).peekable();
    for (position, event) in mail.events.drain(..).enumerate() {
        while let Some((_, receipt)) = antis.next_if(|(at, _)| *at as usize <= position) {
            each(Item::Anti(receipt));
        }
        each(Item::Event(event));
    }
    antis.for_each(|(_, receipt)| each(Item::Anti(receipt)));
}

#[cfg(test)]
mod test {
    use paceline_kernel::{Context, Federate, LpId, Model, Outbox, Partition, Rng, Settings, TieBreak, Time};

    use super::*;

    /// LP 0 sends LP 1 the numbers from 0 to 63.
    struct Counts;

    impl Model for Counts {
        type State = ();
        type Event = u64;
        type Output = ();

        fn lps(&self) -> u32 {
            2
        }

        fn lookahead(&self) -> Time {
            Time::secs(1)
        }

        fn init(&self, lp: LpId, cx: &mut Context<Self>) {
            if lp == LpId(0) {
                (0..64).for_each(|n| cx.send(LpId(1), Time::ZERO, n));
            }
        }

        fn handle(&self, _state: &mut (), _event: &u64, _cx: &mut Context<Self>) {}
    }

    #[test]
    fn packets_hold_what_was_sent_in_its_order() {
        let settings = Settings { seed: 1, ties: TieBreak::Fixed, window: Time::secs(1) };
        let mut outbox = Outbox::new(2);
        Federate::<Counts>::start(&Counts, &Partition::runs(2, 2), settings, 0, &mut outbox)
            .expect("it keeps the rules");
        let numbered = outbox.take(1, Vec::new());
        let mut rng = Rng::new(1, 1);
        for most in [1, 2, 3, 7, 100] {
            // A receipt is an event with a number too.
            let (mut mail, mut sent) = (Mail::default(), Vec::new());
            for event in &numbered {
                let anti = rng.chance(0.4);
                sent.push((event.payload, anti));
                put(&mut mail, if anti { Item::Anti(event.clone()) } else { Item::Event(event.clone()) });
            }
            let mut arrived = Mail::default();
            pack(&mut mail, 5, most, |letter, items| {
                assert!((1..=most).contains(&items));
                match letter {
                    Letter::Event(5, event) => add_event(&mut arrived, event),
                    Letter::Anti(5, receipt) => add_anti(&mut arrived, receipt),
                    Letter::Mail(5, mail) => {
                        assert_eq!(len(&mail), items);
                        add_mail(&mut arrived, mail);
                    }
                    other => panic!("{other:?}"),
                }
            });
            assert!(mail.is_empty());
            let mut got = Vec::new();
            in_order(&mut arrived, |item| match item {
                Item::Event(event) => got.push((event.payload, false)),
                Item::Anti(receipt) => got.push((receipt.payload, true)),
            });
            assert_eq!(got, sent, "in packets of {most}");
        }
    }
}
