//! Which of the calls that wait is served next: that of the federate with the least logical time, and of
//! equals the one that came first.

use std::collections::VecDeque;

use paceline_fedpro::{Connection, Host};
use paceline_hla::{
    Call, Callback, InteractionClassHandle, LogicalTime, LogicalTimeInterval, Response, request,
};
use proptest::prelude::*;

use crate::client::{Client, Inside};
use crate::hosts::{ask, create_named, join, opened, written};

const FEDERATES: usize = 4;

/// What a federate does: it sends, or asks for a time that is later by so much.
type Deed = (usize, Option<i64>);

fn time(number: i64) -> Option<LogicalTime> {
    Some(LogicalTime { data: number.to_be_bytes().to_vec().into() })
}

struct Federation {
    host: Host<Inside>,
    clients: Vec<Client>,
    class: Option<InteractionClassHandle>,
}

impl Federation {
    /// Federates that regulate with a lookahead of 1 and are constrained, and one that receives what they
    /// send.
    fn new() -> Self {
        let mut host = Host::new(Inside::with_module(), std::time::Duration::from_secs(60));
        let clients = (0..=FEDERATES).map(|number| opened(&mut host, number)).collect();
        let mut all = Self { host, clients, class: None };
        for who in 0..=FEDERATES {
            all.ask(who, request::Connect {});
            if who == 0 {
                let fom_module = create_named("F").fom_module;
                all.ask(
                    0,
                    request::CreateFederationExecutionWithTime {
                        federation_name: "F".to_owned(),
                        fom_module,
                        logical_time_implementation_name: "HLAinteger64Time".to_owned(),
                    },
                );
            }
            all.ask(who, join());
        }
        let interaction_class_name = "Line".to_owned();
        let found = all.ask(0, request::GetInteractionClassHandle { interaction_class_name });
        let Response::GetInteractionClassHandle(found) = found else { panic!("{found:?}") };
        all.class = found.result;
        for who in 0..FEDERATES {
            let interaction_class = all.class.clone();
            all.ask(who, request::PublishInteractionClass { interaction_class });
            let lookahead = Some(LogicalTimeInterval { data: 1_i64.to_be_bytes().to_vec().into() });
            all.ask(who, request::EnableTimeRegulation { lookahead });
            all.ask(who, request::EnableTimeConstrained {});
        }
        let interaction_class = all.class.clone();
        all.ask(FEDERATES, request::SubscribeInteractionClass { interaction_class });
        all
    }

    fn ask(&mut self, who: usize, call: impl Into<Call>) -> Response {
        let response = ask(&mut self.host, who, &mut self.clients[who], call);
        assert!(!matches!(response, Response::Exception(_)), "{response:?}");
        response
    }

    /// Makes all calls at once; the tag of each is its place. Returns the tags as they are received.
    fn serve(&mut self, deeds: &[Deed]) -> Vec<usize> {
        let mut asked = [0; FEDERATES];
        for (place, (who, by)) in deeds.iter().enumerate() {
            let call: Call = match by {
                Some(by) => {
                    asked[*who] += by;
                    request::TimeAdvanceRequest { time: time(asked[*who]) }.into()
                }
                None => request::SendInteraction {
                    interaction_class: self.class.clone(),
                    parameter_values: None,
                    user_supplied_tag: (place as u32).to_be_bytes().to_vec().into(),
                }
                .into(),
            };
            let (_, bytes) = self.clients[*who].call(call);
            self.host.receive(Connection(*who), &bytes);
        }
        self.host.serve();
        let (bytes, _) = written(&mut self.host, FEDERATES);
        self.clients[FEDERATES].read(&bytes);
        let tags = self.clients[FEDERATES].callbacks.iter().filter_map(|callback| match callback {
            Callback::ReceiveInteraction(r) => r.user_supplied_tag.first_chunk(),
            _ => None,
        });
        tags.map(|tag| u32::from_be_bytes(*tag) as usize).collect()
    }
}

/// The same by the definition: all that wait are looked at each time.
fn expected(deeds: &[Deed]) -> Vec<usize> {
    let mut waiting: [VecDeque<(usize, Option<i64>)>; FEDERATES] = Default::default();
    let (mut now, mut pending) = ([0; FEDERATES], [None; FEDERATES]);
    let (mut asked, mut order) = ([0; FEDERATES], Vec::new());
    for (place, (who, by)) in deeds.iter().enumerate() {
        asked[*who] += by.unwrap_or(0);
        waiting[*who].push_back((place, by.map(|_| asked[*who])));
    }
    let first = |waiting: &[VecDeque<(usize, Option<i64>)>], now: &[i64]| {
        let first = |who: usize| Some((now[who], waiting[who].front()?.0, who));
        (0..FEDERATES).filter_map(first).min()
    };
    while let Some((.., who)) = first(&waiting, &now) {
        let (place, to) = waiting[who].pop_front().expect("it is the first");
        match to {
            None => order.push(place),
            // A second request while one is pending is refused.
            Some(to) if pending[who].is_none() => pending[who] = Some(to),
            Some(_) => {}
        }
        let ends = |who: usize| pending[who].unwrap_or(now[who]);
        let others = |who: usize| (0..FEDERATES).filter(move |other| *other != who).map(ends).min();
        let granted: Vec<usize> =
            (0..FEDERATES).filter(|who| pending[*who].is_some_and(|to| Some(to) <= others(*who))).collect();
        for who in granted {
            now[who] = pending[who].take().expect("it is granted");
        }
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn those_that_are_furthest_behind_are_served_first(
        deeds in proptest::collection::vec((0..FEDERATES, proptest::option::of(1..4_i64)), 1..40),
    ) {
        prop_assert_eq!(Federation::new().serve(&deeds), expected(&deeds));
    }
}

#[test]
fn who_has_come_first_is_served_first_among_equals() {
    let deeds: Vec<Deed> = [3, 1, 3, 0, 1, 2].map(|who| (who, None)).into();
    assert_eq!(Federation::new().serve(&deeds), [0, 1, 2, 3, 4, 5]);
}
