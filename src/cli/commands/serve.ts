/** `cairn serve` */
import type { FieldsOf } from '../../operations/declare/operation.ts';
import { allowField, workflowsField, type Command, reportFailure } from '../session.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import { parseAddress } from '../parse.ts';

interface ServeArguments {
  readonly http?: string;
  readonly readOnly?: boolean;
  readonly noWorker?: boolean;
  readonly tokenFile?: string;
  readonly allowOrigin?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly modules?: readonly string[];
  readonly workflows?: readonly string[];
  readonly allow?: readonly string[];
}

const fields: FieldsOf<ServeArguments> = {
  http: { type: 'text', description: 'serve at [HOST:]PORT; default 127.0.0.1:4310' },
  readOnly: { type: 'flag', description: 'offer only what changes nothing, and start no worker' },
  noWorker: { type: 'flag', description: 'advance no runs here: a worker elsewhere does' },
  tokenFile: {
    type: 'text',
    description:
      'a JSON file of tokens: [{ "token", "principal", "kind": "person" or "program", "scopes": ["read", …] }]; default: one token is made and printed',
  },
  allowOrigin: { type: 'texts', description: "origins of web pages that may call, besides the server's own" },
  allowHost: { type: 'texts', description: 'further names by which the server is called, for example behind a proxy' },
  modules: { type: 'texts', description: 'modules whose graphs it knows, for runs that a program started' },
  workflows: workflowsField,
  allow: allowField,
};

export const serveCommand: Command<ServeArguments> = {
  name: 'serve',
  summary: 'serve runs over HTTP, and advance them',
  fields,
  details:
    'Serves the runs of the store at /v1, described by /v1/openapi.json. Each request needs a token: Authorization: Bearer TOKEN; only /healthz answers without. SIGTERM or Ctrl-C: streams end, runs come to rest or are handed back, and it ends with 0.',
  examples: [
    { line: 'cairn serve', does: 'the store of this folder at http://127.0.0.1:4310, with a token that is printed' },
    { line: 'cairn serve --read-only', does: 'to look, and change nothing' },
    {
      line: 'cairn serve --http 0.0.0.0:8080 --token-file tokens.json --allow-host runs.example.org',
      does: 'for others, each with a token of their own',
    },
  ],
  async execute(session, input) {
    const { http, noWorker, allowOrigin, allowHost, readOnly, tokenFile, modules, workflows, allow } = input;
    const { screen, isJson, cwd, storeUrl, configFile } = session;
    const address = http === undefined ? {} : parseAddress(http);
    // Loaded only here: no other command needs the server.
    const { startServer } = await import('../../http/serve.ts');
    const server = await startServer({
      cwd,
      storeUrl,
      configFile,
      workflows,
      allow,
      ...address,
      ...(tokenFile !== undefined && { tokenFile }),
      ...(allowOrigin !== undefined && { origins: allowOrigin }),
      ...(allowHost !== undefined && { hosts: allowHost }),
      ...(modules !== undefined && { modules }),
      readOnly: readOnly === true,
      worker: noWorker !== true,
      tell: (error) => void reportFailure(error, screen, isJson),
    });
    const interrupt = listenForInterrupt();
    try {
      const { url, token, storeName } = server;
      if (isJson) session.printJson({ url, ...(token !== undefined && { token }), store: storeName });
      else {
        screen.print(`Serving ${storeName} at ${url}`);
        if (token !== undefined) screen.print(`Token: ${token}`);
        screen.note('Ctrl-C or SIGTERM: finish and stop.');
      }
      await interrupt.asked;
      await server.close();
      return 0;
    } finally {
      interrupt.release();
    }
  },
};
