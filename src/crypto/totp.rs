//! One-time codes of an authenticator application (RFC 6238), as all of them make them: SHA-1, six
//! digits, thirty seconds.

use super::{
    base32::encode_base32,
    random::{Dice, draw},
};
use crate::domain::{Secret, Timestamp};
use qrcode::{Color, EcLevel, QrCode};
use std::fmt::Write as _;
use totp_rs::{Algorithm, Builder, Secret as Shared};
use zeroize::Zeroizing;

const DIGITS: u8 = 6;
/// RFC 6238 §5.2: one step of delay is borne, and one of a clock that is fast.
const SKEW: u16 = 1;
const STEP: u64 = 30;
/// Nothing longer is read: a code, with what was pasted around it.
const LONGEST: usize = 64;
/// RFC 4226 §4: 160 bits are recommended.
const SECRET: usize = 20;

/// Light modules around a QR code, without which it is not found (ISO/IEC 18004).
const QUIET_ZONE: usize = 4;
/// How many pixels wide a module is drawn, unless a page says otherwise.
const MODULE: usize = 4;

/// Returns the time step for which `code` is the right one; the caller accepts each step once.
pub fn matching_step(secret: &Secret, code: &str, now: Timestamp) -> Option<u64> {
    if code.len() > LONGEST {
        return None;
    }
    let code = code.trim();
    if code.len() != usize::from(DIGITS) || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = u64::try_from(now.seconds()).ok()?;
    // Secrets from elsewhere may be shorter than the standard recommends.
    let totp = Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(DIGITS)
        .with_skew(SKEW)
        .with_step_duration(STEP)
        .with_secret(Shared::new(secret.expose().into()))
        .build_noncompliant();
    totp.check(code, seconds)
}

/// Draws the secret of a new authenticator application.
pub fn draw_totp_secret(dice: &dyn Dice) -> Secret {
    Secret::new(*Zeroizing::new(draw::<SECRET>(dice)))
}

/// A secret in the three forms in which a person can bring it into their application.
pub struct TotpEnrolment {
    /// In base32, to be typed.
    pub secret: Zeroizing<String>,
    /// To be opened on the device that has the application.
    pub otpauth_uri: Zeroizing<String>,
    /// That link as a picture, to be photographed.
    pub qr_svg: Zeroizing<String>,
}

impl TotpEnrolment {
    /// Writes `secret` for the `account` of an `issuer`; `None` where the names are too long for a
    /// picture.
    pub fn of(secret: &Secret, issuer: &str, account: &str) -> Option<Self> {
        let secret = encode_base32(secret);
        // Applications split the label at its first colon, even at one that is escaped.
        let issuer = escape(&issuer.replace(':', "-"));
        let account = escape(&account.replace(':', "-"));
        let otpauth_uri = Zeroizing::new(format!(
            "otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}&algorithm=SHA1\
             &digits={DIGITS}&period={STEP}",
            *secret
        ));
        let qr_svg = qr_svg(&otpauth_uri)?;
        Some(Self { secret, otpauth_uri, qr_svg })
    }
}

/// Escapes everything but the unreserved characters of RFC 3986 §2.3; a plus sign is no space here.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Draws a text as a QR code, black on white; the picture runs nothing and refers to nothing.
fn qr_svg(text: &str) -> Option<Zeroizing<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let (width, modules) = (code.width(), Zeroizing::new(dark_modules(&code)));
    let side = width + 2 * QUIET_ZONE;
    let pixels = side * MODULE;
    // Enough for all of it: a buffer that grows leaves copies of the secret behind.
    let mut svg = Zeroizing::new(String::with_capacity(512 + 16 * modules.len()));
    let _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}" height="{pixels}" viewBox="0 0 {side} {side}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h{side}v{side}H0z"/><path fill="#000" d=""##
    );
    for (y, row) in modules.chunks(width).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|one, next| one == next) {
            if run.first() == Some(&true) {
                let (left, top, length) = (x + QUIET_ZONE, y + QUIET_ZONE, run.len());
                let _ = write!(svg, "M{left} {top}h{length}v1h-{length}z");
            }
            x += run.len();
        }
    }
    svg.push_str(r#""/></svg>"#);
    Some(svg)
}

