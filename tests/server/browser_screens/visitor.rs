//! A person at a real browser, in front of a provider with screens.

use super::{
    LEDGER,
    axe::{Axe, violations},
    page::{FACTS, Facts, MOST_BYTES, MOST_BYTES_OF_PLAYGROUND, OVERFLOW, Traffic, complaints},
};
use crate::{
    chromium::Chromium,
    mails,
    support::{TestOptions, TestServer},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

/// How a page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Light,
    Dark,
    /// On the narrowest of phones, which is also 1280 px at a zoom of 400 %.
    Narrow,
    NarrowDark,
}

impl Look {
    fn ending(self) -> &'static str {
        match self {
            Self::Light => "",
            Self::Dark => ".dark",
            Self::Narrow => ".320",
            Self::NarrowDark => ".320dark",
        }
    }

    fn theme(self) -> &'static str {
        match self {
            Self::Light | Self::Narrow => "light",
            Self::Dark | Self::NarrowDark => "dark",
        }
    }

    /// Width, height, and pixels to a pixel.
    fn size(self) -> (u32, u32, f64) {
        match self {
            Self::Light | Self::Dark => (1120, 760, 1.0),
            Self::Narrow | Self::NarrowDark => (320, 640, 1.5),
        }
    }
}

pub struct Visitor {
    pub browser: Chromium,
    pub server: TestServer,
    axe: Option<Axe>,
    /// Whether scripts of pages run; what is judged by a script of ours then is not.
    scripts: bool,
}

impl Visitor {
    /// Opens a provider and a browser, if there is one.
    pub async fn arrive() -> Option<Self> {
        Self::arrive_in(TestOptions::default()).await
    }

