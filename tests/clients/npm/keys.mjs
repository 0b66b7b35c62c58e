// A client with a key of its own: it proves itself by `private_key_jwt`, pushes and signs its requests,
// names the claims that it needs, and manages its registration.

import assert from 'node:assert/strict';
import * as client from 'openid-client';
import { Browser, signIn } from './person.mjs';
import { checksOf, issuer, options, request, scene, unproven } from './relying-party.mjs';

const check = checksOf('private_key_jwt, ES256');
const redirect_uri = 'https://keys.example.com/callback';
const scope = 'openid offline_access';

const newKey = () =>
  crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
const { privateKey, publicKey } = await newKey();
const foreign = (await newKey()).privateKey;
const kid = 'first';

const config = await check('registration with a key set (RFC 7591)', async () => {
  const key = { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid, alg: 'ES256' };
  const metadata = {
    client_name: 'From npm, with a key',
    redirect_uris: [redirect_uri],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    request_object_signing_alg: 'ES256',
    jwks: { keys: [key] },
  };
  const authentication = client.PrivateKeyJwt({ key: privateKey, kid });
  const config = await client.dynamicClientRegistration(issuer, metadata, authentication, options);
  const answer = config.clientMetadata();
  assert.equal(answer.client_secret, undefined);
  assert.equal(answer.token_endpoint_auth_method, 'private_key_jwt');
  return config;
});
const registration = config.clientMetadata();

/** Returns the same client, with another proof of who it is. */
const proving = (authentication) =>
  client.discovery(issuer, registration.client_id, {}, authentication, options);

/** The redirect that an authorization request is answered with at once. */
async function answered(url) {
  const flow = await new Browser().fetch(url);
  assert.equal(flow.state, 'failed', JSON.stringify(flow));
  return new URL(flow.result.redirect_to).searchParams;
}

const tokens = await check('a request is pushed (RFC 9126), and is worth one sign-in', async () => {
  const claims = JSON.stringify({
    id_token: { email: { essential: true } },
    userinfo: { given_name: null },
  });
  const { parameters, checks } = await request(redirect_uri, { scope, claims });
  const url = await client.buildAuthorizationUrlWithPAR(config, parameters);
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  const { callback } = await signIn(url, scene);
  const answer = await client.authorizationCodeGrant(config, callback, checks);
  const again = await new Browser().visit(url);
  assert.equal(again.status, 400, 'a pushed request was taken twice');
  return answer;
});

await check('the claims parameter is followed, and nothing else is told', async () => {
  const { sub, email } = tokens.claims();
  assert.equal(email, scene.email);
  const person = await client.fetchUserInfo(config, tokens.access_token, sub);
  assert.equal(person.given_name, 'Ana');
  assert.equal(person.email, undefined);
});

await check('a refresh, introspection and revocation', async () => {
  const answer = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(answer.refresh_token, tokens.refresh_token);
  const seen = await client.tokenIntrospection(config, answer.access_token);
  assert.equal(seen.active, true);
  await client.tokenRevocation(config, answer.refresh_token);
  const after = await client.tokenIntrospection(config, answer.access_token);
  assert.equal(after.active, false);
});

await check('the key of another, and an assertion used twice, are refused', async () => {
  const { parameters } = await request(redirect_uri, { scope });
  const forged = await proving(client.PrivateKeyJwt({ key: foreign, kid }));
  const push = (as) => client.buildAuthorizationUrlWithPAR(as, parameters);
  await unproven(push(forged));
  const jti = client.randomState();
  const same = { [client.modifyAssertion]: (_, payload) => Object.assign(payload, { jti }) };
  const repeating = await proving(client.PrivateKeyJwt({ key: privateKey, kid }, same));
  await push(repeating);
  await unproven(push(repeating));
});

await check('a request object (RFC 9101) is followed if its signature holds', async () => {
  const { parameters, checks } = await request(redirect_uri, { scope });
  const signed = (key) => client.buildAuthorizationUrlWithJAR(config, parameters, { key, kid });
  const url = await signed(privateKey);
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request']);
  const { callback } = await signIn(url, scene);
  await client.authorizationCodeGrant(config, callback, checks);
  const forged = await new Browser().visit(await signed(foreign));
  assert.equal(forged.status, 400, 'a forged request was taken');
});

const { registration_client_uri, registration_access_token } = registration;
const manage = (method, token, body) =>
  fetch(registration_client_uri, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });

const token = await check('its registration is read and replaced (RFC 7592)', async () => {
  const read = await manage('GET', registration_access_token);
  assert.equal(read.status, 200);
  const { client_name, client_id_issued_at, registration_client_uri, ...held } = await read.json();
  assert.equal(client_name, registration.client_name);
  delete held.registration_access_token;
  delete held.client_secret_expires_at;
  const wanted = { ...held, client_name: 'Renamed', require_pushed_authorization_requests: true };
  const replaced = await manage('PUT', registration_access_token, wanted);
  assert.equal(replaced.status, 200, await replaced.clone().text());
  const answer = await replaced.json();
  assert.equal(answer.client_name, 'Renamed');
  assert.equal((await manage('GET', registration_access_token)).status, 401);
  return answer.registration_access_token;
});

await check('what must be pushed is not taken from a link', async () => {
  const { parameters, checks } = await request(redirect_uri, { scope, prompt: 'none' });
  const plain = await answered(client.buildAuthorizationUrl(config, parameters));
  assert.equal(plain.get('error'), 'invalid_request');
  const pushed = await answered(await client.buildAuthorizationUrlWithPAR(config, parameters));
  assert.equal(pushed.get('error'), 'login_required');
  assert.equal(pushed.get('state'), checks.expectedState);
});

await check('a deleted client is none', async () => {
  assert.equal((await manage('DELETE', token)).status, 204);
  assert.equal((await manage('GET', token)).status, 401);
  const { parameters } = await request(redirect_uri, { scope });
  await unproven(client.buildAuthorizationUrlWithPAR(config, parameters));
});
