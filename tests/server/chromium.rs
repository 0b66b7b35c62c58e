//! A real Chromium, driven over `WebDriver` (W3C) with a virtual authenticator (WebAuthn §11).
//!
//! Where there is none the tests that need it say so and pass; `PORTEIRO_TEST_REQUIRE_CHROMIUM=1` makes
//! that a failure. `bin/test` installs it where it can.

use crate::{
    http::{Answer, request, send},
    programs::find,
};
use hyper::Method;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// How long a script of a test may take.
const SCRIPT: Duration = Duration::from_mins(1);

/// How often a browser is started before it is said that it does not start.
const STARTS: usize = 3;

/// Nothing but the pages of a test is asked for.
const ARGUMENTS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// By this name an answer of the driver refers to an element (`WebDriver` §12.1).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser of its own; it ends with the value.
pub struct Chromium {
    driver: Child,
    address: SocketAddr,
    session: String,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The browser would outlive its driver, also where a test has failed.
        drop(self.quit());
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

impl Chromium {
    /// Starts a browser, if there is one.
    pub async fn start() -> Option<Self> {
        let Some((binary, driver)) = find("chromium").zip(find("chromedriver")) else {
            let required =
                std::env::var("PORTEIRO_TEST_REQUIRE_CHROMIUM").is_ok_and(|it| it == "1");
            assert!(!required, "there is no chromium with chromedriver");
            say("skipped: there is no chromium with chromedriver");
            return None;
        };
        for _ in 0..STARTS {
            match Self::try_start(&binary, &driver).await {
                Ok(browser) => return Some(browser),
                Err(why) => say(&why),
            }
        }
        panic!("the browser does not start");
    }