    /// The same, where a provider has other options.
    pub async fn arrive_in(options: TestOptions) -> Option<Self> {
        let browser = Chromium::start().await?;
        let options = TestOptions { screens: true, mailbox: options.smtp.is_none(), ..options };
        let server = TestServer::open_in(options).await;
        server.apply(LEDGER).await;
        let visitor = Self { browser, server, axe: Axe::find(), scripts: true };
        // Every page is loaded as if it were the first.
        visitor.browser.order("Network.enable", json!({})).await;
        visitor.browser.order("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
        visitor.show_as(Look::Light).await;
        Some(visitor)
    }

    pub async fn leave(self) {
        drop(self.browser);
        self.server.stop().await;
    }

    /// Opens a page of the provider's.
    pub async fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.server.issuer())).await;
    }

    /// Turns the scripts of pages off.
    pub async fn without_scripts(&mut self) {
        self.scripts = false;
        self.browser.order("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// Waits until a page has this heading.
    pub async fn sees(&self, heading: &str) {
        self.until("document.querySelector('h1')?.innerText", heading).await;
    }

    /// Waits until a page of this path is there.
    pub async fn is_at(&self, path: &str) {
        self.until("location.pathname", path).await;
    }

    /// Waits until what a script says of a page is this.
    pub async fn until(&self, what: &str, wanted: &str) {
        let script = format!("return document.readyState === 'complete' ? {what} : null;");
        let mut last = String::new();
        for _ in 0..250 {
            // A page that is about to be left cannot be asked.
            last = self.browser.try_evaluate(&script).await.as_ref().map(plain).unwrap_or_default();
            if last == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let shown = "return [location.href, document.body.innerText]";
        let shown = self.browser.evaluate(shown).await;
        panic!("{what} is {last:?} and not {wanted:?}: {shown}");
    }

    /// Waits until a field has the focus, and is told to be wrong in words that belong to it.
    pub async fn is_told_at(&self, field: &str) {
        let told = "(() => {
            const field = document.activeElement;
            const said = document.getElementById(field.getAttribute('aria-describedby')?.split(' ')[0]);
            return said?.getAttribute('role') === 'alert' && said.innerText ? field.id : '';
        })()";
        self.until(told, field).await;
    }

    /// Waits for the next mail and returns the code in it.
    pub async fn code(&self, before: usize) -> String {
        mails::code(&mails::wait_for(&self.server, before + 1).await[0])
    }

    /// Judges the page that is shown: in both themes, at both widths, and in the other language where
    /// the page can be had in it. Keeps pictures under a name, for these looks.
    pub async fn look(&self, name: &str, looks: &[Look]) {
        let facts = self.judge(name).await;
        for look in looks {
            self.picture(name, *look).await;
        }
        let other = if facts.lang == "en" { "pt" } else { "en" };
        let link = |tag: &str| format!("footer a[hreflang={tag}]");
        let has_other = format!("return document.querySelector('{}') !== null", link(other));
        if self.browser.evaluate(&has_other).await == true {
            self.browser.press(&link(other)).await;
            self.until("document.documentElement.lang", other).await;
            self.judge(name).await;
            self.browser.press(&link(&facts.lang)).await;
            self.until("document.documentElement.lang", &facts.lang).await;
            // What is asked for on the way back was judged before.
            self.browser.log("performance").await;
        }
    }

    /// Judges one page in one language.
    async fn judge(&self, name: &str) -> Facts {
        let facts = self.browser.run(FACTS, &Value::Null).await;
        let facts: Facts = serde_json::from_value(facts).unwrap();
        let Facts { title, headings, lang, address, shifts } = &facts;
        let traffic = Traffic::read(&self.browser.log("performance").await);
        let issuer = self.server.issuer();
        assert_eq!(traffic.elsewhere(issuer), [""; 0], "{name}: another host was asked");
        assert!(traffic.addresses.iter().any(|it| it.contains(".css")), "{name}: {traffic:?}");
        let most = if name == "playground" { MOST_BYTES_OF_PLAYGROUND } else { MOST_BYTES };
        assert!(traffic.bytes <= most, "{name}: {} bytes, {traffic:?}", traffic.bytes);
        let console = self.browser.log("browser").await;
        assert_eq!(complaints(&console, address), [""; 0], "{name}: {address}");
        assert!(shifts.is_empty(), "{name}: what is shown moves: {shifts:?}");
        assert_eq!(headings.len(), 1, "{name}: {headings:?}");
        let step = title.split(" · ").next().unwrap();
        assert!(!step.is_empty() && title.contains(" · "), "{name}: {title}");
        assert!(["en", "pt"].contains(&&**lang), "{name}: {lang}");
        self.judge_shown(name).await;
        facts
    }

    /// Judges what can be seen of a page, however it was loaded.
    pub async fn judge_shown(&self, name: &str) {
        for (look, again) in [(Look::NarrowDark, false), (Look::Light, true)] {
            self.show_as(look).await;
            self.judge_accessibility(name, look, again).await;
            let out = self.browser.evaluate(OVERFLOW).await;
            assert_eq!(out, json!([]), "{name}, {look:?}: it does not fit");
        }
    }

    /// Judges a page; `again` where all was judged that does not depend on how it is shown.
    async fn judge_accessibility(&self, name: &str, look: Look, again: bool) {
        let Some(axe) = &self.axe else { return };
        if self.browser.evaluate("return typeof axe").await == "undefined" {
            self.browser.evaluate(axe.script()).await;
        }
        let found = self.browser.run(Axe::judge(), &json!(again)).await;
        assert_eq!(violations(&found), [""; 0], "{name}, {look:?}");
    }

    /// Shows pages in a theme and a size.
    pub async fn show_as(&self, look: Look) {
        let (width, height, scale) = look.size();
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false });
        self.browser.order("Emulation.setDeviceMetricsOverride", metrics).await;
        // What changes slowly would be judged halfway.
        let still = ("prefers-reduced-motion", "reduce");
        self.media(&[("prefers-color-scheme", look.theme()), still]).await;
    }

    /// Sets what a page is told of the device and the person's wishes.
    pub async fn media(&self, features: &[(&str, &str)]) {
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.browser.order("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Keeps a picture of the whole page, where pictures are asked for.
    pub async fn picture(&self, name: &str, look: Look) {
        if pictures().is_some() {
            self.show_as(look).await;
            self.take_picture(&format!("{name}{}", look.ending()), look.size()).await;
            self.show_as(Look::Light).await;
        }
    }

    /// Keeps a picture of the page as it is shown now.
    pub async fn take_picture(&self, name: &str, (width, height, _): (u32, u32, f64)) {
        let Some(folder) = pictures() else { return };
        // Of a page that scrolls all is in the picture.
        self.browser.order("Emulation.setScrollbarsHidden", json!({ "hidden": true })).await;
        let tall = self.browser.evaluate("return document.documentElement.scrollHeight").await;
        let tall = tall.as_u64().unwrap().max(height.into());
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": tall, "scale": 1 });
        let format = std::env::var("PORTEIRO_SCREENSHOTS_AS").unwrap_or("webp".to_owned());
        let mut wanted = json!({ "format": format, "captureBeyondViewport": true, "clip": clip });
        let mut picture = Vec::new();
        // A tall page is kept less sharp, so that pictures stay small.
        for quality in [80, 60, 40, 20] {
            if format == "webp" {
                wanted["quality"] = quality.into();
            }
            let taken = self.browser.order("Page.captureScreenshot", wanted.clone()).await;
            picture = STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
            if format != "webp" || picture.len() <= LARGEST_PICTURE {
                break;
            }
        }
        self.browser.order("Emulation.setScrollbarsHidden", json!({ "hidden": false })).await;
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.{format}")), picture).unwrap();
    }

    /// How many mails there are.
    pub async fn mails(&self) -> usize {
        mails::mails(&self.server).await.len()
    }

    /// Types a password where it is asked for, after the address.
    pub async fn sign_in(&self, email: &str, password: &str) {
        self.browser.fill("#identifier", email).await;
        self.browser.press("main form .primary").await;
        self.until("String(document.querySelector('#password') !== null)", "true").await;
        self.browser.fill("#password", password).await;
        self.browser.press("main form .primary").await;
        self.declines().await;
    }

    /// Declines the passkey that is offered after a password, if it is.
    pub async fn declines(&self) {
        let offered = "form:has(input[name=step][value=skip]) button";
        let is_offered = format!(
            "return document.querySelector('{offered}') !== null \
             && document.querySelector('form[data-passkey=create]') !== null"
        );
        if self.browser.evaluate(&is_offered).await == true {
            self.look("passkey-offered", &[Look::Light]).await;
            self.browser.press(offered).await;
        }
    }
}

/// No picture has more bytes.
const LARGEST_PICTURE: usize = 40_000;

/// Where pictures are kept, if they are; a relative folder is below the project's own.
fn pictures() -> Option<PathBuf> {
    let folder = std::env::var_os("PORTEIRO_SCREENSHOTS")?;
    Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder))
}

/// What a script said, without the marks that keep names apart from the sentence around them.
fn plain(said: &Value) -> String {
    said.as_str().unwrap_or_default().replace(['\u{2068}', '\u{2069}'], "")
}
