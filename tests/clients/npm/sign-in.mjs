// A relying party made of openid-client, as it is published, against a server that runs.
//
//   node sign-in.mjs SCENE      SCENE is a JSON file that bin/clients-for-tests writes

import assert from 'node:assert/strict';
import * as client from 'openid-client';
import { signIn } from './person.mjs';
import {
  checksOf, issuer, options, refused, request, scene, unauthorized,
} from './relying-party.mjs';

const scope = 'openid profile email offline_access invoices:read';

let check = checksOf('client_secret_basic, RS256');

const header = (token) => JSON.parse(Buffer.from(token.split('.')[0], 'base64url'));

/** Sends a person to sign in, and returns the callback with what is needed to go on. */
async function authorize(config, redirect_uri) {
  const { parameters, checks } = await request(redirect_uri, { scope });
  const url = client.buildAuthorizationUrl(config, parameters);
  return { ...(await signIn(url, scene)), checks };
}

async function tokens(config, redirect_uri) {
  const { callback, checks } = await authorize(config, redirect_uri);
  return client.authorizationCodeGrant(config, callback, checks);
}

/** Everything that a client of any kind does. */
async function story(config, redirect_uri, algorithm, auditor) {
  const active = async (token) => (await client.tokenIntrospection(auditor, token)).active;

  const first = await check('a person signs in; iss, state, nonce and signature hold', async () => {
    const { callback, checks, taken } = await authorize(config, redirect_uri);
    assert.deepEqual(taken, ['identifier', 'password', 'consent']);
    assert.equal(callback.searchParams.get('iss'), scene.issuer);
    const answer = await client.authorizationCodeGrant(config, callback, checks);
    assert.equal(header(answer.id_token).alg, algorithm);
    assert.deepEqual(answer.scope.split(' ').sort(), scope.split(' ').sort());
    assert.equal(answer.claims().org, 'acme');
    return answer;
  });
  const { sub, auth_time } = first.claims();

  await check('userinfo is about the same person', async () => {
    const person = await client.fetchUserInfo(config, first.access_token, sub);
    assert.deepEqual(
      { email: person.email, verified: person.email_verified, name: person.given_name },
      { email: scene.email, verified: true, name: 'Ana' },
    );
  });

  const anew = 'a refresh rotates, with an ID token of the same sign-in';
  const second = await check(anew, async () => {
    const answer = await client.refreshTokenGrant(config, first.refresh_token);
    assert.notEqual(answer.refresh_token, first.refresh_token);
    assert.equal(header(answer.id_token).alg, algorithm);
    assert.equal(answer.claims().sub, sub);
    assert.equal(answer.claims().auth_time, auth_time);
    await client.fetchUserInfo(config, answer.access_token, sub);
    return answer;
  });

  await check('introspection knows the access token', async () => {
    const token = await client.tokenIntrospection(auditor, second.access_token);
    assert.equal(token.active, true);
    assert.equal(token.sub, sub);
    assert.equal(token.client_id, config.clientMetadata().client_id);
    assert.equal(token.aud, scene.resource);
  });

  await check('a refresh token used twice is refused, and its successor with it', async () => {
    await refused(client.refreshTokenGrant(config, first.refresh_token), 'invalid_grant');
    await refused(client.refreshTokenGrant(config, second.refresh_token), 'invalid_grant');
    assert.equal(await active(second.access_token), false);
    await unauthorized(client.fetchUserInfo(config, second.access_token, sub));
  });

  await check('a code redeemed twice is refused, and its tokens with it', async () => {
    const { callback, checks } = await authorize(config, redirect_uri);
    const once = await client.authorizationCodeGrant(config, callback, checks);
    const twice = client.authorizationCodeGrant(config, callback, checks);
    await refused(twice, 'invalid_grant');
    await refused(client.refreshTokenGrant(config, once.refresh_token), 'invalid_grant');
    await unauthorized(client.fetchUserInfo(config, once.access_token, sub));
  });

  await check('a code is worth nothing without its verifier', async () => {
    const { callback, checks } = await authorize(config, redirect_uri);
    const stolen = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() };
    await refused(client.authorizationCodeGrant(config, callback, stolen), 'invalid_grant');
  });

  await check('a revoked refresh token takes its access tokens along', async () => {
    const answer = await tokens(config, redirect_uri);
    assert.equal(await active(answer.access_token), true);
    await client.tokenRevocation(config, answer.refresh_token);
    await refused(client.refreshTokenGrant(config, answer.refresh_token), 'invalid_grant');
    assert.equal(await active(answer.access_token), false);
  });
}

const { client_id, client_secret, redirect_uri } = scene.billing;
const billing = await check('discovery', () => {
  const authentication = client.ClientSecretBasic(client_secret);
  return client.discovery(issuer, client_id, undefined, authentication, options);
});
await story(billing, redirect_uri, 'RS256', billing);

check = checksOf('none, ES256');
const callback = 'http://127.0.0.1/callback';
const registered = await check('discovery and registration (RFC 7591)', async () => {
  const metadata = {
    client_name: 'From npm',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: 'ES256',
  };
  const config = await client.dynamicClientRegistration(issuer, metadata, client.None(), options);
  const answer = config.clientMetadata();
  assert.deepEqual(answer.grant_types, ['authorization_code', 'refresh_token']);
  assert.equal(answer.client_secret, undefined);
  assert.ok(config.serverMetadata().supportsPKCE());
  return config;
});
// A public client has nothing to introspect with; the API that its tokens are for does.
await story(registered, callback, 'ES256', billing);

// As most who use the library write it: no method is named, and it posts the secret it was given.
check = checksOf('no method named');
const unnamed = await check('registration without a method (RFC 7591)', async () => {
  const metadata = { client_name: 'From npm, unnamed', redirect_uris: [callback] };
  const config = await client.dynamicClientRegistration(issuer, metadata, undefined, options);
  const answer = config.clientMetadata();
  assert.equal(answer.token_endpoint_auth_method, 'client_secret_basic');
  assert.match(answer.client_secret, /^pcs_/);
  return config;
});
await story(unnamed, callback, 'RS256', billing);
check = checksOf('no method named, ClientSecretPost');
const posting = await check('discovery with the id and the secret alone', () => {
  const { client_id, client_secret } = unnamed.clientMetadata();
  return client.discovery(issuer, client_id, client_secret, undefined, options);
});
await check('a person signs in, and the secret is posted', () => tokens(posting, callback));
