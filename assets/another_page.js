// Another page, which has got hold of a token. It runs in a frame without an origin of its own: it reaches neither the
// script, nor the storage, nor the key of the page around it, and is told the text of a token and nothing else.
import { call, makeHolder } from "./playground_client.js";

const attempts = {
  alone: (address, token) => call(address, { token }),
  // It can make keys as well; this one is not the key of the token.
  forged: async (address, token) => call(address, { token, proof: await (await makeHolder()).proof("GET", address, token) }),
};

addEventListener("message", async ({ data: { address, token, attempt }, ports: [port] }) => {
  const made = await attempts[attempt](address, token).catch(() => null);
  port.postMessage(made && { origin: self.origin, ...made });
});
parent.postMessage("ready", "*");
