//! The page in a real browser, without a screen, which is skipped where there is none: buttons steer the run,
//! pictures are drawn, nothing is complained about, and everything has a name for those who do not see it.
//!
//! The browser is driven through a pipe (`--remote-debugging-pipe`): messages of the DevTools protocol, each
//! ended by a zero. With `PACELINE_PICTURES=FOLDER` pictures of the page are written there, to be looked at.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::client::Page;
use super::folder;
use crate::Running;

/// Where a browser may be, besides the folders of `PATH`.
pub fn chromium() -> Option<PathBuf> {
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "chrome-headless-shell",
        "chrome",
        "headless_shell",
    ];
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    // What Playwright has fetched, in folders with numbers in their names.
    let cache = std::env::home_dir().map(|home| home.join(".cache/ms-playwright"));
    let below =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path());
    folders.extend(cache.into_iter().flat_map(below).flat_map(below));
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.is_file())
}

/// A page in a browser.
pub struct Browser {
    _process: Running,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Value,
    number: u64,
    /// What the page or the browser has complained about.
    pub complaints: Vec<String>,
}

impl Browser {
    /// Opens `url`.
    pub fn open(program: &Path, profile: &Path, url: &str) -> Self {
        let mut command = Command::new("sh");
        // The browser listens to descriptor 3 and answers on 4.
        command.arg("-c").arg("exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null").arg(program);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"]);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Running::start(&mut command);
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let (session, complaints) = (Value::Null, Vec::new());
        let mut browser = Self { _process: process, to, from, session, number: 0, complaints };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let to = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", to)["sessionId"].clone();
        for domain in ["Runtime.enable", "Log.enable", "Page.enable", "Network.enable"] {
            browser.call(domain, json!({}));
        }
        browser.call("Page.navigate", json!({ "url": url }));
        browser
    }

    /// Calls a method, and gives its result; notes complaints that come meanwhile.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).expect("the browser answers");
            assert!(!bytes.is_empty(), "{method}: the browser has ended");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            let is_complaint = match answer["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Runtime.consoleAPICalled") => answer["params"]["type"] == "error",
                Some("Log.entryAdded") => answer["params"]["entry"]["level"] == "error",
                Some("Network.requestWillBeSent") => {
                    // A page needs no network but its run, a report not even that.
                    let url = answer["params"]["request"]["url"].as_str().unwrap_or_default();
                    let known = ["http://127.0.0.1:", "data:", "file:", "about:blank"];
                    !known.iter().any(|known| url.starts_with(known))
                }
                _ => false,
            };
            if is_complaint {
                self.complaints.push(answer.to_string());
            }
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let result =
            self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let since = std::time::Instant::now();
        while self.value(expression) != true {
            let state = self.value("document.body.innerText");
            assert!(since.elapsed().as_secs() < 120, "{expression}\n{state}\n{:?}", self.complaints);
            // The browser answers as fast as it is asked, and has other things to do.
            self.call(
                "Runtime.evaluate",
                json!({ "expression": "new Promise(done => setTimeout(done, 50))", "awaitPromise": true }),
            );
        }
    }

    fn press(&mut self, key: &str) {
        // A form is sent by the character of the key, which has this code.
        let (text, code) = if key == "Enter" { ("\r", 13) } else { (key, 0) };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code }),
            );
        }
    }

    pub fn view(&mut self, width: u32, scheme: &str) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 }),
        );
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Writes a picture of the whole page, if pictures are wanted.
    pub fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("PACELINE_PICTURES") else { return };
        let shot =
            self.call("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": true }));
        let bytes = decoded(shot["data"].as_str().expect("a picture"));
        std::fs::write(PathBuf::from(folder).join(format!("{name}.png")), bytes).expect("it can be written");
    }
}

/// Base 64 (RFC 4648).
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').map(value).collect();
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0_u32, |bits, letter| bits << 6 | u32::from(*letter))
            << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    letters.chunks(4).flat_map(group).collect()
}

