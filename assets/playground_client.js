// What every client inside a page needs: base64url, requests that can be shown, and proofs of a key (RFC 9449).

export const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
export const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
export const draw = () => text(crypto.getRandomValues(new Uint8Array(32)));
const utf8 = (value) => new TextEncoder().encode(value);
export const sha256 = (value) => crypto.subtle.digest("SHA-256", utf8(value));

export const lines = (first, fields) => [first, ...Object.entries(fields).map(([name, value]) => `${name}=${value}`)].join("\n");
// Long values are shortened in what is shown.
const brief = (value) => (value.length > 90 ? `${value.slice(0, 32)}…` : value);
const shown = (value) => JSON.stringify(value, (_, inner) => (typeof inner === "string" ? brief(inner) : inner), 2);

// Calls the server as an application on another machine would: no cookie goes with it.
export const call = async (address, { fields, document, token, proof } = {}) => {
  const headers = {};
  if (token) headers.authorization = `${proof ? "DPoP" : "Bearer"} ${token}`;
  if (proof) headers.dpop = proof;
  const secret = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, brief(value)]));
  if (document) headers["content-type"] = "application/json";
  const options = { credentials: "omit", cache: "no-store", headers };
  if (fields) Object.assign(options, { method: "POST", body: new URLSearchParams(fields) });
  if (document) Object.assign(options, { method: "POST", body: JSON.stringify(document) });
  const answer = await fetch(address, options);
  const body = await answer.json().catch(() => ({}));
  const path = new URL(address).pathname;
  const request = document ? `POST ${path}\n${shown(document)}` : lines(`${fields ? "POST" : "GET"} ${path}`, { ...secret, ...fields });
  const challenge = answer.headers.get("www-authenticate");
  const head = challenge ? `${answer.status}\nwww-authenticate: ${challenge}` : answer.status;
  return { ok: answer.ok, status: answer.status, body, request, answer: `${head}\n${shown(body)}` };
};

// What keys that a server publishes are called here.
export const ALGORITHMS = {
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  PS256: { name: "RSA-PSS", hash: "SHA-256", saltLength: 32 },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
};

// A key that never leaves this page: the browser signs with it, and gives it to no script. It is in no store, and
// ends with the page.
export const makeHolder = async () => {
  const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const { crv, kty, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
  const part = (value) => text(utf8(JSON.stringify(value)));
  const header = part({ typ: "dpop+jwt", alg: "ES256", jwk: { crv, kty, x, y } });
  return {
    // RFC 7638: the members in this order.
    thumbprint: text(await sha256(JSON.stringify({ crv, kty, x, y }))),
    // Says how the browser refuses to hand the key out.
    refusal: () => crypto.subtle.exportKey("jwk", privateKey).then(() => null, ({ name }) => name),
    // Signs for one request.
    proof: async (htm, htu, token) => {
      const claims = { jti: draw(), htm, htu, iat: Math.floor(Date.now() / 1000) };
      if (token) claims.ath = text(await sha256(token));
      const message = `${header}.${part(claims)}`;
      return `${message}.${text(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, utf8(message)))}`;
    },
  };
};
