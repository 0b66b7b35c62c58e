// A device without a browser (RFC 8628): it shows a code, a person enters it elsewhere and decides.

import assert from 'node:assert/strict';
import * as client from 'openid-client';
import { decideForDevice } from './person.mjs';
import { checksOf, issuer, options, refused, scene, unauthorized } from './relying-party.mjs';

const check = checksOf('device');
const grant = 'urn:ietf:params:oauth:grant-type:device_code';
const scope = 'openid email offline_access invoices:read';

const config = await check('registration for the device grant', async () => {
  const metadata = {
    client_name: 'From npm, a device',
    grant_types: [grant, 'refresh_token'],
    response_types: [],
    token_endpoint_auth_method: 'none',
  };
  const config = await client.dynamicClientRegistration(issuer, metadata, client.None(), options);
  assert.deepEqual(config.clientMetadata().grant_types, metadata.grant_types);
  return config;
});

/** Asks once; the library's own polling waits first. */
const ask = ({ device_code }) => client.genericGrantRequest(config, grant, { device_code });

const allowed = await check('it polls until a person has allowed it', async () => {
  const shown = await client.initiateDeviceAuthorization(config, { scope });
  assert.ok(shown.verification_uri_complete.includes(shown.user_code), shown);
  await refused(ask(shown), 'authorization_pending');
  // The library begins to wait before the person is done, as a device does.
  const polling = client.pollDeviceAuthorizationGrant(config, shown);
  const [answer, decided] = await Promise.all([
    polling,
    decideForDevice(issuer, shown.user_code, scene, 'allow'),
  ]);
  assert.deepEqual(decided.taken, ['identifier', 'password', 'confirm']);
  return { ...shown, answer };
});

await check('its tokens work, and end when the code comes again', async () => {
  const { sub, org } = allowed.answer.claims();
  assert.equal(org, 'acme');
  const person = await client.fetchUserInfo(config, allowed.answer.access_token, sub);
  assert.equal(person.email, scene.email);
  const answer = await client.refreshTokenGrant(config, allowed.answer.refresh_token);
  assert.equal(answer.claims().sub, sub);
  await client.fetchUserInfo(config, answer.access_token, sub);
  await refused(ask(allowed), 'invalid_grant');
  await unauthorized(client.fetchUserInfo(config, answer.access_token, sub));
});

await check('it is told of a refusal', async () => {
  const shown = await client.initiateDeviceAuthorization(config, { scope });
  await decideForDevice(issuer, shown.user_code, scene, 'deny');
  await refused(ask(shown), 'access_denied');
});
