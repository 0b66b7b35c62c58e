// The certified peer: oidc-provider with its in-memory adapter, set up to issue what Porteiro issues.
//
//   node server.mjs SCENE      SCENE is a JSON file that bench/http/scene.rs writes

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';

// Its advice for production (https, an adapter that stores) is not for a benchmark's log.
console.info = () => {};
console.warn = () => {};

const { Provider } = await import('oidc-provider');
const scene = JSON.parse(readFileSync(process.argv[2], 'utf8'));

// The same kinds of keys as Porteiro publishes, so that the key sets are about as large.
const key = (kind, options, alg) => ({
  ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }),
  use: 'sig',
  alg,
});

const provider = new Provider(scene.issuer, {
  clients: [{
    client_id: scene.client_id,
    client_secret: scene.client_secret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  }],
  jwks: {
    keys: [
      key('rsa', { modulusLength: 2048 }, 'RS256'),
      key('ec', { namedCurve: 'P-256' }, 'ES256'),
      key('ed25519', {}, 'EdDSA'),
    ],
  },
  cookies: { keys: [scene.client_secret] },
  extraTokenClaims: () => ({ org: scene.organization, role: scene.role }),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // Porteiro finds the audience by the scopes; here it is said once.
      defaultResource: () => scene.resource,
      getResourceServerInfo: () => ({
        audience: scene.resource,
        scope: scene.scopes.join(' '),
        accessTokenTTL: scene.lifetime,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  routes: { token: '/connect/token', jwks: '/connect/jwks' },
  ttl: { ClientCredentials: scene.lifetime },
});

provider.on('server_error', (_, error) => console.error(error));
provider.listen(scene.port, '127.0.0.1');
