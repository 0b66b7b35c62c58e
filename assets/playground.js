// The playground of a development server, a client inside a page: it sends what any
// application sends, shows what comes back, and checks it. Nothing that comes in becomes markup.
import { ALGORITHMS, bytes, call, draw, lines, sha256, text } from "./playground_client.js";
import { stolenSteps } from "./playground_stolen.js";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);

const page = one("[data-playground]");
const client_id = page?.dataset.playground;
const own = page && `${page.dataset.issuer}/playground`;
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const CIBA_GRANT = "urn:openid:params:grant-type:ciba";

// What has happened so far; it lasts as long as the tab, so that a page in another language shows it, too.
const KEPT = "playground";
let run = { steps: {} };
const keep = () => sessionStorage.setItem(KEPT, JSON.stringify(run));

// Fills a step with what is known of it.
const show = (name) => {
  const [step, found] = [one(`[data-step=${name}]`), run.steps[name]];
  const checks = Object.values(found?.checks ?? {});
  step.dataset.state = !found ? "waiting" : found.bad || checks.some(([state]) => state === "bad") ? "bad" : "ok";
  for (const part of all("[data-part]", step)) {
    const value = found?.[part.dataset.part];
    part.hidden = !value;
    one("pre", part).textContent = value ?? "";
  }
  for (const row of all("[data-check]", step)) {
    const [state, value] = found?.checks?.[row.dataset.check] ?? ["waiting", ""];
    row.dataset.state = state;
    row.hidden = state === "waiting";
    one("[data-value]", row).textContent = value;
  }
};
const showAll = () => {
  for (const step of all("[data-step]")) show(step.dataset.step);
  const { tokens, who, old, ended, out, denied, agent } = run;
  one("[data-when=idle]").hidden = Boolean(who);
  one("[data-when=over]").hidden = !who;
  one("[data-when=out]").hidden = !out;
  one("[data-denied]").hidden = !denied;
  one("[data-who]").textContent = who ?? "";
  one("[data-act=steal]").disabled = one("[data-act=bind]").disabled = !tokens?.refresh_token || Boolean(ended);
  one("[data-act=misuse]").disabled = !tokens || Boolean(ended) || !stolen.isBound();
  one("[data-act=refresh]").disabled = !tokens?.refresh_token || Boolean(ended);
  one("[data-act=reuse]").disabled = !old || Boolean(ended);
  one("[data-act=pay]").disabled = !agent;
  one("[data-act=out]").disabled = !tokens;
};
const note = (name, fields) => {
  run.steps[name] = { ...run.steps[name], ...fields };
  keep();
  show(name);
};

const check = (is, value) => [is === "unknown" ? is : is ? "ok" : "bad", String(value ?? "")];

// Reads a token and checks its signature with the keys that the server publishes.
const valid = async ({ alg, kid }, jwt) => {
  const { keys } = await (await fetch(server.jwks_uri, { cache: "no-cache" })).json();
  const [key, algorithm] = [keys.find((one) => one.kid === kid), ALGORITHMS[alg]];
  if (!key || !algorithm) return false;
  const { kty, n, e, crv, x, y } = key;
  const at = jwt.lastIndexOf(".");
  try {
    const imported = await crypto.subtle.importKey("jwk", { kty, n, e, crv, x, y }, algorithm, false, ["verify"]);
    return await crypto.subtle.verify(algorithm, imported, bytes(jwt.slice(at + 1)), new TextEncoder().encode(jwt.slice(0, at)));
  } catch (error) {
    return error.name === "NotSupportedError" ? "unknown" : false;
  }
};
const read = async (jwt) => {
  const [header, claims] = jwt.split(".").slice(0, 2).map((part) => JSON.parse(new TextDecoder().decode(bytes(part))));
  const signature = check(await valid(header, jwt), `${header.alg}, kid ${header.kid}`);
  return { header, claims, signature, shown: `${JSON.stringify(header)}\n${JSON.stringify(claims, null, 2)}` };
};
const until = ({ exp }) => check(exp > Date.now() / 1000, `exp ${exp}, ${new Date(exp * 1000).toLocaleTimeString(document.documentElement.lang)}`);

let server;

