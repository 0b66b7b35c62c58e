// A client that knows a person and has no browser (OpenID CIBA): it asks, the person decides elsewhere
// and without a screen, and it polls.

import assert from 'node:assert/strict';
import * as client from 'openid-client';
import { decideOnApproval, signedIn } from './person.mjs';
import { checksOf, issuer, options, refused, scene, unauthorized } from './relying-party.mjs';

const check = checksOf('CIBA');
const grant = 'urn:openid:params:grant-type:ciba';
const scope = 'openid email offline_access invoices:read';
const { client_id, client_secret } = scene.agent;
const login_hint = scene.email;

const config = await check('discovery says where to ask', async () => {
  const authentication = client.ClientSecretBasic(client_secret);
  const config = await client.discovery(issuer, client_id, undefined, authentication, options);
  const metadata = config.serverMetadata();
  assert.equal(metadata.backchannel_authentication_endpoint, `${scene.issuer}/connect/ciba`);
  assert.ok(metadata.backchannel_token_delivery_modes_supported.includes('poll'));
  assert.ok(metadata.grant_types_supported.includes(grant));
  return config;
});

const begin = (more) => client.initiateBackchannelAuthentication(config, { scope, login_hint, ...more });
/** Asks once; the library's own polling waits first. */
const ask = ({ auth_req_id }) => client.genericGrantRequest(config, grant, { auth_req_id });
/** Polls as the library does, and not as slowly: what is decided is answered at any pace. */
const poll = (begun) =>
  client.pollBackchannelAuthenticationGrant(config, { ...begun, interval: 1 });

/** What waits for the person with this message. */
async function waiting(browser, message) {
  const { items } = await browser.fetch(new URL('/me/approvals', issuer));
  const [item, ...more] = items.filter(({ binding_message }) => binding_message === message);
  assert.ok(item && more.length === 0, JSON.stringify(items));
  return item;
}

const browser = await signedIn(issuer, scene);

/** Decides in the list of the person. */
async function decide(item, body) {
  const response = await browser.visit(new URL(`/me/approvals/${item.id}`, issuer), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  });
  return response.status;
}

const approved = await check('it polls until a person has approved it in their list', async () => {
  const details = [{ type: 'payment_initiation', amount: 40 }];
  const authorization_details = JSON.stringify(details);
  const begun = await begin({ binding_message: 'Fatura 17', authorization_details });
  assert.ok(begun.auth_req_id && begun.expires_in > 0 && begun.interval > 0, begun);
  await refused(ask(begun), 'authorization_pending');
  await refused(ask(begun), 'slow_down');
  const polling = client.pollBackchannelAuthenticationGrant(config, begun);
  const item = await waiting(browser, 'Fatura 17');
  assert.equal(item.client.client_id, client_id);
  assert.equal(item.organization, 'acme');
  assert.deepEqual(item.scopes.sort(), scope.split(' ').sort());
  assert.equal(item.authorization_details[0].text.pt, 'Pagar 40 EUR');
  assert.equal(await decide(item, { decision: 'approve' }), 204);
  assert.equal(await decide(item, { decision: 'approve' }), 409);
  const answer = await polling;
  assert.deepEqual(answer.authorization_details, details);
  assert.deepEqual(answer.scope.split(' ').sort(), scope.split(' ').sort());
  return { begun, answer };
});

await check('the ID token names the person, and the tokens work', async () => {
  const { answer } = approved;
  const { sub, org, aud } = answer.claims();
  assert.deepEqual({ org, aud }, { org: 'acme', aud: client_id });
  const person = await client.fetchUserInfo(config, answer.access_token, sub);
  assert.equal(person.email, scene.email);
  const anew = await client.refreshTokenGrant(config, answer.refresh_token);
  assert.equal(anew.claims().sub, sub);
  await client.fetchUserInfo(config, anew.access_token, sub);
  approved.sub = sub;
  approved.anew = anew;
});

