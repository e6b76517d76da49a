/** A folder of a stranger's, beside the package that npm installed: its files, its commands, its programs, and a server for its model. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientCapabilities,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { installPackage, root, type InstalledPackage } from './installed-package.ts';

const children: ChildProcess[] = [];
const clients: Client[] = [];

/** Ends what was started in any of the folders. */
export async function endAll(): Promise<void> {
  for (const client of clients.splice(0)) await client.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
}

export interface Reply {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Calls a tool of a server. */
type Call = (name: string, args: object) => Promise<Record<string, unknown>>;

export interface Place {
  readonly path: string;
  file(name: string, text: string): string;
  cairn(...args: readonly string[]): Reply;
  json(...args: readonly string[]): Record<string, unknown>;
  /** Runs a program of the user's, and gives what it logs last, as JSON. */
  program(text: string): unknown;
  start(...args: readonly string[]): ChildProcess;
  mcp(...options: readonly string[]): Promise<Call>;
  /** The same for a client that puts questions to its person. */
  mcpWithForms(answer: (message: string) => string, ...options: readonly string[]): Promise<Call>;
  mcpOverHttp(...options: readonly string[]): Promise<Call>;
}

const env = { ...process.env, CI: 'true', NO_COLOR: '1', COLUMNS: '100', NODE_OPTIONS: '' };

/** Makes a folder beside the installed package. */
export function openPlace(installed: InstalledPackage): Place {
  const path = mkdtempSync(join(installed.app, 'walk-'));
  const run = (program: string, args: readonly string[]): Reply => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: path, env, encoding: 'utf8', input: '' });
    return { code: status, out: stdout, err: stderr };
  };
  const cairn = (...args: readonly string[]): Reply => run(process.execPath, [installed.executable, ...args]);
  const start = (...args: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, [installed.executable, ...args], { cwd: path, env });
    children.push(child);
    return child;
  };
  const mcpWords = ['mcp', '--store', 'runs.db', '--workflows', 'workflows'] as const;
  const stdio = (options: readonly string[]): StdioClientTransport => {
    const args = [installed.executable, ...mcpWords, ...options];
    return new StdioClientTransport({
      command: process.execPath,
      args,
      cwd: path,
      env,
      stderr: 'ignore',
    });
  };
  const file = (name: string, text: string): string => {
    const at = join(path, name);
    mkdirSync(join(at, '..'), { recursive: true });
    writeFileSync(at, text);
    return at;
  };
  return {
    path,
    file,
    cairn,
    json(...args) {
      const { out, err } = cairn(...args, '--json');
      if (out === '') throw new Error(err);
      return JSON.parse(out) as Record<string, unknown>;
    },
    program(text) {
      const { code, out, err } = run(process.execPath, [file('program.mjs', text)]);
      if (code !== 0) throw new Error(`${err}${out}`);
      return JSON.parse(out.trim().split('\n').at(-1) ?? '');
    },
    start,
    mcp: (...options) => connect(newClient(), stdio(options)),
    mcpWithForms(answer, ...options) {
      const client = newClient({ elicitation: { form: {} } });
      client.setRequestHandler('elicitation/create', ({ params }) => {
        const { properties = {} } =
          (params as { readonly requestedSchema?: { readonly properties?: object } }).requestedSchema ?? {};
        return { action: 'accept', content: { [Object.keys(properties)[0] ?? '']: answer(params.message) } };
      });
      return connect(client, stdio(options));
    },
    async mcpOverHttp(...options) {
      const url = new URL(`http://127.0.0.1:${await portOf(start(...mcpWords, '--http', '0', ...options))}/mcp`);
      return connect(newClient(), new StreamableHTTPClientTransport(url));
    },
  };
}

/** The port that a server says it listens at. */
export async function portOf({ stderr }: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: stderr as NodeJS.ReadableStream })) {
    const port = Number(/listening at [^\s"]+:(\d+)/u.exec(line)?.[1] ?? 0);
    if (port > 0) return port;
  }
  throw new Error('the server said no port');
}

const newClient = (capabilities: ClientCapabilities = {}): Client =>
  new Client({ name: 'stranger', version: '1.0.0' }, { capabilities });

async function connect(client: Client, transport: Transport): Promise<Call> {
  await client.connect(transport);
  clients.push(client);
  return async (name, args) => {
    const { structuredContent, content } = await client.callTool({ name, arguments: { ...args } });
    return (structuredContent ?? { text: JSON.stringify(content) }) as Record<string, unknown>;
  };
}

/** Builds, packs and installs the package, and puts packages beside it that users have. */
export function installWithPeers(): InstalledPackage {
  const installed = installPackage();
  for (const name of ['zod', 'ai', '@ai-sdk', '@modelcontextprotocol', '@types', '@standard-schema', '@opentelemetry'])
    if (existsSync(join(root, 'node_modules', name)))
      symlinkSync(join(root, 'node_modules', name), join(installed.app, 'node_modules', name));
  return installed;
}

/** Whether terminals obey a character, or turn text around by it. */
export function isObeyed(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code === 0x1b || (code >= 0x80 && code <= 0x9f) || (code >= 0x2028 && code <= 0x202e);
}

/** All files below a folder. */
export const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile());

/** A module whose graph asks before it ends. */
export const asking = (prompt: string): string => `
import { AgentGraph, END, humanNode, START } from 'cairn-workflows';
export const graph = new AgentGraph({}, { id: 'pay' })
  .addNode('ask', humanNode({ prompt: ${JSON.stringify(prompt)}, choices: ['yes', 'no'] }))
  .addEdge(START, 'ask').addEdge('ask', END).compile();
`;
/** A workflow of one command. */
export const shellWorkflow = (command: string): string =>
  `name: w\nblocks: [{ id: a, type: Shell, inputs: { command: ${JSON.stringify(command)} } }]\n`;
