/** `cairn serve` and `cairn studio` */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import type { Server } from '../../http/serve.ts';
import { allowField, healthPortField, workflowsField, type Command } from '../command.ts';
import type { Session } from '../session.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import { logLevelField, openLog } from '../logs.ts';
import { logFault, type LogThreshold } from '../../app/log/line-log.ts';
import { parseAddress } from '../parse.ts';

interface ServeArguments {
  readonly http?: string;
  readonly readOnly?: boolean;
  readonly noWorker?: boolean;
  readonly tokenFile?: string;
  readonly allowOrigin?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly healthPort?: string;
  readonly logLevel?: LogThreshold;
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
  healthPort: healthPortField,
  logLevel: logLevelField,
  modules: { type: 'texts', description: 'modules whose graphs it knows, for runs that a program started' },
  workflows: workflowsField,
  allow: allowField,
};

/** Serves until a signal. @param started - called with the server; what it returns is called at the end */
async function serve(
  session: Session,
  input: ServeArguments & { readonly port?: number },
  started: (server: Server) => () => void,
): Promise<number> {
  const { http, noWorker, allowOrigin, allowHost, readOnly, tokenFile, modules, workflows, allow, port } = input;
  const { healthPort, logLevel } = input;
  const { cwd, storeUrl, blobsUrl, trustsStore, configFile } = session;
  const log = openLog(session, 2, logLevel);
  const address = http === undefined ? { ...(port !== undefined && { port }) } : parseAddress(http);
  // Loaded only here: no other command needs the server.
  const { startServer } = await import('../../http/serve.ts');
  const server = await startServer({
    cwd,
    storeUrl,
    blobsUrl,
    trustsStore,
    configFile,
    workflows,
    allow,
    ...address,
    ...(tokenFile !== undefined && { tokenFile }),
    ...(allowOrigin !== undefined && { origins: allowOrigin }),
    ...(allowHost !== undefined && { hosts: allowHost }),
    ...(modules !== undefined && { modules }),
    ...(healthPort !== undefined && { health: parseAddress(healthPort, '--health-port') }),
    readOnly: readOnly === true,
    worker: noWorker !== true,
    log,
    onError: (error) => logFault(log, 'fault', error),
  });
  if (server.grantsNote !== undefined) log.info({ event: 'grants' }, server.grantsNote);
  const interrupt = listenForInterrupt();
  const end = started(server);
  try {
    await interrupt.requested;
    await server.close();
    return 0;
  } finally {
    end();
    interrupt.release();
  }
}

export const serveCommand: Command<ServeArguments> = {
  name: 'serve',
  summary: 'serve runs over HTTP and to browsers, and advance them',
  fields,
  details:
    'Serves the runs of the store at /v1, described by /v1/openapi.json, and the studio, a page that shows them, at /. Each request for data needs a token: Authorization: Bearer TOKEN; the page asks for it. SIGTERM or Ctrl-C: streams end, runs come to rest or are handed back, and it ends with 0.',
  examples: [
    { line: 'cairn serve', does: 'the store of this folder at http://127.0.0.1:4310, with a token that is printed' },
    { line: 'cairn serve --read-only', does: 'to look, and change nothing' },
    {
      line: 'cairn serve --http 0.0.0.0:8080 --token-file tokens.json --allow-host runs.example.org',
      does: 'for others, each with a token of their own',
    },
  ],
  execute: (session, input) =>
    serve(session, input, ({ url, healthUrl, token, storeName, hasPages }) => {
      const { screen, isJson } = session;
      if (isJson)
        session.printJson({
          url,
          ...(healthUrl !== undefined && { healthUrl }),
          ...(token !== undefined && { token }),
          store: storeName,
        });
      else {
        screen.print(`Serving ${storeName} at ${url}`);
        if (token !== undefined) screen.print(`Token: ${token}`);
        if (healthUrl !== undefined) screen.note(`Probes and metrics are answered at ${healthUrl}`);
        if (hasPages) screen.note('Open it in a browser, and sign in with the token. cairn studio does both.');
        screen.note('Ctrl-C or SIGTERM: finish and stop.');
      }
      return () => undefined;
    }),
};

const {
  tokenFile: _tokenFile,
  allowOrigin: _allowOrigin,
  allowHost: _allowHost,
  healthPort: _healthPort,
  ...studioFields
} = fields;

export const studioCommand: Command<Omit<ServeArguments, 'tokenFile' | 'allowOrigin' | 'allowHost' | 'healthPort'>> = {
  name: 'studio',
  summary: 'open the studio: see runs in a browser, answer them, fork them',
  fields: {
    ...studioFields,
    http: { ...fields['http'], description: 'serve at [HOST:]PORT; default: a free port of 127.0.0.1' },
  },
  details:
    'Serves as cairn serve does, at a free port, and opens the page in your browser, signed in. The browser is given a file that only you can read, with a code in it that can be used once: other programs see neither it nor a token. BROWSER names another program to open it with.',
  examples: [
    { line: 'cairn studio', does: 'the runs of this folder' },
    { line: 'cairn studio --read-only', does: 'to look, and change nothing' },
  ],
  execute: (session, input) =>
    serve(session, { ...input, port: 0 }, (server) => {
      const { screen, isJson } = session;
      const opened = writeOpener(`${server.url}/#code=${server.createCode() ?? ''}`);
      if (isJson) session.printJson({ url: server.url, open: opened.file, store: server.storeName });
      else {
        screen.print(`The studio of ${server.storeName} is at ${server.url}`);
        screen.print(`It opens in your browser; if it does not, open ${pathToFileURL(opened.file).href}`);
        screen.note('Ctrl-C: finish and stop.');
        openInBrowser(opened.file);
      }
      return opened.remove;
    }),
};

/** A file that leads a browser to an address. Only its owner can read it: arguments of programs are seen by everyone on the machine. */
function writeOpener(address: string): { readonly file: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-studio-'));
  const file = join(folder, 'open.html');
  writeFileSync(
    file,
    `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}"><title>Cairn</title><a href="${address}">The studio</a>\n`,
    { mode: 0o600 },
  );
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Where there is no browser, the file that was printed can still be opened. */
function openInBrowser(file: string): void {
  const own = process.env['BROWSER'];
  const byPlatform: Readonly<Record<string, readonly [string, ...string[]]>> = {
    darwin: ['open'],
    win32: ['explorer.exe'],
  };
  const [program, ...args] = own === undefined || own === '' ? (byPlatform[process.platform] ?? ['xdg-open']) : [own];
  spawn(program, [...args, file], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}