await check('a person signs in and approves in a flow', async () => {
  const begun = await begin({ binding_message: 'Fatura 18' });
  const { id } = await waiting(browser, 'Fatura 18');
  const polling = poll(begun);
  const [answer, decided] = await Promise.all([
    polling,
    decideOnApproval(issuer, id, scene, 'allow'),
  ]);
  assert.deepEqual(decided.taken, ['identifier', 'password', 'confirm']);
  assert.equal(decided.flow.state, 'done');
  assert.equal(answer.claims().sub, approved.sub);
});

await check('an ID token says who is meant', async () => {
  const id_token_hint = approved.anew.id_token;
  const hinted = { scope, id_token_hint, binding_message: 'Fatura 19' };
  const begun = await client.initiateBackchannelAuthentication(config, hinted);
  assert.equal(await decide(await waiting(browser, 'Fatura 19'), { decision: 'approve' }), 204);
  assert.equal((await poll(begun)).claims().sub, approved.sub);
});

await check('an auth_req_id that comes again ends what came of it', async () => {
  await refused(ask(approved.begun), 'invalid_grant');
  const { anew, sub } = approved;
  await unauthorized(client.fetchUserInfo(config, anew.access_token, sub));
  await refused(client.refreshTokenGrant(config, anew.refresh_token), 'invalid_grant');
});

await check('it is told of a refusal, in the list and in a flow', async () => {
  const first = await begin({ binding_message: 'Fatura 20' });
  assert.equal(await decide(await waiting(browser, 'Fatura 20'), { decision: 'deny' }), 204);
  await refused(poll(first), 'access_denied');
  const second = await begin({ binding_message: 'Fatura 21' });
  const { id } = await waiting(browser, 'Fatura 21');
  const { flow } = await decideOnApproval(issuer, id, scene, 'deny');
  assert.equal(flow.state, 'failed');
  await refused(poll(second), 'access_denied');
});

await check('it is told that the time is over', async () => {
  const begun = await begin({ binding_message: 'Fatura 22', requested_expiry: '2' });
  assert.equal(begun.expires_in, 2);
  const item = await waiting(browser, 'Fatura 22');
  // The library itself would give up at the end; this one polls once more.
  const late = { ...begun, expires_in: 30, interval: 3 };
  await refused(client.pollBackchannelAuthenticationGrant(config, late), 'expired_token');
  assert.equal(await decide(item, { decision: 'approve' }), 404);
});

await check('what it may not ask is refused at once', async () => {
  await refused(begin({ login_hint: 'nobody@acme.test' }), 'unknown_user_id');
  await refused(begin({ binding_message: 'a\u202eb' }), 'invalid_binding_message');
  await refused(begin({ scope: 'openid unheard:of' }), 'invalid_scope');
});

await check('one that registered itself reaches no person who did not let it in', async () => {
  const metadata = {
    client_name: 'From npm, an agent',
    grant_types: [grant],
    response_types: [],
    backchannel_token_delivery_mode: 'poll',
    token_endpoint_auth_method: 'client_secret_post',
  };
  const stranger = await client.dynamicClientRegistration(issuer, metadata, undefined, options);
  assert.equal(stranger.clientMetadata().backchannel_token_delivery_mode, 'poll');
  const asked = client.initiateBackchannelAuthentication(stranger, { scope: 'openid', login_hint });
  await refused(asked, 'unknown_user_id');
});

await check('a person blocks it, and is asked no more until they lift that', async () => {
  const begun = await begin({ binding_message: 'Fatura 23' });
  const item = await waiting(browser, 'Fatura 23');
  assert.equal(await decide(item, { decision: 'deny', block: true }), 204);
  await refused(poll(begun), 'access_denied');
  await refused(begin(), 'access_denied', 403);
  const { items } = await browser.fetch(new URL('/me/blocked-clients', issuer));
  const [{ id }] = items;
  const path = new URL(`/me/blocked-clients/${id}`, issuer);
  assert.equal((await browser.visit(path, { method: 'DELETE' })).status, 204);
  await begin();
});