// 1: asks, by sending the browser.
const begin = async () => {
  const [verifier, state, nonce] = [draw(), draw(), draw()];
  const invoices = one("[data-invoices]").checked;
  const scope = `openid profile email${invoices ? " invoices:read" : ""}`;
  run = { steps: {}, verifier, state, nonce, api: invoices ? page.dataset.api : server.issuer };
  const fields = {
    response_type: "code", client_id, redirect_uri: own, scope, state, nonce,
    code_challenge: text(await sha256(verifier)), code_challenge_method: "S256",
    ui_locales: document.documentElement.lang,
  };
  note("ask", { request: lines("GET /connect/authorize", fields) });
  location.assign(`${server.authorization_endpoint}?${new URLSearchParams(fields)}`);
};

// 2 to 6: takes the answer, and everything that follows from it.
const arrive = async (answer) => {
  const { verifier, state, nonce } = run;
  const checks = {
    state: check(state && answer.get("state") === state, `state ${answer.get("state")}`),
    issuer: check(answer.get("iss") === server.issuer, `iss ${answer.get("iss")}`),
  };
  const bad = answer.has("error");
  note("back", { answer: lines("GET /playground", Object.fromEntries(answer)), checks, bad });
  // What this page did not ask for is not used, and an answer is used once.
  if (Object.values(checks).some(([found]) => found === "bad")) return;
  delete run.state;
  run.denied = bad;
  if (bad) return;
  const fields = { grant_type: "authorization_code", code: answer.get("code"), redirect_uri: own, client_id, code_verifier: verifier };
  const traded = await call(server.token_endpoint, { fields });
  note("trade", { request: traded.request, answer: traded.answer, bad: !traded.ok });
  if (!traded.ok) return;
  const { id_token, access_token, refresh_token } = traded.body;

  const id = await read(id_token);
  const half = text((await sha256(access_token)).slice(0, 16));
  note("id", {
    claims: id.shown,
    token: id_token,
    checks: {
      signature: id.signature,
      iss: check(id.claims.iss === server.issuer, `iss ${id.claims.iss}`),
      aud: check(id.claims.aud === client_id, `aud ${id.claims.aud}`),
      nonce: check(id.claims.nonce === nonce, `nonce ${id.claims.nonce}`),
      exp: until(id.claims),
      at_hash: check(id.claims.at_hash === half, `at_hash ${id.claims.at_hash}`),
    },
  });
  const access = await read(access_token);
  note("access", {
    claims: access.shown,
    token: access_token,
    checks: {
      signature: access.signature,
      typ: check(access.header.typ === "at+jwt", `typ ${access.header.typ}`),
      iss: check(access.claims.iss === server.issuer, `iss ${access.claims.iss}`),
      aud: check(access.claims.aud === run.api, `aud ${access.claims.aud}`),
      client: check(access.claims.client_id === client_id, `client_id ${access.claims.client_id}`),
      exp: until(access.claims),
    },
  });
  const about = await call(server.userinfo_endpoint, { token: access_token });
  note("userinfo", {
    request: about.request, answer: about.answer, bad: !about.ok,
    checks: { sub: check(about.body.sub === id.claims.sub, `sub ${about.body.sub}`) },
  });
  run.tokens = { id_token, access_token, refresh_token, sub: id.claims.sub };
  run.who = about.body.email ?? about.body.name ?? id.claims.sub;
};

const renew = (refresh_token, proof) => call(server.token_endpoint, { fields: { grant_type: "refresh_token", refresh_token, client_id }, proof });

// 7 to 9: the token of the sign-in, in the hands of another page, and one that is bound. The refresh token is the next one
// then; the access token of the page stays as it is if the new one is bound.
const stolen = stolenSteps({
  note, check, read,
  server: () => server,
  tokens: () => run.tokens,
  renew: async (proof) => {
    const renewed = await renew(run.tokens.refresh_token, proof);
    const { refresh_token, access_token } = renewed.body;
    if (renewed.ok) Object.assign(run.tokens, { refresh_token }, proof ? {} : { access_token });
    keep();
    return renewed;
  },
});

