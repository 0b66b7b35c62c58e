// An MCP client, as the SDK is published, at an MCP server whose tokens come from a server that runs:
// it finds out who guards the server, makes itself known in both ways, signs a person in, calls a tool,
// and goes on with a refreshed token.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { signIn } from './person.mjs';
import { scene } from './relying-party.mjs';

const { mcp } = scene;
const address = new URL(mcp.resource);
const document = new URL(mcp.document);

const check = async (sentence, run) => {
  try {
    const result = await run();
    console.log(`ok      MCP SDK: ${sentence}`);
    return result;
  } catch (error) {
    console.log(`FAILED  MCP SDK: ${sentence}`);
    throw error;
  }
};

/** Asks the authorization server what a token is good for, as an API does. */
async function introspect(token) {
  const secret = Buffer.from(`${mcp.client_id}:${mcp.client_secret}`).toString('base64');
  const response = await fetch(new URL('/connect/introspect', scene.issuer), {
    method: 'POST',
    headers: { authorization: `Basic ${secret}` },
    body: new URLSearchParams({ token }),
  });
  return response.json();
}

const metadata =
  `${scene.issuer}/.well-known/oauth-protected-resource/resources/${address.host}${address.pathname}`;

/** An MCP server that asks about each token, and says where to get one. */
async function answer(request, response) {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  const known = token ? await introspect(token) : { active: false };
  if (!known.active || known.aud !== mcp.resource || !known.scope.includes('notes:read')) {
    const challenge = `Bearer resource_metadata="${metadata}", scope="notes:read"`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
    return;
  }
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('who', { description: 'Says for whom it is called.' }, () => ({
    content: [{ type: 'text', text: `${known.sub} ${known.client_id} ${known.org}` }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on('close', () => transport.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

const listening = (server, port) =>
  new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
const server = await listening(
  http.createServer((request, response) => {
    answer(request, response).catch((error) => {
      console.error(error);
      response.destroy();
    });
  }),
  address.port,
);
const callback = 'http://127.0.0.1/callback';
const described = {
  client_name: 'From the MCP SDK',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};
let fetched = 0;
const site = await listening(
  https.createServer(
    { key: readFileSync(mcp.key), cert: readFileSync(mcp.certificate) },
    (request, response) => {
      fetched += 1;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...described, client_id: mcp.document }));
    },
  ),
  document.port,
);

/** What the SDK wants to be kept for it. */
class Provider {
  constructor(clientMetadataUrl) {
    this.clientMetadataUrl = clientMetadataUrl;
  }
  get redirectUrl() {
    return callback;
  }
  get clientMetadata() {
    return described;
  }
  clientInformation() {
    return this.information;
  }
  saveClientInformation(information) {
    this.information = information;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  redirectToAuthorization(url) {
    this.url = url;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
}

const who = async (client) => {
  const answer = await client.callTool({ name: 'who', arguments: {} });
  return answer.content[0].text.split(' ');
};

async function story(kind, clientMetadataUrl) {
  const provider = new Provider(clientMetadataUrl);
  const transport = () => new StreamableHTTPClientTransport(address, { authProvider: provider });
  const first = transport();
  await check(`${kind}: it is sent to sign in, for this server alone`, async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await assert.rejects(client.connect(first), UnauthorizedError);
    assert.equal(provider.url.origin, scene.issuer);
    assert.equal(provider.url.searchParams.get('resource'), mcp.resource);
    assert.equal(provider.url.searchParams.get('code_challenge_method'), 'S256');
  });
  const client = await check(`${kind}: a person lets it, and it calls a tool for them`, async () => {
    const { callback: back, taken } = await signIn(provider.url, scene);
    assert.ok(taken.includes('consent'));
    await first.finishAuth(back.searchParams.get('code'));
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport());
    const [, client_id, org] = await who(client);
    assert.equal(client_id, provider.information.client_id);
    assert.equal(org, 'acme');
    return client;
  });
  await check(`${kind}: it goes on with a refreshed token`, async () => {
    const { access_token, refresh_token } = provider.kept;
    assert.ok(refresh_token);
    const body = new URLSearchParams({
      token: access_token,
      client_id: provider.information.client_id,
    });
    const revoked = await fetch(new URL('/connect/revoke', scene.issuer), { method: 'POST', body });
    assert.equal(revoked.status, 200);
    await who(client);
    assert.notEqual(provider.kept.access_token, access_token);
    assert.notEqual(provider.kept.refresh_token, refresh_token);
  });
  await client.close();
  return provider.information;
}

try {
  const registered = await story('registered (RFC 7591)');
  assert.notEqual(registered.client_id, mcp.document);
  assert.equal(fetched, 0);
  const known = await story('known by a document', mcp.document);
  assert.equal(known.client_id, mcp.document);
  assert.ok(fetched > 0);
} finally {
  server.closeAllConnections();
  server.close();
  site.close();
}
