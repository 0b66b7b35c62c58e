// A `fetch` whose connections show a certificate: Node's own has no way to be told of one.

import { readFileSync } from 'node:fs';
import https from 'node:https';

/** Returns a `fetch` with the certificate and key of these files; without them, with none. */
export function fetchWith({ authority, certificate, key }) {
  const read = (path) => path && readFileSync(path);
  const credentials = { ca: read(authority), cert: read(certificate), key: read(key) };
  return (url, { method, headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const plain = Object.fromEntries(new Headers(headers));
      // A connection for each request: none is shared with a `fetch` that shows something else.
      const options = { method, headers: plain, signal, agent: false, ...credentials };
      const request = https.request(url, options, (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('error', reject);
        answer.on('end', () => {
          const { statusCode: status, rawHeaders } = answer;
          const headers = new Headers();
          for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at], rawHeaders[at + 1]);
          resolve(new Response(status === 204 ? null : Buffer.concat(parts), { status, headers }));
        });
      });
      request.on('error', reject);
      request.end(body?.toString());
    });
}