// 10: a refresh token brings new tokens, the next refresh token among them.
const refresh = async () => {
  const old = run.tokens.refresh_token;
  const { ok, body, request, answer } = await renew(old);
  const fields = { request, answer, bad: !ok };
  if (ok) {
    const access = await read(body.access_token);
    fields.checks = {
      rotated: check(body.refresh_token && body.refresh_token !== old, `${old.slice(0, 24)}… → ${body.refresh_token.slice(0, 24)}…`),
      signature: access.signature,
      sub: check(access.claims.sub === run.tokens.sub, `sub ${access.claims.sub}`),
    };
    run.old = old;
    run.tokens = { ...run.tokens, ...body };
  }
  note("refresh", fields);
};

// 11: a used refresh token ends all that descend from the same sign-in.
const reuse = async () => {
  const { refresh_token, access_token } = run.tokens;
  const [old, newest] = [await renew(run.old), await renew(refresh_token)];
  const about = await call(server.userinfo_endpoint, { token: access_token });
  const said = ({ status, body }) => `${status} ${body.error ?? ""}`;
  run.ended = true;
  note("reuse", {
    request: old.request,
    answer: old.answer,
    checks: {
      old: check(!old.ok, said(old)),
      newest: check(!newest.ok, said(newest)),
      access: check(about.status === 401, said(about)),
    },
  });
};

// Shows where a person decides, and asks until they have, no faster than the server says.
const waiting = {};
const awaitDecision = (name, { code = "", link, interval = 5, fields }, decided) => {
  clearTimeout(waiting[name]);
  const [box, status] = [one(`[data-wait=${name}]`), one(`[data-status=${name}]`)];
  one("[data-code]", box).textContent = code;
  one("[data-link]", box).href = new URL(link, location.origin).href;
  const polls = one("b", status);
  polls.textContent = "";
  box.hidden = status.hidden = false;
  let [pace, asked] = [interval, 0];
  const poll = async () => {
    const polled = await call(server.token_endpoint, { fields });
    const { error } = polled.body;
    polls.textContent = `${error ?? "200"} (${++asked})`;
    if (["authorization_pending", "slow_down"].includes(error)) {
      if (error === "slow_down") pace += 5;
      waiting[name] = setTimeout(guarded(poll), pace * 1000);
      return;
    }
    box.hidden = true;
    await decided(polled);
  };
  waiting[name] = setTimeout(guarded(poll), pace * 1000);
};
const forget = (...names) => {
  for (const name of names) {
    clearTimeout(waiting[name]);
    delete run.steps[name];
    show(name);
  }
};

// 12 and 13: a device shows a code, and asks until the person has answered.
const device = async () => {
  forget("connected");
  const begun = await call(server.device_authorization_endpoint, { fields: { client_id, scope: "openid profile email" } });
  note("device", { request: begun.request, answer: begun.answer, bad: !begun.ok });
  if (!begun.ok) return;
  const { device_code, user_code: code, verification_uri_complete: link, interval } = begun.body;
  const fields = { grant_type: DEVICE_GRANT, device_code, client_id };
  awaitDecision("device", { code, link, interval, fields }, async ({ ok, body, request, answer }) => {
    if (!ok) return note("connected", { request, answer, bad: true });
    const access = await read(body.access_token);
    note("connected", {
      request, answer, claims: access.shown,
      checks: { signature: access.signature, client: check(access.claims.client_id === client_id, `client_id ${access.claims.client_id}`) },
    });
  });
};

// 14 and 15: an agent makes itself known, and a person lets it act for them.
const agent = async () => {
  forget("agent", "let", "pay", "paid");
  delete run.agent;
  const document = {
    client_name: "Playground agent", grant_types: [DEVICE_GRANT, CIBA_GRANT], response_types: [],
    token_endpoint_auth_method: "client_secret_post", backchannel_token_delivery_mode: "poll",
  };
  const made = await call(server.registration_endpoint, { document });
  note("agent", { request: made.request, answer: made.answer, bad: !made.ok });
  if (!made.ok) return;
  const proof = { client_id: made.body.client_id, client_secret: made.body.client_secret };
  const begun = await call(server.device_authorization_endpoint, { fields: { ...proof, scope: "openid email" } });
  if (!begun.ok) return note("let", { request: begun.request, answer: begun.answer, bad: true });
  const { device_code, user_code: code, verification_uri_complete: link, interval } = begun.body;
  const fields = { ...proof, grant_type: DEVICE_GRANT, device_code };
  awaitDecision("let", { code, link, interval, fields }, async ({ ok, body, request, answer }) => {
    note("let", { request, answer, bad: !ok });
    if (!ok) return;
    const about = await call(server.userinfo_endpoint, { token: body.access_token });
    run.agent = { ...proof, email: about.body.email };
  });
};

