// Clients that are held to FAPI 2.0: each way to authenticate with each way to bind tokens, and Message Signing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as client from 'openid-client';
import { fetchWith } from './certificate-fetch.mjs';
import { Browser, signIn } from './person.mjs';
import { checksOf, refused, request, scene } from './relying-party.mjs';

const { issuer, keys, authority, certificates } = scene.fapi;
const redirect_uri = 'https://fapi.example.com/callback';
const scope = 'openid offline_access';
const kept = JSON.parse(readFileSync(keys, 'utf8'));

const withCertificate = (name) => fetchWith({ authority, ...certificates[name] });
const withNone = fetchWith({ authority });

const keyOf = (client_id) =>
  crypto.subtle.importKey('jwk', kept[client_id], { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
const signs = async (client_id) => ({ key: await keyOf(client_id), kid: client_id });

/** Discovers the server as a client; `fetch` is how its connections are made. */
async function discover(client_id, authentication, fetch, more = []) {
  const metadata = { id_token_signed_response_alg: 'ES256', use_mtls_endpoint_aliases: fetch !== withNone };
  const execute = [client.enableNonRepudiationChecks, ...more];
  const options = { execute, [client.customFetch]: fetch };
  const config = await client.discovery(new URL(issuer), client_id, metadata, authentication, options);
  config[client.customFetch] = fetch;
  return config;
}

/** The status with which a token is answered at userinfo by a `fetch` of another party. */
async function presented(config, fetch, token, scheme = 'Bearer') {
  const { userinfo_endpoint, mtls_endpoint_aliases } = config.serverMetadata();
  const headers = { authorization: `${scheme} ${token}` };
  const places = [userinfo_endpoint, mtls_endpoint_aliases.userinfo_endpoint];
  const answers = await Promise.all(places.map((url) => fetch(new URL(url), { headers })));
  return answers.map(({ status }) => status);
}

/** Pushes a request, signs in, and redeems the code; each flow begins with it. */
async function flow(config, { sign, ...binding } = {}) {
  const { parameters, checks } = await request(redirect_uri, { scope, response_type: 'code' });
  const asked = sign ? (await client.buildAuthorizationUrlWithJAR(config, parameters, sign)).searchParams : parameters;
  const url = await client.buildAuthorizationUrlWithPAR(config, asked, binding);
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  const { callback } = await signIn(url, scene);
  const tokens = await client.authorizationCodeGrant(config, callback, checks, undefined, binding);
  const person = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub, binding);
  assert.equal(person.sub, tokens.claims().sub);
  return { tokens, callback };
}

/** A client that is held to the profile has no other way. */
async function held(config, binding) {
  const { parameters } = await request(redirect_uri, { scope, response_type: 'code' });
  const plain = await new Browser().fetch(client.buildAuthorizationUrl(config, parameters));
  assert.equal(plain.state, 'failed', 'a request that was not pushed is followed');
  assert.equal(new URL(plain.result.redirect_to).searchParams.get('error'), 'invalid_request');
  const { code_challenge, code_challenge_method, ...bare } = parameters;
  await refused(client.buildAuthorizationUrlWithPAR(config, bare, binding), 'invalid_request');
}

{
  const check = checksOf('FAPI 2.0, private_key_jwt and DPoP');
  const config = await discover('fapi-dpop', client.PrivateKeyJwt(await signs('fapi-dpop')), withNone);
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
  const { tokens } = await check('a flow', () => flow(config, { DPoP }));
  await check('the token is of no use without the key', async () => {
    assert.equal(tokens.token_type, 'dpop');
    assert.deepEqual(await presented(config, withNone, tokens.access_token), [401, 401]);
    assert.deepEqual(await presented(config, withNone, tokens.access_token, 'DPoP'), [401, 401]);
  });
  await check('a refresh', async () => {
    const again = await client.refreshTokenGrant(config, tokens.refresh_token, undefined, { DPoP });
    assert.equal(again.token_type, 'dpop');
  });
  await check('a token that is not bound is not to be had', async () => {
    const { parameters, checks } = await request(redirect_uri, { scope, response_type: 'code' });
    const url = await client.buildAuthorizationUrlWithPAR(config, parameters);
    const { callback } = await signIn(url, scene);
    await assert.rejects(client.authorizationCodeGrant(config, callback, checks), ({ status }) => status === 400);
  });
  await check('a request that is not pushed, or without PKCE, is refused', () => held(config, { DPoP }));
}

/** A flow whose tokens are bound to a certificate. */
async function certified(check, client_id, authentication, name) {
  const config = await discover(client_id, authentication, withCertificate(name));
  const { tokens } = await check('a flow', () => flow(config));
  await check('the token is of no use without the certificate', async () => {
    assert.equal(tokens.token_type, 'bearer');
    assert.deepEqual(await presented(config, withNone, tokens.access_token), [401, 401]);
    assert.deepEqual(await presented(config, withCertificate('other'), tokens.access_token), [401, 401]);
    assert.deepEqual(await presented(config, withCertificate(name), tokens.access_token), [401, 200]);
  });
  await check('a refresh', () => client.refreshTokenGrant(config, tokens.refresh_token));
  await check('a request that is not pushed, or without PKCE, is refused', () => held(config));
  return tokens;
}

{
  const check = checksOf('FAPI 2.0, private_key_jwt and certificates');
  const authentication = client.PrivateKeyJwt(await signs('fapi-mixed'));
  const { refresh_token } = await certified(check, 'fapi-mixed', authentication, 'self');
  await check('the key of another client is refused', async () => {
    const forged = client.PrivateKeyJwt({ key: await keyOf('fapi-dpop'), kid: 'fapi-mixed' });
    const config = await discover('fapi-mixed', forged, withCertificate('self'));
    await assert.rejects(client.refreshTokenGrant(config, refresh_token), ({ status }) => status === 401);
  });
}

{
  const check = checksOf('FAPI 2.0, certificates alone');
  const { refresh_token } = await certified(check, 'fapi-mtls', client.TlsClientAuth(), 'mtls');
  await check('the certificate of another client, or none, is refused', async () => {
    for (const fetch of [withCertificate('other'), withCertificate('self'), withNone]) {
      const config = await discover('fapi-mtls', client.TlsClientAuth(), fetch);
      await assert.rejects(client.refreshTokenGrant(config, refresh_token), ({ status }) => status === 401);
    }
  });
}

{
  const check = checksOf('FAPI 2.0 Message Signing');
  const sign = await signs('fapi-signing');
  const config = await discover('fapi-signing', client.PrivateKeyJwt(sign), withNone, [client.useJwtResponseMode]);
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
  await check('a flow with a signed request and a signed answer', async () => {
    const { tokens, callback } = await flow(config, { DPoP, sign });
    assert.deepEqual([...callback.searchParams.keys()], ['response']);
    const [head] = callback.searchParams.get('response').split('.');
    assert.equal(JSON.parse(Buffer.from(head, 'base64url')).alg, 'PS256');
    assert.equal(tokens.token_type, 'dpop');
  });
  await check('a request that is not signed, or by another key, is refused', async () => {
    const { parameters } = await request(redirect_uri, { scope, response_type: 'code' });
    const push = (asked) => client.buildAuthorizationUrlWithPAR(config, asked, { DPoP });
    await refused(push(parameters), 'invalid_request');
    const foreign = { key: await keyOf('fapi-dpop'), kid: 'fapi-signing' };
    const forged = await client.buildAuthorizationUrlWithJAR(config, parameters, foreign);
    await refused(push(forged.searchParams), 'invalid_request_object');
  });
}