/// How many different colours a canvas shows, at some of its points.
const COLOURS: &str = "(id) => { const box = document.getElementById(id); \
    const data = box.getContext('2d').getImageData(0, 0, box.width, box.height).data; const seen = new Set(); \
    for (let at = 0; at < data.length; at += 4) if (data[at + 3]) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]); \
    return seen.size; }";

#[test]
fn the_page_works_in_a_browser() {
    let Some(program) = chromium() else {
        eprintln!("skipped: there is no Chromium, neither in PATH nor in ~/.cache/ms-playwright");
        return;
    };
    let (folder, profile) = (folder(), tempfile::tempdir().expect("a folder can be made"));
    let options = ["--paused", "--set", "run.protocol=optimistic"];
    let page = Page::of_run(folder.path(), "streets.toml", &options);
    let mut browser = Browser::open(&program, profile.path(), &page.url());
    browser.view(1600, "light");
    browser.until("document.getElementById('state')?.textContent === 'paused'");
    let said = "(document.getElementById('said').lastElementChild?.textContent ?? '')";
    browser.value("document.getElementById('step').click()");
    browser.until(&format!("{said}.includes('handled')"));
    browser.value("document.getElementById('window').click()");
    browser.until(&format!("{said}.includes('events on')"));
    // Slow enough to be looked at.
    choose_pace(&mut browser, "10");
    browser.until(&format!("{said}.includes('10 simulated seconds a second')"));
    // By keyboard: go on, and pause.
    browser.value("document.activeElement.blur()");
    browser.press("r");
    browser.until("document.getElementById('state').textContent === 'running'");
    browser.until("!document.getElementById('curves-section').hidden && document.querySelectorAll('#curves svg').length > 2");
    browser.until("!document.getElementById('matrix-section').hidden");
    browser.press("p");
    browser.until("document.getElementById('state').textContent === 'paused'");
    for canvas in ["picture", "herd", "matrix"] {
        let colours = browser.value(&format!("({COLOURS})('{canvas}')"));
        assert!(colours.as_u64() > Some(4), "{canvas} has {colours} colours");
    }
    // A parameter, by keyboard; a value out of range is answered and leaves the field as it is.
    let field = |name: &str| {
        format!(
            "[...document.querySelectorAll('#parameters label')].find(one => one.textContent === '{name}').control"
        )
    };
    assert_eq!(browser.value(&format!("{}.value", field("model.cycle"))), "8s");
    for (value, answer) in
        [("90000s", "allowed: a duration from 0.1s to 86400s"), ("20 s", "model.cycle is 20s from ")]
    {
        browser.value(&format!(
            "{{ const box = {}; box.focus(); box.value = '{value}' }}",
            field("model.cycle")
        ));
        browser.press("Enter");
        browser.until(&format!("{said}.includes('{answer}')"));
    }
    browser.value("document.activeElement.blur()");
    browser.until(&format!("{}.dataset.now === '20s'", field("model.cycle")));
    let hint = format!(
        "document.getElementById({}.getAttribute('aria-describedby')).textContent",
        field("model.demand")
    );
    assert_eq!(browser.value(&hint), "Allowed: a number from 0 to 1");
    browser.value("{ const box = document.getElementById('threads'); box.value = 3; document.getElementById('set-threads').click() }");
    browser.until(&format!("{said}.includes('threads 3 from now on')"));
    for (width, scheme) in [(1600, "light"), (1600, "dark"), (400, "light"), (400, "dark")] {
        browser.view(width, scheme);
        browser.until(&format!("innerWidth === {width} && document.documentElement.scrollWidth <= {width}"));
        browser.picture(&format!("{width}-{scheme}"));
    }
    let nameless = "[...document.querySelectorAll('button, input, select, canvas, progress')].filter(one => \
        !(one.getAttribute('aria-label') || one.labels?.length || one.textContent.trim())).map(one => one.id)";
    assert_eq!(browser.value(nameless), json!([]), "everything has a name");
    // The second press is for those who are sure.
    browser.value("{ document.getElementById('stop').click(); document.getElementById('stop').click() }");
    browser.until("document.getElementById('state').textContent === 'ended'");
    assert_eq!(page.finish_with(130)["ended_by"], "interrupted");
    browser.picture("ended");
    // The value out of range, which the browser notes by itself.
    let is_refusal = |complaint: &mut String| complaint.contains("status of 422");
    assert_eq!(browser.complaints.extract_if(.., is_refusal).count(), 1);
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

/// Which of the buttons of the page can be seen.
const BUTTONS: &str = "[...document.querySelectorAll('#controls button, #controls select')]\
    .filter(one => one.offsetParent).map(one => one.id)";

#[test]
fn pages_of_machines_and_replications_work_in_a_browser() {
    let Some(program) = chromium() else {
        eprintln!("skipped: there is no Chromium, neither in PATH nor in ~/.cache/ms-playwright");
        return;
    };
    let (folder, profile) = (folder(), tempfile::tempdir().expect("a folder can be made"));
    std::fs::write(folder.path().join("machine.toml"), super::scenes::MACHINE).expect("it can be written");
    let page = Page::start(folder.path(), &["machine", "machine.toml", "--json", "--live", "--paused"]);
    let mut browser = Browser::open(&program, profile.path(), &page.url());
    browser.view(1600, "light");
    browser.until("document.getElementById('state')?.textContent === 'paused'");
    assert_eq!(browser.value(BUTTONS), json!(["pause", "go", "step", "pace"]), "only what it answers");
    browser.press("e");
    browser.until("document.getElementById('said').lastElementChild?.textContent.includes('leaves PCPU')");
    browser.press("w");
    choose_pace(&mut browser, "1");
    browser.press("r");
    browser.until("document.getElementById('herd-section').hidden === false");
    browser.until("document.querySelectorAll('#curves svg').length > 1");
    browser.press("p");
    browser.until("document.getElementById('state').textContent === 'paused'");
    for canvas in ["lanes", "herd", "matrix"] {
        let colours = browser.value(&format!("({COLOURS})('{canvas}')"));
        assert!(colours.as_u64() > Some(4), "{canvas} has {colours} colours");
    }
    looked_at(&mut browser, "machine");
    let said = browser.value("document.getElementById('said').children.length");
    assert_eq!(said, 4, "a key without its button asks nothing");
    page.post("pace free");
    page.post("go");
    page.finish();
    browser.until("document.getElementById('state').textContent === 'ended'");

    let many = ["replicate", "phold.toml", "--replications", "10000", "--json", "--live"];
    let page = Page::start(folder.path(), &many);
    browser.call("Page.navigate", json!({ "url": page.url() }));
    browser.until("document.querySelectorAll('#tables td').length > 10");
    browser.until("document.querySelectorAll('#curves svg').length > 1");
    assert_eq!(browser.value(BUTTONS), json!(["stop"]));
    looked_at(&mut browser, "replicate");
    browser.value("{ document.getElementById('stop').click(); document.getElementById('stop').click() }");
    browser.until("document.getElementById('state').textContent === 'ended'");
    page.finish_with(130);
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

/// Chooses a speed, as a person does in the list.
fn choose_pace(browser: &mut Browser, pace: &str) {
    let list = "document.getElementById('pace')";
    browser.value(&format!("{list}.value = '{pace}'; {list}.dispatchEvent(new Event('change'))"));
}

/// Nothing is wider than the page, on any screen and in any colours.
fn looked_at(browser: &mut Browser, name: &str) {
    for (width, scheme) in [(1600, "light"), (1600, "dark"), (400, "light"), (400, "dark")] {
        browser.view(width, scheme);
        browser.until(&format!("innerWidth === {width} && document.documentElement.scrollWidth <= {width}"));
        browser.picture(&format!("{name}-{width}-{scheme}"));
    }
}
