// What every script here needs: the scene, and checks that are told one by one.
//
//   node SCRIPT SCENE      SCENE is a JSON file that bin/clients-for-tests writes

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as client from 'openid-client';

export const scene = JSON.parse(readFileSync(process.argv[2], 'utf8'));
export const issuer = new URL(scene.issuer);

// Plain http is for loopback. The signature is checked too: the library would leave that out for ID
// tokens that come straight from the token endpoint (OIDC Core §3.1.3.7).
export const options = { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] };

/** Returns what tells the checks of one kind of client. */
export const checksOf = (about) => async (sentence, run) => {
  try {
    const result = await run();
    console.log(`ok      openid-client, ${about}: ${sentence}`);
    return result;
  } catch (error) {
    console.log(`FAILED  openid-client, ${about}: ${sentence}`);
    throw error;
  }
};

export const refused = (promise, error, status = 400) =>
  assert.rejects(promise, (cause) => {
    assert.equal(cause.error, error, cause);
    assert.equal(cause.status, status);
    return true;
  });

// Userinfo is a protected resource: its error is in the challenge (RFC 6750 §3).
export const unauthorized = (promise) =>
  assert.rejects(promise, (cause) => {
    assert.equal(cause.status, 401, cause);
    assert.equal(cause.cause[0].scheme, 'bearer');
    assert.equal(cause.cause[0].parameters.error, 'invalid_token');
    return true;
  });

// Every 401 has a challenge (RFC 9110 §15.5.2), and the library reads that instead of the error.
export async function unproven(promise) {
  const cause = await promise.then(() => assert.fail('it was taken'), (cause) => cause);
  assert.equal(cause.status, 401, cause);
  assert.equal((await cause.response.json()).error, 'invalid_client');
}

/** Returns the parameters of a request to sign in, and what its answer is checked against. */
export async function request(redirect_uri, more) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const expectedNonce = client.randomNonce();
  const parameters = {
    redirect_uri,
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...more,
  };
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
  return { parameters, checks };
}