    /// Starts a driver and has it start its browser. On a busy machine a driver sometimes ends at once, or gives up on
    /// a browser that comes up too slowly.
    async fn try_start(binary: &Path, driver: &Path) -> Result<Self, String> {
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let started = |line: &String| line.contains("started successfully on port");
        let line = lines.find_map(|line| line.ok().filter(started)).unwrap_or_default();
        let port: String = line.chars().filter(char::is_ascii_digit).collect();
        let address = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap_or(0)));
        let mut browser = Self { driver, address, session: String::new() };
        if address.port() == 0 {
            return Err("the driver did not start".to_owned());
        }
        let wanted = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": binary, "args": ARGUMENTS },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let capabilities = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = browser.send("/session", &capabilities).await;
        if begun.status != 200 {
            return Err(format!("the browser did not start: {}", begun.text()));
        }
        let session = begun.json()["value"]["sessionId"].take();
        session.as_str().unwrap().clone_into(&mut browser.session);
        browser.ask("timeouts", &json!({ "script": SCRIPT.as_millis() })).await;
        Ok(browser)
    }

    pub async fn open(&self, url: &str) {
        self.ask("url", &json!({ "url": url })).await;
    }

    /// Goes back, as its button does.
    pub async fn back(&self) {
        self.ask("back", &json!({})).await;
    }

    /// Adds an authenticator that has its own store of passkeys and always verifies its user.
    pub async fn add_authenticator(&self) -> String {
        let options = json!({
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": true,
            "hasUserVerification": true,
            "isUserConsenting": true,
            "isUserVerified": true,
        });
        let added = self.ask("webauthn/authenticator", &options).await;
        added.as_str().unwrap().to_owned()
    }

    /// Lists the passkeys that an authenticator holds.
    pub async fn credentials(&self, authenticator: &str) -> Vec<Value> {
        let session = &self.session;
        let path = format!("/session/{session}/webauthn/authenticator/{authenticator}/credentials");
        let request = request(Method::GET, self.address, &path).body("".into()).unwrap();
        let listed = send(self.address, request).await.json()["value"].take();
        listed.as_array().unwrap().clone()
    }

    /// Makes a passkey on the page that is open.
    pub async fn create(&self, options: &Value) -> Value {
        let script = "
            const [options, done] = arguments;
            const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey);
            navigator.credentials.create({ publicKey })
                .then(made => done(made.toJSON()), error => done({ error: String(error) }));";
        self.run(script, options).await
    }

    /// Signs with a passkey on the page that is open.
    pub async fn get(&self, options: &Value) -> Value {
        let script = "
            const [options, done] = arguments;
            const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey);
            navigator.credentials.get({ publicKey })
                .then(proof => done(proof.toJSON()), error => done({ error: String(error) }));";
        self.run(script, options).await
    }

    /// Opens another tab and goes to it; returns the tab that was left, and the new one.
    pub async fn new_tab(&self) -> (String, String) {
        let path = format!("/session/{}/window", self.session);
        let request = request(Method::GET, self.address, &path).body("".into()).unwrap();
        let left = send(self.address, request).await.json()["value"].take();
        let opened = self.ask("window/new", &json!({ "type": "tab" })).await["handle"].take();
        let (left, opened) = (left.as_str().unwrap(), opened.as_str().unwrap());
        self.switch_to(opened).await;
        (left.to_owned(), opened.to_owned())
    }

    pub async fn switch_to(&self, tab: &str) {
        self.ask("window", &json!({ "handle": tab })).await;
    }

    /// Runs a script that ends when it calls its last argument; the page's policy does not hold for it.
    pub async fn run(&self, script: &str, argument: &Value) -> Value {
        self.ask("execute/async", &json!({ "script": script, "args": [argument] })).await
    }

    /// Runs a script and returns what it returns.
    pub async fn evaluate(&self, script: &str) -> Value {
        self.ask("execute/sync", &json!({ "script": script, "args": [] })).await
    }

    /// Runs a script where the page may be about to go.
    pub async fn try_evaluate(&self, script: &str) -> Option<Value> {
        let path = format!("/session/{}/execute/sync", self.session);
        let answer = self.send(&path, &json!({ "script": script, "args": [] })).await;
        (answer.status == 200).then(|| answer.json()["value"].take())
    }

    /// Gives an order of Chromium's own protocol.
    pub async fn order(&self, command: &str, parameters: Value) -> Value {
        self.ask("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).await
    }

    /// Takes what was written to a log since it was last asked for: `browser` or `performance`.
    pub async fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.ask("se/log", &json!({ "type": kind })).await;
        entries.as_array().unwrap().clone()
    }

    /// Presses an element, which must be there, in view and not covered.
    pub async fn press(&self, css: &str) {
        let element = self.element(css).await;
        self.ask(&format!("element/{element}/click"), &json!({})).await;
    }

    /// Types into a field.
    pub async fn fill(&self, css: &str, text: &str) {
        let element = self.element(css).await;
        self.ask(&format!("element/{element}/clear"), &json!({})).await;
        self.ask(&format!("element/{element}/value"), &json!({ "text": text })).await;
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub async fn keys(&self, keys: &str) {
        let pressed = |key: char| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        };
        let actions: Vec<Value> = keys.chars().flat_map(pressed).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.ask("actions", &json!({ "actions": [keyboard] })).await;
    }

    async fn element(&self, css: &str) -> String {
        let found = self.ask("element", &json!({ "using": "css selector", "value": css })).await;
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    async fn ask(&self, command: &str, body: &Value) -> Value {
        self.command(&format!("/session/{}/{command}", self.session), body).await
    }

    fn quit(&self) -> std::io::Result<()> {
        let Self { address, session, .. } = self;
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "DELETE /session/{session} HTTP/1.1\r\nhost: {address}\r\n\r\n")?;
        stream.read_exact(&mut [0])
    }

    async fn send(&self, path: &str, body: &Value) -> Answer {
        let request = request(Method::POST, self.address, path)
            .header("content-type", "application/json")
            .body(body.to_string().into())
            .unwrap();
        send(self.address, request).await
    }

    async fn command(&self, path: &str, body: &Value) -> Value {
        let answer = self.send(path, body).await;
        assert_eq!(answer.status, 200, "{path} {}: {answer:?}", shortened(body));
        answer.json()["value"].take()
    }
}

/// A script of a test may be long.
fn shortened(body: &Value) -> String {
    body.to_string().chars().take(200).collect()
}

#[expect(
    clippy::print_stderr,
    reason = "a test that was skipped, or had to wait, must not look like one that ran"
)]
fn say(what: &str) {
    eprintln!("{what}");
}
