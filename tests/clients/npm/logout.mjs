// RP-initiated logout: a client signs its person out here, and they come back to it.

import assert from 'node:assert/strict';
import * as client from 'openid-client';
import { Browser, signIn } from './person.mjs';
import { checksOf, issuer, options, refused, request, scene, unauthorized } from './relying-party.mjs';

const check = checksOf('logout');
const redirect_uri = 'https://leaving.example.com/callback';
const post_logout_redirect_uri = 'https://leaving.example.com/bye';
const browser = new Browser();

const config = await check('registration with a URI to go to after logout', async () => {
  const metadata = {
    client_name: 'From npm, with a way out',
    redirect_uris: [redirect_uri],
    post_logout_redirect_uris: [post_logout_redirect_uri],
  };
  const config = await client.dynamicClientRegistration(issuer, metadata, undefined, options);
  const told = config.clientMetadata().post_logout_redirect_uris;
  assert.deepEqual(told, [post_logout_redirect_uri]);
  return config;
});

async function tokens(more) {
  const { parameters, checks } = await request(redirect_uri, { scope: 'openid email', ...more });
  const url = client.buildAuthorizationUrl(config, parameters);
  const { callback, taken } = await signIn(url, scene, browser);
  return { taken, answer: await client.authorizationCodeGrant(config, callback, checks) };
}

const { answer: first } = await tokens();
const { sub, sid } = first.claims();

await check('while the session lives, prompt=none is answered with a code', async () => {
  const { taken, answer } = await tokens({ prompt: 'none' });
  assert.deepEqual(taken, []);
  assert.equal(answer.claims().sub, sub);
  assert.equal(answer.claims().sid, sid);
});

const state = client.randomState();
const link = client.buildEndSessionUrl(config, {
  id_token_hint: first.id_token,
  post_logout_redirect_uri,
  state,
});

await check('the link ends nothing in another browser', async () => {
  const other = await new Browser().visit(link);
  assert.equal(other.status, 200);
  assert.equal(other.headers.get('location'), null);
  await client.fetchUserInfo(config, first.access_token, sub);
});

await check('the link ends the session, and leads back with its state', async () => {
  const left = await browser.visit(link);
  assert.equal(left.status, 303);
  const to = new URL(post_logout_redirect_uri);
  to.searchParams.set('state', state);
  assert.equal(left.headers.get('location'), to.href);
});

await check('then prompt=none needs a sign-in, and the tokens are over', async () => {
  await assert.rejects(tokens({ prompt: 'none' }), { error: 'login_required' });
  await unauthorized(client.fetchUserInfo(config, first.access_token, sub));
  await refused(client.refreshTokenGrant(config, first.refresh_token), 'invalid_grant');
  const { taken } = await tokens();
  assert.ok(taken.includes('password'), taken);
});
