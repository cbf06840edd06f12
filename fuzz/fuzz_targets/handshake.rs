//! Any bytes as what the other side of a new connection says, by itself or after a greeting that fits, to a
//! process that has connected and to one that has accepted: it refuses with a message, and the run can still
//! begin.
#![no_main]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use paceline_transport::{Coordinator, Prefer, Secret, Security, Settings, join};

/// The version in greetings.
const VERSION: &str = "0.1.0";

/// How long a run of two processes waits for both.
const PATIENCE: Duration = Duration::from_secs(20);

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
    let secret = Secret::new(b"a secret that no input knows").expect("long enough");
    Settings::new(secret).version(VERSION).prefer(Prefer::Tcp).time_limit(PATIENCE)
});

fuzz_target!(|input: (bool, bool, bool, Vec<u8>)| {
    let (accepts, is_plain, greets, bytes) = input;
    let settings = SETTINGS.clone().security(if is_plain { Security::Plain } else { Security::Tls });
    let greeting =
        [b"PACELINE", &[u8::from(is_plain), VERSION.len() as u8][..], VERSION.as_bytes(), &[7; 32]];
    let said = [if greets { greeting.concat() } else { Vec::new() }, bytes].concat();
    if accepts {
        let coordinator = Coordinator::listen("127.0.0.1:0", 2, &settings).expect("loopback");
        let address = coordinator.address();
        thread::scope(|scope| {
            let gathered = scope.spawn(|| coordinator.gather(b""));
            say(TcpStream::connect(address).expect("it listens"), &said);
            join(address, &settings).expect("a genuine process is let in");
            let mesh = gathered.join().expect("no panic").expect("two of two");
            assert!(mesh.refusals().list().iter().all(|refusal| !refusal.error.to_string().is_empty()));
            assert_eq!(mesh.refusals().count(), 1, "the other one is not");
        });
    } else {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        thread::scope(|scope| {
            scope.spawn(|| say(listener.accept().expect("somebody connects").0, &said));
            let error = join(address, &settings).expect_err("it does not know the secret");
            assert!(!error.to_string().is_empty());
        });
    }
});

/// Says it, and waits for the end of the connection, which may come earlier.
fn say(mut socket: TcpStream, bytes: &[u8]) {
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.read_to_end(&mut Vec::new());
}
