//! A real Chromium, driven over `WebDriver` (W3C) with a virtual authenticator (WebAuthn §11).
//!
//! Where there is none the tests that need it say so and pass; `PORTEIRO_TEST_REQUIRE_CHROMIUM=1` makes
//! that a failure. `bin/test` installs it where it can.

use crate::http::{Answer, request, send};
use hyper::Method;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// How long a script of a test may take.
const SCRIPT: Duration = Duration::from_mins(1);

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
            skip();
            return None;
        };
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let started = |line: &String| line.contains("started successfully on port");
        let line = lines.find_map(|line| line.ok().filter(started)).expect("a driver that starts");
        let port: String = line.chars().filter(char::is_ascii_digit).collect();
        let address = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
        let mut browser = Self { driver, address, session: String::new() };
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
        let options = json!({ "binary": binary, "args": arguments });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options });
        let capabilities = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = browser.command("/session", &capabilities).await;
        browser.session = begun["sessionId"].as_str().unwrap().to_owned();
        browser.ask("timeouts", &json!({ "script": SCRIPT.as_millis() })).await;
        Some(browser)
    }

    pub async fn open(&self, url: &str) {
        self.ask("url", &json!({ "url": url })).await;
    }

    /// Adds an authenticator that has its own store of passkeys and always verifies its user.
    pub async fn add_authenticator(&self) {
        let options = json!({
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": true,
            "hasUserVerification": true,
            "isUserConsenting": true,
            "isUserVerified": true,
        });
        self.ask("webauthn/authenticator", &options).await;
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

    /// Runs a script on the page that is open; nothing comes of one that a navigation has cut off.
    pub async fn try_evaluate(&self, script: &str) -> Option<Value> {
        let path = format!("/session/{}/execute/sync", self.session);
        let answer = self.send(&path, &json!({ "script": script, "args": [] })).await;
        (answer.status == 200).then(|| answer.json()["value"].take())
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

    async fn run(&self, script: &str, argument: &Value) -> Value {
        self.ask("execute/async", &json!({ "script": script, "args": [argument] })).await
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
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()["value"].take()
    }
}

/// Finds a program as a shell does.
fn find(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[expect(clippy::print_stderr, reason = "a test that was skipped must not look like one that ran")]
fn skip() {
    eprintln!("skipped: there is no chromium with chromedriver");
}
