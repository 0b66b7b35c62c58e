// The authorization-server scenarios of MCP's conformance suite, as it is published, at a server that runs. The suite
// prints where a person is to sign in; a person goes there, and is sent back to the suite.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { signIn } from './person.mjs';
import { scene } from './relying-party.mjs';

const REVISION = '2026-07-28';
const { client_id, port, resource } = scene.mcp_conformance;
const described = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const { version, bin } = JSON.parse(readFileSync(described, 'utf8'));
const program = join(described, '..', bin.conformance);
const about = `MCP conformance ${version}, ${REVISION}`;

/** Runs the suite's own command; hands each line that it prints to a listener, and returns them all. */
async function suite(words, hear = () => {}) {
  // The suite imports a function of Node 22, for another command than these.
  const hook = fileURLToPath(new URL('node-20.mjs', import.meta.url));
  const child = spawn(process.execPath, ['--import', hook, program, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const lines = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      await hear(line);
    }
  } finally {
    child.kill();
  }
  assert.equal(await ended, 0, lines.join('\n'));
  return lines;
}

/** Reads what the suite found: a folder for each scenario, whose name has a date at its end. */
const found = (folder) => readdirSync(folder).map((name) => ({
  name,
  checks: JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')),
}));

const listed = await suite(['list', '--authorization', '--spec-version', REVISION]);
const scenarios = listed.filter((line) => line.startsWith('  - ')).map((line) => line.split(' ')[3]);
assert.deepEqual(scenarios, ['authorization-server-metadata-endpoint', 'authorization-code-grant']);

/** Runs every scenario, and insists that each was judged and found good: a warning or a skip is not enough. */
async function run(kind, more) {
  const folder = mkdtempSync(join(tmpdir(), 'porteiro-mcp-'));
  const known = ['--url', scene.issuer, '--client-id', client_id, '--port', String(port)];
  const kept = ['--spec-version', REVISION, '--output-dir', folder];
  try {
    let visits = 0;
    await suite(['authorization', ...known, ...kept, ...more], async (line) => {
      if (!line.startsWith(`${scene.issuer}/connect/authorize?`)) return;
      visits += 1;
      const { callback, taken } = await signIn(new URL(line), scene);
      assert.ok(taken.includes('password'));
      assert.equal((await fetch(callback)).status, 200);
    });
    assert.equal(visits, 1);
    const judged = found(folder);
    assert.equal(judged.length, scenarios.length);
    for (const scenario of scenarios) {
      const { checks } = judged.find(({ name }) => name.includes(scenario));
      assert.ok(checks.length > 0);
      for (const { id, status, errorMessage } of checks) {
        const passed = status === 'SUCCESS';
        console.log(`${passed ? 'ok     ' : 'FAILED '} ${about}, ${kind}: ${scenario}: ${id}`);
        assert.ok(passed, `${status}: ${errorMessage}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await run('for no resource', []);
await run('for an MCP server', ['--resource', resource]);