fn dark_modules(code: &QrCode) -> Vec<bool> {
    code.to_colors().into_iter().map(|module| module == Color::Dark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SystemDice, decode_base32};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn the_codes_are_those_of_the_standard() {
        // RFC 6238, appendix B, the last six digits.
        let secret = Secret::new("12345678901234567890");
        for (seconds, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (2_000_000_000, "279037")]
        {
            assert_eq!(
                matching_step(&secret, code, at(seconds)),
                Some(seconds.cast_unsigned() / 30)
            );
        }
    }

    #[test]
    fn one_step_early_or_late_is_borne_and_no_more() {
        let secret = Secret::new("12345678901234567890");
        for (seconds, good) in [(0, true), (30, true), (60, true), (89, true), (90, false)] {
            assert_eq!(matching_step(&secret, "287082", at(seconds)).is_some(), good, "{seconds}");
        }
    }

    #[test]
    fn what_is_not_six_digits_is_no_code() {
        let secret = Secret::new("12345678901234567890");
        for bad in ["", "28708", "2870822", "28708a", "+87082", "２８７０８２", "287 082"] {
            assert_eq!(matching_step(&secret, bad, at(59)), None, "{bad}");
        }
        assert!(matching_step(&secret, " 287082\n", at(59)).is_some(), "as it was pasted");
    }

    #[test]
    fn hostile_codes_are_refused_whatever_they_are_made_of() {
        let secret = Secret::new("12345678901234567890");
        let long = "287082".repeat(200_000);
        let spaced = format!("{}287082", " ".repeat(1_000_000));
        for bad in ["٢٨٧٠٨٢", "28708２", "287082\0", "-87082", "0x4614", "২৮৭০৮২", &long]
        {
            assert_eq!(matching_step(&secret, bad, at(59)), None);
        }
        assert_eq!(matching_step(&secret, &spaced, at(59)), None, "pasted, but from where?");
        assert_eq!(matching_step(&secret, "287082", at(-1)), None, "before there was time");
    }

    #[test]
    fn a_new_secret_has_160_bits_and_is_another_each_time() {
        let secret = draw_totp_secret(&SystemDice);
        assert_eq!(secret.expose().len(), 20);
        assert_ne!(secret, draw_totp_secret(&SystemDice));
    }

    #[test]
    fn a_secret_is_written_as_applications_read_it() {
        let secret = Secret::new("12345678901234567890");
        let written = TotpEnrolment::of(&secret, "id.example.com", "ana+x@acme.test").unwrap();
        assert_eq!(&*written.secret, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(decode_base32(&written.secret), Some(secret));
        assert_eq!(
            &*written.otpauth_uri,
            "otpauth://totp/id.example.com:ana%2Bx%40acme.test\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=id.example.com\
             &algorithm=SHA1&digits=6&period=30"
        );
    }

    #[test]
    fn no_name_breaks_out_of_its_part_of_the_uri() {
        let secret = Secret::new("12345678901234567890");
        let account = "a?secret=B&issuer=evil:x/../#\"<script> é%41@acme.test";
        let written = TotpEnrolment::of(&secret, "[::1]", account).unwrap();
        let uri = url::Url::parse(&written.otpauth_uri).unwrap();
        let keys: Vec<_> = uri.query_pairs().map(|(key, _)| key.into_owned()).collect();
        assert_eq!(keys, ["secret", "issuer", "algorithm", "digits", "period"]);
        assert_eq!(uri.path().matches(':').count(), 1, "{uri}");
        assert!(uri.path().starts_with("/%5B--1%5D:a%3Fsecret%3DB%26"), "{uri}");
        assert!(uri.path().ends_with("%20%C3%A9%2541%40acme.test"), "{uri}");
        assert!(uri.fragment().is_none());
    }

    #[test]
    fn the_longest_names_fit_into_the_picture_and_longer_ones_are_refused() {
        let secret = Secret::new("12345678901234567890");
        let issuer = "h".repeat(253);
        let account = "\u{E9}".repeat(crate::domain::account::LONGEST_EMAIL / 2);
        assert!(TotpEnrolment::of(&secret, &issuer, &account).is_some());
        assert!(TotpEnrolment::of(&secret, &issuer, &"a".repeat(10_000)).is_none());
    }

    /// Reads the picture back: which modules its runs make dark.
    fn drawn(svg: &str, side: usize) -> Vec<bool> {
        let path = svg.split(r##"fill="#000" d=""##).nth(1).unwrap().split('"').next().unwrap();
        let mut modules = vec![false; side * side];
        for run in path.split_terminator('z') {
            let (from, shape) = run.strip_prefix('M').unwrap().split_once('h').unwrap();
            let (left, top) = from.split_once(' ').unwrap();
            let length: usize = shape.split('v').next().unwrap().parse().unwrap();
            let start = top.parse::<usize>().unwrap() * side + left.parse::<usize>().unwrap();
            modules[start..start + length].fill(true);
        }
        modules
    }

    #[test]
    fn the_picture_is_the_code_of_the_uri_within_a_white_margin_and_nothing_else() {
        let secret = Secret::new("12345678901234567890");
        let written = TotpEnrolment::of(&secret, "id.example.com", "ana@acme.test").unwrap();
        let svg = &*written.qr_svg;
        let code = QrCode::with_error_correction_level(written.otpauth_uri.as_bytes(), EcLevel::M)
            .unwrap();
        let (width, side) = (code.width(), code.width() + 8);
        let (drawn, modules) = (drawn(svg, side), dark_modules(&code));
        for y in 0..side {
            for x in 0..side {
                let within = (4..4 + width).contains(&x) && (4..4 + width).contains(&y);
                let dark = within && modules[(y - 4) * width + x - 4];
                assert_eq!(drawn[y * side + x], dark, "{x} {y}");
            }
        }
        let pixels = side * 4;
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
        assert!(svg.contains(&format!("width=\"{pixels}\" height=\"{pixels}\"")));
        assert!(svg.contains(&format!("viewBox=\"0 0 {side} {side}\"")));
        for unwanted in ["script", "href", "url(", "style", "onload", "<!", "&", "otpauth"] {
            assert!(!svg.contains(unwanted), "{unwanted}");
        }
        assert_eq!(svg.matches('<').count(), 4, "one svg of two paths");
        assert!(svg.len() < 20_000, "{}", svg.len());
    }
}
