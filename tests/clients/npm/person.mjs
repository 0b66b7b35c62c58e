// A person at a browser, without a screen: takes the steps that a flow's document offers.
//
// Node's fetch sends `Sec-Fetch-Mode`, as browsers do: the flow belongs to who has its cookie.

// What a person knows and decides, step by step.
const answers = ({ email, password }) => ({
  identifier: { identifier: email },
  password: { password },
  consent: { decision: 'allow' },
});

export class Browser {
  #cookies = new Map();

  /** Asks for a page, and follows no redirect. */
  async visit(url, options = {}) {
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const headers = { accept: 'text/html', cookie, ...options.headers };
    const response = await fetch(url, { ...options, headers, redirect: 'manual' });
    // Debian's Node 18 has no getSetCookie; our cookies have no date, hence no comma of their own.
    for (const cookie of response.headers.get('set-cookie')?.split(', ') ?? []) {
      const [name, value] = cookie.split(';')[0].split('=');
      if (value) this.#cookies.set(name, value);
      else this.#cookies.delete(name);
    }
    return response;
  }

  async fetch(url, options = {}) {
    const headers = { accept: 'application/json', ...options.headers };
    const response = await this.visit(url, { ...options, headers });
    if (!response.ok) {
      throw new Error(`${url.pathname} answers ${response.status}: ${await response.text()}`);
    }
    return response.json();
  }

  post(url, body) {
    const headers = { 'content-type': 'application/json' };
    return this.fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** Takes a flow to its end; returns its last document, and the steps taken. */
  async finish(flow, base, known) {
    const taken = [];
    while (!['done', 'failed'].includes(flow.state)) {
      const step = flow.steps?.find(({ name }) => name in known);
      if (!step) throw new Error(`no step leads on: ${JSON.stringify(flow)}`);
      taken.push(step.name);
      flow = await this.post(new URL(step.href, base), known[step.name]);
    }
    return { flow, taken };
  }
}

/** Goes where a client sends people; returns where they are sent back, and the steps taken. */
export async function signIn(authorizationUrl, person, browser = new Browser()) {
  const begun = await browser.fetch(authorizationUrl);
  const { flow, taken } = await browser.finish(begun, authorizationUrl, answers(person));
  return { callback: new URL(flow.result.redirect_to), taken };
}

/** Enters the code that a device shows, and decides; returns the last document and the steps taken. */
export async function decideForDevice(issuer, user_code, person, decision) {
  const browser = new Browser();
  const begun = await browser.post(new URL('/flows', issuer), { kind: 'device', user_code });
  return browser.finish(begun, issuer, { ...answers(person), confirm: { decision } });
}

/** Decides on what a client asks for; returns the last document and the steps taken. */
export async function decideOnApproval(issuer, approval, person, decision) {
  const browser = new Browser();
  const begun = await browser.post(new URL('/flows', issuer), { kind: 'approval', approval });
  return browser.finish(begun, issuer, { ...answers(person), confirm: { decision } });
}

/** Returns the browser of a person who is signed in. */
export async function signedIn(issuer, person) {
  const browser = new Browser();
  const begun = await browser.post(new URL('/flows', issuer), { kind: 'sign_in' });
  await browser.finish(begun, issuer, answers(person));
  return browser;
}
