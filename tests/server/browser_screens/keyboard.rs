//! A whole sign-in by keyboard alone.

use super::{ANA, ENTER, TAB, visitor::Visitor};
use crate::person::PASSWORD;

/// What has the focus: its id, or its words.
const FOCUS: &str = "document.activeElement.id || document.activeElement.innerText";

/// Presses Tab until something has the focus; each that has it on the way is seen to have it.
async fn tab_to(visitor: &Visitor, wanted: &str) {
    let focus = format!("return {FOCUS}");
    for _ in 0..12 {
        if visitor.browser.evaluate(&focus).await == wanted {
            return;
        }
        visitor.browser.keys(TAB).await;
        let ring = "const style = getComputedStyle(document.activeElement);
            return document.activeElement === document.body
                || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2";
        let focused = visitor.browser.evaluate(&focus).await;
        assert_eq!(visitor.browser.evaluate(ring).await, true, "{focused} shows no focus");
    }
    panic!("Tab does not lead to {wanted}");
}

#[tokio::test]
async fn a_person_signs_in_by_keyboard_alone() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, .. } = &visitor;
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    tab_to(&visitor, "identifier").await;
    browser.keys(ANA).await;
    browser.keys(ENTER).await;
    visitor.sees("Enter your password").await;
    visitor.until(FOCUS, "password").await;
    browser.keys("not the right password").await;
    tab_to(&visitor, "Show").await;
    browser.keys(ENTER).await;
    visitor.until("document.querySelector('#password').type", "text").await;
    tab_to(&visitor, "Continue").await;
    browser.keys(ENTER).await;
    visitor.is_told_at("password").await;
    browser.keys(PASSWORD).await;
    browser.keys(ENTER).await;
    visitor.until("String(document.querySelector('#password') === null)", "true").await;
    visitor.declines().await;
    visitor.is_at("/account").await;
    visitor.leave().await;
}
