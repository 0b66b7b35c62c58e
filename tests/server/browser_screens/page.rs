//! What a browser tells of the page that it shows.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use url::Url;

/// The most that a page and all it needs may have together, nothing of it kept from before.
pub const MOST_BYTES: u64 = 60_000;

/// The same of the playground, a client and an agent with eighteen steps in a page of a development server.
pub const MOST_BYTES_OF_PLAYGROUND: u64 = 105_000;

/// Reads what [`Facts`] has. Layout shifts come with the next task after they are asked for.
pub const FACTS: &str = "
    const done = arguments[arguments.length - 1];
    const shifts = [];
    const box = ({ x, y, width, height }) => [x, y, width, height].join(' ');
    const moved = ({ node, previousRect, currentRect }) =>
        `${box(previousRect)} → ${box(currentRect)} ${node?.outerHTML?.slice(0, 80) ?? node?.nodeName}`;
    const note = (list) => list.getEntries().filter((one) => !one.hadRecentInput)
        .forEach(({ value, sources }) => shifts.push(`${value}: ${sources.map(moved)}`));
    new PerformanceObserver(note).observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => setTimeout(() => done({
        title: document.title,
        headings: [...document.querySelectorAll('h1')].map((one) => one.innerText),
        lang: document.documentElement.lang,
        address: location.href,
        shifts,
    })));";

/// What holds of every page.
#[derive(Deserialize)]
pub struct Facts {
    pub title: String,
    pub headings: Vec<String>,
    pub lang: String,
    pub address: String,
    pub shifts: Vec<String>,
}

/// Says which elements stand out of the page, or hide part of what they hold, at a width of 320 px.
pub const OVERFLOW: &str = "
    const wide = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll('body *')].filter((one) => {
        const box = one.getBoundingClientRect();
        const style = getComputedStyle(one);
        const hidden = style.position === 'absolute' && box.width <= 1;
        return !hidden && box.width > 0 && (box.right > wide + 1 || box.left < -1);
    });
    return document.documentElement.scrollWidth > wide || out.length
        ? [`${document.documentElement.scrollWidth} of ${wide}`, ...out.map((one) => one.outerHTML.slice(0, 120))]
        : [];";

/// What was asked for over the network.
#[derive(Debug, Default)]
pub struct Traffic {
    pub addresses: Vec<String>,
    pub bytes: u64,
}

impl Traffic {
    /// Reads the log of a browser's performance: what belongs to the page that was loaded last, what
    /// led to it by a redirect included.
    pub fn read(log: &[Value]) -> Self {
        let messages: Vec<Value> = log
            .iter()
            .map(|entry| serde_json::from_str(entry["message"].as_str().unwrap()).unwrap())
            .map(|mut entry: Value| entry["message"].take())
            .collect();
        let is_page = |message: &&Value| message["params"]["type"] == "Document";
        let last = messages.iter().rev().find(is_page).map(|it| &it["params"]["loaderId"]);
        let mut traffic = Self::default();
        let mut asked = BTreeSet::new();
        for message in &messages {
            let event = &message["params"];
            let id = event["requestId"].as_str().unwrap_or_default();
            match message["method"].as_str() {
                Some("Network.requestWillBeSent") if Some(&event["loaderId"]) == last => {
                    let address = event["request"]["url"].as_str().unwrap_or_default();
                    asked.insert(id);
                    traffic.addresses.push(address.to_owned());
                }
                Some("Network.loadingFinished") if asked.contains(id) => {
                    let length = event["encodedDataLength"].as_f64().unwrap_or_default();
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a number of bytes"
                    )]
                    let length = length as u64;
                    traffic.bytes += length;
                }
                _ => {}
            }
        }
        traffic
    }

    /// Lists what was asked of others than this origin.
    pub fn elsewhere(&self, origin: &str) -> Vec<&str> {
        let own = Url::parse(origin).unwrap().origin();
        let other = |address: &&str| {
            let url = Url::parse(address).unwrap();
            url.scheme() != "data" && url.origin() != own
        };
        self.addresses.iter().map(String::as_str).filter(other).collect()
    }
}

/// Lists what a page has complained of, be it by its policy: everything in the console.
///
/// A page that says that there is nothing has that status itself, which a browser notes.
pub fn complaints(console: &[Value], address: &str) -> Vec<String> {
    let lines = console.iter().map(|entry| entry["message"].as_str().unwrap().to_owned());
    let own = |line: &String| line.starts_with(address) && line.contains("Failed to load resource");
    lines.filter(|line| !own(line)).collect()
}
