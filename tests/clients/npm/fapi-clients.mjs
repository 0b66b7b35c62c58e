// Makes the keys of clients that are held to FAPI 2.0, and prints what the server is told of them (TOML).
//
//   node fapi-clients.mjs FOLDER      the private keys are kept in FOLDER/keys.json

import { writeFileSync } from 'node:fs';

const [folder] = process.argv.slice(2);
const redirect_uris = ['https://fapi.example.com/callback'];

const newKey = async (kid) => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', privateKey);
  return { kid, alg: 'ES256', kty, crv, x, y, d };
};

const jwt = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' };
const dpop = { dpop_bound_access_tokens: true };
const certificate = { tls_client_certificate_bound_access_tokens: true };
const tls = { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=fapi-mtls' };
const signing = { request_object_signing_alg: 'ES256', authorization_signed_response_alg: 'PS256' };
const clients = {
  'fapi-dpop': { require_profile: 'fapi2', ...jwt, ...dpop },
  'fapi-mixed': { require_profile: 'fapi2', ...jwt, ...certificate },
  'fapi-mtls': { require_profile: 'fapi2', ...tls, ...certificate },
  'fapi-signing': { require_profile: 'fapi2-message-signing', ...jwt, ...dpop, ...signing },
};

/** Writes a value of TOML on one line. */
const written = (value) => {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{ ${Object.entries(value).map(([name, value]) => `${name} = ${written(value)}`).join(', ')} }`;
};

const kept = {};
for (const [client_id, metadata] of Object.entries(clients)) {
  const { d, ...shown } = (kept[client_id] = await newKey(client_id));
  const own = metadata.token_endpoint_auth_method === 'private_key_jwt' ? { jwks: { keys: [shown] } } : {};
  const client = { client_id, redirect_uris, id_token_signed_response_alg: 'ES256', ...metadata, ...own };
  console.log('[[client]]');
  for (const [name, value] of Object.entries(client)) console.log(`${name} = ${written(value)}`);
}
writeFileSync(`${folder}/keys.json`, JSON.stringify(kept), { mode: 0o600 });
