// Lets MCP's conformance suite run on Node 20. It imports fs.globSync, which came with Node 22 and which only its
// command `traceability` calls; without that name no command of it would start. On Node 22 nothing is changed.

import fs from 'node:fs';
import { register } from 'node:module';

const script = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const files = script(`
  export * from 'node:fs';
  export const globSync = () => { throw new Error('fs.globSync needs Node 22'); };`);
const hooks = script(`
  export const resolve = (name, context, next) =>
    name === 'fs' ? { url: ${JSON.stringify(files)}, shortCircuit: true } : next(name, context);`);

if (!fs.globSync) register(hooks);
