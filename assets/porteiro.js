// What pages do beyond forms: passkeys, showing a password, copying and printing. Without it every
// page works; only what needs it is hidden.

const JSON_BODY = { method: "POST", credentials: "same-origin", headers: { "content-type": "application/json" } };

// Asks the flow for the first half of a ceremony.
const options = async (form, step, wish = {}) => {
  const answer = await fetch(`/flows/${form.dataset.flow}/${step}`, { ...JSON_BODY, body: JSON.stringify(wish) });
  if (!answer.ok) throw new Error("no options");
  return (await answer.json()).publicKey;
};

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const described = (list) => (list || []).map((one) => ({ ...one, id: bytes(one.id) }));

// Older browsers read and write no JSON of their own.
const requested = (key) =>
  PublicKeyCredential.parseRequestOptionsFromJSON?.(key) ??
  { ...key, challenge: bytes(key.challenge), allowCredentials: described(key.allowCredentials) };
const created = (key) =>
  PublicKeyCredential.parseCreationOptionsFromJSON?.(key) ??
  { ...key, challenge: bytes(key.challenge), user: { ...key.user, id: bytes(key.user.id) }, excludeCredentials: described(key.excludeCredentials) };
const written = (credential) => {
  if (credential.toJSON) return JSON.stringify(credential.toJSON());
  const response = {};
  for (const name of ["clientDataJSON", "authenticatorData", "signature", "userHandle", "attestationObject"]) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response, clientExtensionResults: credential.getClientExtensionResults() });
};

// Sends what the authenticator answered with a form of the page, as if it had been typed.
const send = (form, credential) => {
  form.elements.credential.value = written(credential);
  HTMLFormElement.prototype.submit.call(form);
};

// What the browser does by itself; it is stopped when the person does something.
let autofill, upgrading;
const forms = document.querySelectorAll("form[data-passkey]");

if (!window.PublicKeyCredential) {
  for (const form of forms) {
    if (form.dataset.passkey !== "autofill") (form.closest("li") || form).hidden = true;
  }
  for (const one of document.querySelectorAll(".or")) one.hidden = true;
  for (const one of document.querySelectorAll("[data-without-passkeys]")) one.hidden = false;
}

for (const form of forms) {
  const kind = form.dataset.passkey;
  if (kind === "autofill" || !window.PublicKeyCredential) continue;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.setAttribute("aria-busy", "true");
    autofill?.abort();
    await Promise.race([upgrading, new Promise((go) => setTimeout(go, 500))]);
    try {
      const credential = kind === "create"
        ? await navigator.credentials.create({ publicKey: created(await options(form, "passkey/create_options")) })
        : await navigator.credentials.get({ publicKey: requested(await options(form, "passkey/options")) });
      send(form, credential);
    } catch {
      // A person who closes the sheet has changed their mind: nothing is wrong.
      button.removeAttribute("aria-busy");
      button.focus();
    }
  });
}

// After a password the password manager may make a passkey by itself. Where it does not, the page asks.
const upgrade = async (form) => {
  autofill = new AbortController();
  const { signal } = autofill;
  for (const other of document.forms) other.addEventListener("submit", () => autofill.abort());
  try {
    const can = await window.PublicKeyCredential?.getClientCapabilities?.();
    if (!can?.conditionalCreate) return;
    const publicKey = created(await options(form, "passkey/create_options", { mediation: "conditional" }));
    signal.throwIfAborted();
    send(form, await navigator.credentials.create({ publicKey, mediation: "conditional", signal }));
  } catch { /* The person decides. */ }
};
const upgrades = document.querySelector("form[data-upgrades]");
if (upgrades) upgrading = upgrade(upgrades);

// Passkeys in the autofill of the address field. It begins with the first sign of a person, so that a
// page that only loads costs the server nothing.
const offerAutofill = async () => {
  const field = document.querySelector("form[data-passkey=autofill]");
  const button = document.querySelector("form[data-passkey=get]");
  if (!field || !button || !(await window.PublicKeyCredential?.isConditionalMediationAvailable?.())) return;
  autofill = new AbortController();
  try {
    const publicKey = requested(await options(field, "passkey/options"));
    send(button, await navigator.credentials.get({ publicKey, mediation: "conditional", signal: autofill.signal }));
  } catch { /* The person goes another way. */ }
};
const signs = ["pointermove", "pointerdown", "keydown", "focusin", "touchstart"];
const begin = () => { for (const sign of signs) removeEventListener(sign, begin); offerAutofill(); };
for (const sign of signs) addEventListener(sign, begin, { passive: true });

// Says with a password that a passkey could be made on this device: it is offered nowhere else.
const says = document.querySelectorAll("input[name=passkeys]");
if (says.length) {
  window.PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable?.().then((can) => {
    if (can) for (const field of says) field.value = "yes";
  }, () => {});
}

// Tells the password manager which passkeys are good here, and what the person is called.
const { unknown, account } = JSON.parse(document.querySelector("meta[name=passkeys]")?.content ?? "{}");
const signal = (name, said) => { if (said) window.PublicKeyCredential?.[name]?.(said).catch(() => {}); };
signal("signalUnknownCredential", unknown);
signal("signalAllAcceptedCredentials", account);
signal("signalCurrentUserDetails", account);

for (const button of document.querySelectorAll("[data-reveal]")) {
  const field = document.getElementById(button.dataset.reveal);
  const [show, hide] = [button.textContent, button.dataset.hide];
  button.addEventListener("click", () => {
    const hidden = field.type === "password";
    field.type = hidden ? "text" : "password";
    button.textContent = hidden ? hide : show;
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const lines = [...document.getElementById(button.dataset.copy).children].map((one) => one.textContent);
    await navigator.clipboard.writeText(lines.join("\n"));
    button.textContent = button.dataset.done;
  });
}
for (const button of document.querySelectorAll("[data-print]")) button.addEventListener("click", () => print());

// A form is sent once: a second press waits for the first.
for (const form of document.querySelectorAll("form:not([data-passkey=get]):not([data-passkey=create]):not([data-work])")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });

// The way back to a client that takes its answer by a form.
const posts = document.querySelector("form[data-posts]");
if (posts) HTMLFormElement.prototype.submit.call(posts);

// What a profile must bring where the operator asks for work: an answer for which the hash of
// challenge, address and answer begins with so many zero bits.
for (const form of document.querySelectorAll("form[data-work]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.sent) return;
    form.dataset.sent = "yes";
    form.querySelector("button").setAttribute("aria-busy", "true");
    const { work, bits } = form.dataset;
    const [email, encoder] = [form.elements.email.value.trim(), new TextEncoder()];
    for (let answer = 0; ; answer++) {
      const hash = new DataView(await crypto.subtle.digest("SHA-256", encoder.encode(`${work}:${email}:${answer}`)));
      if (Math.clz32(hash.getUint32(0)) >= Math.min(bits, 32)) {
        const field = Object.assign(document.createElement("input"), { type: "hidden", name: "proof_of_work", value: String(answer) });
        form.append(field);
        return HTMLFormElement.prototype.submit.call(form);
      }
    }
  });
}

// The field that was refused has the focus, and with it what is said of it; else the message has it.
// Where the page says so itself, the browser does it.
if (!document.querySelector("[autofocus]")) {
  (document.querySelector("[aria-invalid=true]") ?? document.getElementById("error"))?.focus();
}
