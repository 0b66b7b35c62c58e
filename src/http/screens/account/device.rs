//! What a device is called on a page, from what its browser calls itself.

use super::super::shell::Shell;
use crate::domain::{DeviceKind, System};

/// Returns what the device is called, and its icon. Nothing that a caller wrote is repeated.
pub fn in_words(page: &Shell<'_>, user_agent: Option<&str>) -> (String, &'static str) {
    let DeviceKind { browser, system } = user_agent.map(DeviceKind::of).unwrap_or_default();
    let icon = match system {
        Some(System::Android | System::Ipad | System::Iphone) => "phone",
        Some(_) => "laptop",
        None => "screen",
    };
    let name = match (browser, system) {
        (Some(browser), Some(system)) => {
            page.says("device-on", &[("browser", browser.name()), ("system", system.name())])
        }
        (Some(browser), None) => browser.name().to_owned(),
        (None, Some(system)) => system.name().to_owned(),
        (None, None) => page.t("device-unknown"),
    };
    (name, icon)
}
