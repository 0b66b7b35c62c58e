// An OpenID provider for tests, made of oidc-provider as npm has it. Takes a JSON text, and where the package is:
//
//   client       the client that is registered: any field of RFC 7591
//   now          the time of the test, in milliseconds: the server beside it has a clock of its own
//   people       claims by what a person types as their login
//
// It prints its issuer once it serves. Its pages for sign-in are the package's own, which take any password.

const { client, now, people } = JSON.parse(process.argv[2]);
const packaged = process.argv[3];

const System = Date;
const shift = now - System.now();
globalThis.Date = class extends System {
    constructor(...given) {
        if (given.length === 0) super(System.now() + shift);
        else super(...given);
    }

    static now() {
        return System.now() + shift;
    }
};

// After the clock is set.
const { createServer } = await import('node:http');
const { Provider } = await import(packaged);

const server = createServer();
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
    clients: [client],
    claims: { openid: ['sub', 'acr', 'amr'], email: ['email', 'email_verified'], profile: ['groups'] },
    // Into the ID token: the relying party does not ask for userinfo.
    conformIdTokenClaims: false,
    cookies: { keys: ['for tests alone'] },
    features: { backchannelLogout: { enabled: true } },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    // The client is the operator's own: no question is asked.
    async loadExistingGrant(context) {
        const { Grant } = context.oidc.provider;
        const grant = new Grant({
            clientId: context.oidc.client.clientId,
            accountId: context.oidc.session.accountId,
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
    },
    // A loopback address is all that tests have: the package's own guard against those is left out.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
});
// What it refuses is in the output of a test that fails.
for (const event of ['grant.error', 'authorization.error', 'server_error']) {
    provider.on(event, (_, error) => console.error(event, error.message, error.error_detail, error.cause));
}
server.on('request', provider.callback());
console.log(issuer);
// Ends with the test that started it.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