// 16 and 17: it asks for one payment, and gets a token for exactly that.
const PAYMENT = { type: "invoice_payment", amount: 40, payee: "Padaria Central" };
const pay = async () => {
  forget("paid");
  const { email, ...proof } = run.agent;
  const authorization_details = JSON.stringify([PAYMENT]);
  const fields = { ...proof, scope: "openid", login_hint: email, binding_message: "Invoice 17", authorization_details };
  const begun = await call(server.backchannel_authentication_endpoint, { fields });
  note("pay", { request: begun.request, answer: begun.answer, bad: !begun.ok });
  if (!begun.ok) return;
  const { auth_req_id, interval } = begun.body;
  const asking = { ...proof, grant_type: CIBA_GRANT, auth_req_id };
  awaitDecision("pay", { link: "/approve", interval, fields: asking }, async ({ ok, body, request, answer }) => {
    if (!ok) return note("paid", { request, answer, bad: true });
    const { claims, signature, shown } = await read(body.access_token);
    const [granted = {}, ...more] = claims.authorization_details ?? [];
    const exactly = !more.length && Object.entries(PAYMENT).every(([name, value]) => granted[name] === value);
    const about = await call(server.userinfo_endpoint, { token: body.access_token });
    note("paid", {
      request, answer, claims: shown,
      checks: {
        signature,
        details: check(exactly, JSON.stringify(granted)),
        aud: check(claims.aud === page.dataset.api, `aud ${claims.aud}`),
        used: check(about.ok && about.body.sub === claims.sub, `${about.status} sub ${about.body.sub}`),
      },
    });
  });
};

// 18: the session ends, by sending the browser.
const out = async () => {
  const { id_token } = run.tokens;
  const state = draw();
  const fields = { id_token_hint: id_token, client_id };
  if ("comesBack" in page.dataset) Object.assign(fields, { post_logout_redirect_uri: own, state });
  run = { steps: {}, leaving: state };
  note("out", { request: lines("GET /connect/logout", { ...fields, id_token_hint: `${id_token.slice(0, 32)}…` }) });
  location.assign(`${server.end_session_endpoint}?${new URLSearchParams(fields)}`);
};
const left = (answer) => {
  const checks = { state: check(answer.get("state") === run.leaving, `state ${answer.get("state")}`) };
  run.out = checks.state[0] === "ok";
  delete run.leaving;
  note("out", { answer: lines("GET /playground", Object.fromEntries(answer)), checks });
};

const restart = async () => {
  run = { steps: {} };
  stolen.forget();
};
const unfold = async () => { for (const part of all("details")) part.open = true; };

// Says calmly that something failed, whatever it was.
const guarded = (action) => async (...given) => {
  one("[data-trouble]").hidden = true;
  try {
    await action(...given);
  } catch {
    one("[data-trouble]").hidden = false;
  }
  keep();
  showAll();
};

const open = async () => {
  const kept = sessionStorage.getItem(KEPT);
  if (kept) run = JSON.parse(kept);
  const answer = new URLSearchParams(location.search);
  history.replaceState(null, "", location.pathname + location.hash);
  showAll();
  server = await (await fetch("/.well-known/openid-configuration")).json();
  if (answer.has("code") || answer.has("error")) await arrive(answer);
  else if (run.leaving && answer.has("state")) left(answer);
};

if (page && location.origin !== page.dataset.issuer) {
  // Passkeys and what a tab keeps belong to one name of this machine.
  location.replace(`${own}${location.search}`);
} else if (page) {
  for (const [name, action] of Object.entries({ begin, restart, unfold, ...stolen.acts, refresh, reuse, device, agent, pay, out })) {
    one(`[data-act=${name}]`).addEventListener("click", async ({ currentTarget: button }) => {
      if (button.getAttribute("aria-busy")) return;
      button.setAttribute("aria-busy", "true");
      await guarded(action)();
      button.removeAttribute("aria-busy");
    });
  }
  guarded(open)();
}
// A page that is shown again, as it was left, knows what has happened since.
addEventListener("pageshow", ({ persisted }) => { if (persisted && page) location.reload(); });
