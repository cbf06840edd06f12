//! What observers are shown of federates: that they join, what they do, how far they are, that they leave.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use paceline_fedpro::{
    Client as Number, Connection, FederateActivity, FederateObserver, FederateTimes, Host, Peer,
};
use paceline_hla::{LogicalTime, LogicalTimeInterval, ResignAction, Response, request};

use crate::client::{Client, Inside};
use crate::hosts::{ask, create_named, join, opened, written};

/// What was shown, a line each.
#[derive(Clone, Debug, Default)]
struct Shown(Arc<Mutex<Vec<String>>>);

impl Shown {
    fn add(&self, line: String) {
        self.0.lock().expect("nobody panics").push(line);
    }

    /// What was shown since the last call.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nobody panics"))
    }
}

impl FederateObserver for Shown {
    fn joined(&mut self, client: Number, federation: &str, name: &str, _peer: Option<Peer>) {
        self.add(format!("{} joined {federation} as {name}", client.0));
    }

    fn changed(&mut self, client: Number, activity: FederateActivity, times: FederateTimes, at: Duration) {
        let asked = times.asked.map(|time| time.to_f64());
        let (now, at) = (times.now.to_f64(), at.as_secs());
        self.add(format!("{} {activity:?} at {now}, asks for {asked:?}, after {at} s", client.0));
    }

    fn left(&mut self, client: Number, _at: Duration) {
        self.add(format!("{} left", client.0));
    }

    fn follows_waiting(&self) -> bool {
        true
    }
}

/// Lets a client answer its callbacks.
fn answer(host: &mut Host<Inside>, connection: usize, client: &mut Client) {
    let (bytes, _) = written(host, connection);
    client.read(&bytes);
    let answers = client.answer();
    host.receive(Connection(connection), &answers);
    host.serve();
}

fn time(number: f64) -> Option<LogicalTime> {
    Some(LogicalTime { data: number.to_be_bytes().to_vec().into() })
}

#[test]
fn federates_are_granted_advance_and_are_in_callbacks() {
    let (mut host, shown) = (Host::new(Inside::with_module(), Duration::from_secs(60)), Shown::default());
    host.observe(Box::new(shown.clone()));
    let mut clients = [1, 2].map(|connection| opened(&mut host, connection));
    for (connection, client) in (1..).zip(&mut clients) {
        ask(&mut host, connection, client, request::Connect {});
        ask(&mut host, connection, client, create_named("F"));
        assert_eq!(shown.take(), Vec::<String>::new(), "nobody has joined");
        ask(&mut host, connection, client, join());
        let joined = [
            format!("{connection} joined F as test-{connection}"),
            format!("{connection} Granted at 0, asks for None, after 0 s"),
        ];
        assert_eq!(shown.take(), joined);
        let lookahead = Some(LogicalTimeInterval { data: 1_f64.to_be_bytes().to_vec().into() });
        ask(&mut host, connection, client, request::EnableTimeRegulation { lookahead });
        ask(&mut host, connection, client, request::EnableTimeConstrained {});
        assert_eq!(
            shown.take().last().expect("it was called back"),
            &format!("{connection} InCallback at 0, asks for None, after 0 s")
        );
        answer(&mut host, connection, client);
        let granted = format!("{connection} Granted at 0, asks for None, after 0 s");
        assert_eq!(shown.take(), [granted]);
    }
    let [first, second] = &mut clients;
    host.set_now(Duration::from_secs(5));
    ask(&mut host, 1, first, request::TimeAdvanceRequest { time: time(1.5) });
    assert_eq!(shown.take(), ["1 Advancing at 0, asks for Some(1.5), after 5 s"]);
    // Who waits is shown when others call, since its GALT may have changed.
    host.set_now(Duration::from_secs(6));
    ask(&mut host, 2, second, request::QueryLogicalTime {});
    let both =
        |first: &str, second: &str| [format!("1 {first}, after 6 s"), format!("2 {second}, after 6 s")];
    assert_eq!(shown.take(), both("Advancing at 0, asks for Some(1.5)", "Granted at 0, asks for None"));
    ask(&mut host, 2, second, request::TimeAdvanceRequest { time: time(1.0) });
    assert_eq!(shown.take(), both("InCallback at 1.5, asks for None", "InCallback at 1, asks for None"));
    answer(&mut host, 1, first);
    assert_eq!(shown.take(), ["1 Granted at 1.5, asks for None, after 6 s"]);
    let resign_action = ResignAction::NoAction.into();
    let response = ask(&mut host, 2, second, request::ResignFederationExecution { resign_action });
    assert!(!matches!(response, Response::Exception(_)), "{response:?}");
    assert_eq!(shown.take(), ["2 left"]);
    host.lose(Connection(1), Duration::from_secs(6));
    host.expire(Duration::from_secs(66));
    assert_eq!(shown.take(), ["1 left"], "it did not come back");
}
