//! How a client comes by a certificate for tests: commands that a shell runs as they are printed.

use super::register::{Way, members, toml};
use crate::{cli::say, config::Config, http::routes, server::beside_issuer};
use serde_json::{Value, json};
use std::path::Path;

/// Where the client will ask, and where its operator says so.
pub(super) struct Place {
    /// The alias of the token endpoint.
    token: String,
    /// What a command of ours begins with.
    porteiro: String,
    client_ca: Option<String>,
}

impl Place {
    pub(super) fn of(config: &Config, file: Option<&Path>) -> Self {
        let listen = config.mtls.listen.zip(config.issuer.as_deref());
        let beside = listen.and_then(|(at, issuer)| beside_issuer(issuer, at.port()));
        // Behind a proxy it is where the other endpoints are.
        let forwarded = config.issuer.clone().filter(|_| config.client_cert_header);
        let origin = config.mtls.url.clone().or(beside).or(forwarded);
        let origin = origin.unwrap_or_else(|| "https://mtls.example.com".to_owned());
        let token = format!("{}{}", origin.trim_end_matches('/'), routes::TOKEN);
        let named = |path: &Path| format!("porteiro --config {}", quoted(&path.to_string_lossy()));
        let porteiro = file.map_or_else(|| "porteiro".to_owned(), named);
        let client_ca = config.mtls.client_ca.as_ref().map(|path| path.display().to_string());
        Self { token, porteiro, client_ca }
    }
}

/// One thing to do: why, and the commands.
struct Step {
    why: String,
    commands: Vec<String>,
}

/// A key of the kind that every library has.
const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

pub(super) fn print(client_id: &str, way: Way, place: &Place, json: bool) -> std::io::Result<()> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-".contains(one);
    let is_plain = client_id.chars().all(is_plain) && client_id.len() <= 64;
    // The name of files, and the name in the certificate.
    let name = if is_plain { client_id.trim_start_matches(['-', '.']) } else { "" };
    let name = if name.is_empty() { "client" } else { name };
    let subject = format!("CN={name},O=Example");
    let known_by = ("tls_client_auth_subject_dn", json!(subject));
    let register = members(client_id, way, Some(known_by).filter(|_| way == Way::Authority));
    let steps = match way {
        Way::SelfSigned => vec![self_signed(name), registered(client_id, name, place)],
        Way::Authority => vec![authority(place), issued(name), written(name, &register, place)],
    };
    let steps = steps.into_iter().chain([asked(client_id, name, place)]);
    if json {
        let commands: Vec<String> = steps.flat_map(|step| step.commands).collect();
        let said: Value = json!({
            "client_id": client_id,
            "token_endpoint": place.token,
            "commands": commands,
            "register": register,
        });
        return say(&said.to_string());
    }
    for (at, Step { why, commands }) in steps.enumerate() {
        let apart = if at == 0 { "" } else { "\n" };
        say(&format!("{apart}# {why}\n{}", commands.join("\n")))?;
    }
    Ok(())
}

fn self_signed(name: &str) -> Step {
    let make = format!(
        "openssl req -x509 {NEW_KEY} -days 30 -subj /O=Example/CN={name} \\\n    \
         -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=clientAuth \\\n    \
         -keyout {name}.key -out {name}.pem"
    );
    let why = "A key, and a certificate that the client signs itself. Only the certificate leaves the client.";
    Step { why: why.to_owned(), commands: vec![make] }
}

fn registered(client_id: &str, name: &str, place: &Place) -> Step {
    let Place { porteiro, .. } = place;
    let id = quoted(client_id);
    let read = format!(
        "{porteiro} client certificate {id} {} --read {name}.pem > {name}.toml",
        Way::SelfSigned.flag()
    );
    let why = "What to register: the certificate as `jwks`, and that tokens are bound to it.";
    Step { why: why.to_owned(), commands: vec![read, format!("{porteiro} apply {name}.toml")] }
}

fn authority(place: &Place) -> Step {
    let make = format!(
        "openssl req -x509 {NEW_KEY} -days 30 -subj '/O=Example/CN=Test authority' \\\n    \
         -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign \\\n    \
         -keyout ca.key -out ca.pem"
    );
    let trusted = match &place.client_ca {
        Some(path) => format!("The server trusts {path}: put ca.pem there"),
        None => "The server trusts it with client_ca = \"ca.pem\" under [mtls]".to_owned(),
    };
    let why =
        format!("An authority for tests. {trusted}, then restart the server or send it SIGHUP.");
    Step { why, commands: vec![make] }
}

fn issued(name: &str) -> Step {
    let ask = format!(
        "openssl req {NEW_KEY} -subj /O=Example/CN={name} -keyout {name}.key -out {name}.csr"
    );
    let usage = format!(
        "printf 'basicConstraints = critical,CA:FALSE\\nkeyUsage = critical,digitalSignature\\n\
         extendedKeyUsage = clientAuth\\n' > {name}.ext"
    );
    let issue = format!(
        "openssl x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \\\n    \
         -extfile {name}.ext -out {name}.pem"
    );
    let why = "A key of the client, and a certificate that the authority issues for it.".to_owned();
    Step { why, commands: vec![ask, usage, issue] }
}

fn written(name: &str, register: &Value, place: &Place) -> Step {
    let file = format!("cat > {name}.toml <<'END'\n{}\nEND", toml(register));
    let apply = format!("{} apply {name}.toml", place.porteiro);
    let why = "What to register: the subject as RFC 4514 writes it, and that tokens are bound to the certificate.";
    Step { why: why.to_owned(), commands: vec![file, apply] }
}

fn asked(client_id: &str, name: &str, place: &Place) -> Step {
    let ask = format!(
        "curl --cert {name}.pem --key {name}.key {} \\\n    \
         -d grant_type=client_credentials --data-urlencode {}",
        quoted(&place.token),
        quoted(&format!("client_id={client_id}"))
    );
    let why = "A token that is bound to the certificate. With --cacert where the server's own certificate is for tests.";
    Step { why: why.to_owned(), commands: vec![ask] }
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-/:=".contains(one);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        for (text, expected) in [
            ("a.b-c/d", "a.b-c/d"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(a)`b`", "'$(a)`b`'"),
            ("it's", r"'it'\''s'"),
            ("~/a", "'~/a'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
