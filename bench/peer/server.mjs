// The certified peer: oidc-provider with its in-memory adapter, set up to issue what Porteiro issues.
//
//   node server.mjs SCENE      SCENE is a JSON file that bench/http/scene.rs writes

import { generateKeyPairSync, randomUUID } from 'node:crypto';
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

const membership = randomUUID();

const provider = new Provider(scene.issuer, {
  clients: [{
    client_id: scene.client_id,
    client_secret: scene.client_secret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  }, {
    client_id: scene.portal,
    client_secret: scene.client_secret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [scene.redirect_uri],
    id_token_signed_response_alg: 'RS256',
  }, {
    client_id: scene.portal_es256,
    client_secret: scene.client_secret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [scene.redirect_uri],
    id_token_signed_response_alg: 'ES256',
  }, {
    client_id: scene.signer,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [scene.key.public] },
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  }, {
    client_id: scene.device,
    token_endpoint_auth_method: 'none',
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    response_types: [],
    redirect_uris: [],
  }, {
    client_id: scene.agent,
    client_secret: scene.client_secret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['urn:openid:params:grant-type:ciba'],
    response_types: [],
    redirect_uris: [],
    backchannel_token_delivery_mode: 'poll',
  }],
  clientAuthMethods: ['client_secret_basic', 'private_key_jwt', 'none'],
  jwks: {
    keys: [
      key('rsa', { modulusLength: 2048 }, 'RS256'),
      key('ec', { namedCurve: 'P-256' }, 'ES256'),
      key('ed25519', {}, 'EdDSA'),
    ],
  },
  cookies: { keys: [scene.client_secret] },
  // What Porteiro says of a person, beside what both say anyway.
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, org: scene.organization, sid: membership }),
  }),
  claims: { openid: ['sub', 'org', 'acr', 'amr', 'auth_time', 'sid'] },
  extraTokenClaims: (ctx, token) => ({
    org: scene.organization,
    role: scene.role,
    ...(token.accountId && {
      membership,
      sid: token.sessionUid,
      acr: 'aal1',
      auth_time: (ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken).authTime,
    }),
  }),
  pkce: { required: () => true },
  // Its default would not be to rotate those of a client with a secret before they are old.
  rotateRefreshToken: true,
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    registration: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    deviceFlow: { enabled: true },
    ciba: {
      enabled: true,
      deliveryModes: ['poll'],
      processLoginHint: (_, hint) => hint,
      verifyUserCode: () => {},
      validateBindingMessage: () => {},
      validateRequestContext: () => {},
      // Porteiro is set up without mail: no person is written to.
      triggerAuthenticationDevice: () => {},
    },
    resourceIndicators: {
      enabled: true,
      // Porteiro finds the audience by the scopes; here it is said once.
      // A token for no API is what it keeps, and what its userinfo takes.
      defaultResource: (ctx) => (ctx.oidc.params.scope?.includes(':') ? scene.resource : undefined),
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        audience: scene.resource,
        scope: scene.scopes.join(' '),
        accessTokenTTL: scene.lifetime,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  routes: {
    authorization: '/connect/authorize',
    token: '/connect/token',
    pushed_authorization_request: '/connect/par',
    device_authorization: '/connect/device',
    introspection: '/connect/introspect',
    revocation: '/connect/revoke',
    registration: '/connect/register',
    userinfo: '/connect/userinfo',
    backchannel_authentication: '/connect/ciba',
    jwks: '/connect/jwks',
  },
  // Porteiro's, in seconds.
  ttl: {
    AccessToken: scene.lifetime,
    ClientCredentials: scene.lifetime,
    AuthorizationCode: 60,
    IdToken: 300,
    Interaction: 900,
    BackchannelAuthenticationRequest: 300,
    RefreshToken: 14 * 24 * 3600,
    Grant: 30 * 24 * 3600,
    Session: 7 * 24 * 3600,
  },
});

// Whoever is named is signed in and has consented. Each time this makes a new grant, and so does the
// benchmark for each round: the store walks through all tokens of a grant whenever it adds one.
provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith('/interaction/')) return next();
  const { params } = await provider.interactionDetails(ctx.req, ctx.res);
  const accountId = ctx.get('x-account');
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope('openid');
  grant.addResourceScope(scene.resource, scene.scopes.join(' '));
  const grantId = await grant.save();
  const login = { accountId, acr: 'aal1', amr: ['pwd'] };
  await provider.interactionFinished(ctx.req, ctx.res, { login, consent: { grantId } });
  ctx.respond = false;
  return undefined;
});

provider.on('server_error', (_, error) => console.error(error));
provider.on('grant.error', (_, error) => console.error(error));
provider.on('authorization.error', (_, error) => console.error(error));
provider.listen(scene.port, '127.0.0.1');
