// The steps about stolen tokens: another page uses one that is good for every party, and fails with one that is bound.
import { call, makeHolder } from "./playground_client.js";

// Opens another page, tells it the text of a token, and hears what it got for it.
const elsewhere = async (message) => {
  const { nonce } = document.querySelector("script[nonce]");
  const frame = Object.assign(document.createElement("iframe"), { hidden: true, sandbox: "allow-scripts" });
  const script = document.querySelector("[data-another-page]").dataset.anotherPage;
  frame.srcdoc = `<!doctype html><title>-</title><script type="module" nonce="${nonce}" src="${script}"></script>`;
  const ready = new Promise((resolve, reject) => {
    addEventListener("message", function hear({ source }) {
      if (source !== frame.contentWindow) return;
      removeEventListener("message", hear);
      resolve();
    });
    setTimeout(() => reject(new Error("the other page does not come up")), 10_000);
  });
  document.body.append(frame);
  try {
    await ready;
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); });
    frame.contentWindow.postMessage(message, "*", [port2]);
    const made = await answer;
    if (!made) throw new Error("the other page got no answer");
    return made;
  } finally {
    frame.remove();
  }
};

// The steps, for a page that can show and check; `renew` brings new tokens, with a proof if it is given one.
export const stolenSteps = ({ server, tokens, renew, note, check, read }) => {
  let holder, bound;
  const isOver = async (token) => (await read(token)).claims.exp <= Date.now() / 1000;
  const said = ({ status, body, origin }) => [status, body.error, body.sub && `sub ${body.sub}`, origin && `origin ${origin}`].filter(Boolean).join(" ");

  // A token that has expired would be refused for that alone.
  const steal = async () => {
    if (await isOver(tokens().access_token)) await renew();
    const { access_token, sub } = tokens();
    const taken = await elsewhere({ address: server().userinfo_endpoint, token: access_token, attempt: "alone" });
    note("stolen", {
      request: taken.request, answer: taken.answer,
      checks: { stolen: check(taken.ok && taken.body.sub === sub, said(taken)) },
    });
  };

  const bind = async () => {
    const made = await makeHolder();
    const { ok, body, request, answer } = await renew(await made.proof("POST", server().token_endpoint));
    if (!ok) return note("bound", { request, answer, bad: true });
    const [{ claims, shown, signature }, refusal] = [await read(body.access_token), await made.refusal()];
    [holder, bound] = [made, body.access_token];
    note("bound", {
      request, answer, claims: shown, bad: false,
      checks: {
        key: check(refusal === "InvalidAccessError", refusal),
        signature,
        bound: check(body.token_type === "DPoP" && claims.cnf?.jkt === made.thumbprint, `cnf.jkt ${claims.cnf?.jkt}`),
      },
    });
  };

  const misuse = async () => {
    if (await isOver(bound)) await bind();
    const address = server().userinfo_endpoint;
    const alone = await elsewhere({ address, token: bound, attempt: "alone" });
    const forged = await elsewhere({ address, token: bound, attempt: "forged" });
    const owned = await call(address, { token: bound, proof: await holder.proof("GET", address, bound) });
    const two = (name) => `${alone[name]}\n\n${forged[name]}`;
    note("worthless", {
      request: two("request"), answer: two("answer"), owned: `${owned.request}\n\n${owned.answer}`,
      checks: {
        alone: check(alone.status === 401, said(alone)),
        forged: check(forged.status === 401, said(forged)),
        owned: check(owned.ok && owned.body.sub === tokens().sub, said(owned)),
      },
    });
  };

  return { acts: { steal, bind, misuse }, isBound: () => Boolean(holder), forget: () => { holder = bound = undefined; } };
};
