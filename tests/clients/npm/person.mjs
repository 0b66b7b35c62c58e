// A person at a browser, without a screen: takes the steps that a flow's document offers.
//
// Node's fetch sends `Sec-Fetch-Mode`, as browsers do: the flow belongs to who has its cookie.

// What a person knows and decides, step by step.
const answers = ({ email, password }) => ({
  identifier: { identifier: email },
  password: { password },
  consent: { decision: 'allow' },
});

class Browser {
  #cookies = new Map();

  async fetch(url, options = {}) {
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const headers = { accept: 'application/json', cookie, ...options.headers };
    const response = await fetch(url, { ...options, headers, redirect: 'manual' });
    // Debian's Node 18 has no getSetCookie; our cookies have no date, hence no comma of their own.
    for (const cookie of response.headers.get('set-cookie')?.split(', ') ?? []) {
      const [name, value] = cookie.split(';')[0].split('=');
      this.#cookies.set(name, value);
    }
    if (response.status !== 200) {
      throw new Error(`${url.pathname} answers ${response.status}: ${await response.text()}`);
    }
    return response.json();
  }

  post(url, body) {
    const headers = { 'content-type': 'application/json' };
    return this.fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  }
}

/** Goes where a client sends people; returns where they are sent back, and the steps taken. */
export async function signIn(authorizationUrl, person) {
  const browser = new Browser();
  const known = answers(person);
  const taken = [];
  let flow = await browser.fetch(authorizationUrl);
  while (flow.state !== 'done') {
    const step = flow.steps?.find(({ name }) => name in known);
    if (!step) throw new Error(`no step leads on: ${JSON.stringify(flow)}`);
    taken.push(step.name);
    flow = await browser.post(new URL(step.href, authorizationUrl), known[step.name]);
  }
  return { callback: new URL(flow.result.redirect_to), taken };
}
