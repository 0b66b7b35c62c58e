//! What a browser is called among people, from what it calls itself: by plain rules, and only by names
//! that we know. Nothing that a caller wrote is repeated.

use serde::{Deserialize, Serialize};

/// The sort of a device, as far as it can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceKind {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<Browser>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Browser {
    Chrome,
    Edge,
    Firefox,
    Opera,
    Safari,
    SamsungInternet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    Android,
    ChromeOs,
    Ipad,
    Iphone,
    Linux,
    Macos,
    Windows,
}

/// The first mark that is found decides: most browsers name those that they resemble as well.
const BROWSERS: [(&str, Browser); 12] = [
    ("Edg/", Browser::Edge),
    ("EdgA/", Browser::Edge),
    ("EdgiOS/", Browser::Edge),
    ("OPR/", Browser::Opera),
    ("SamsungBrowser/", Browser::SamsungInternet),
    ("Firefox/", Browser::Firefox),
    ("FxiOS/", Browser::Firefox),
    ("CriOS/", Browser::Chrome),
    ("HeadlessChrome/", Browser::Chrome),
    ("Chromium/", Browser::Chrome),
    ("Chrome/", Browser::Chrome),
    ("Safari/", Browser::Safari),
];

const SYSTEMS: [(&str, System); 8] = [
    ("Android", System::Android),
    ("iPhone", System::Iphone),
    ("iPad", System::Ipad),
    ("CrOS", System::ChromeOs),
    ("Windows", System::Windows),
    ("Macintosh", System::Macos),
    ("Mac OS X", System::Macos),
    ("Linux", System::Linux),
];

impl DeviceKind {
    /// Reads what a browser calls itself.
    pub fn of(user_agent: &str) -> Self {
        let browser = BROWSERS.iter().find(|(mark, _)| user_agent.contains(mark));
        let system = SYSTEMS.iter().find(|(mark, _)| user_agent.contains(mark));
        Self { browser: browser.map(|found| found.1), system: system.map(|found| found.1) }
    }
}

impl DeviceKind {
    /// Its name, as far as it can be told; the same in every language.
    pub fn name(self) -> Option<String> {
        let names = [self.browser.map(Browser::name), self.system.map(System::name)];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

impl Browser {
    /// Its name, which is the same in every language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chrome => "Chrome",
            Self::Edge => "Edge",
            Self::Firefox => "Firefox",
            Self::Opera => "Opera",
            Self::Safari => "Safari",
            Self::SamsungInternet => "Samsung Internet",
        }
    }
}

impl System {
    /// Its name, which is the same in every language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Android => "Android",
            Self::ChromeOs => "ChromeOS",
            Self::Ipad => "iPad",
            Self::Iphone => "iPhone",
            Self::Linux => "Linux",
            Self::Macos => "macOS",
            Self::Windows => "Windows",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_known_by_what_they_call_themselves() {
        let names = |text: &str| {
            let DeviceKind { browser, system } = DeviceKind::of(text);
            (browser.map_or("", Browser::name), system.map_or("", System::name))
        };
        for (text, known) in [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
                ("Firefox", "Windows"),
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
                ("Edge", "Windows"),
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like \
                 Gecko) Version/18.5 Safari/605.1.15",
                ("Safari", "macOS"),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 \
                 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1",
                ("Chrome", "iPhone"),
            ),
            (
                "Mozilla/5.0 (Linux; Android 15; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) \
                 SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36",
                ("Samsung Internet", "Android"),
            ),
            (
                "Mozilla/5.0 (X11; CrOS x86_64 16181.61.0) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/134.0.0.0 Safari/537.36 OPR/117.0.0.0",
                ("Opera", "ChromeOS"),
            ),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0)", ("", "Linux")),
            ("curl/8.5.0", ("", "")),
            ("", ("", "")),
            ("<b>https://evil.test/\r\n123456</b>", ("", "")),
        ] {
            assert_eq!(names(text), known, "{text}");
        }
    }
}
