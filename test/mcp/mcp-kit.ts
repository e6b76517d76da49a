/** What MCP tests share: a workspace with workflows, server processes, and the official client connected to them. */
import { recordLog } from '../support/recorded-log.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startMcpServer, type McpServerOptions } from '../../src/mcp/index.ts';
import { within } from '../support/awaited.ts';
import { builtMain } from '../support/built-package.ts';

/** A folder with workflows and a store. */
export interface Workspace {
  readonly folder: string;
  /** Writes a workflow; its name is that in the text. */
  write(name: string, text: string): void;
  /** Stops what was started here and removes the folder. */
  remove(): Promise<void>;
}

const started = new Map<string, (() => Promise<void>)[]>();

export function createWorkspace(workflows: Readonly<Record<string, string>> = {}): Workspace {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-mcp-'));
  mkdirSync(join(folder, 'workflows'));
  started.set(folder, []);
  const write = (name: string, text: string): void => writeFileSync(join(folder, 'workflows', `${name}.yaml`), text);
  for (const [name, text] of Object.entries(workflows)) write(name, text);
  return {
    folder,
    write,
    async remove() {
      for (const stop of started.get(folder) ?? []) await stop();
      started.delete(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type ServerOptions = Omit<McpServerOptions, 'cwd' | 'storeUrl' | 'log'>;

function optionsOf({ folder }: Workspace, options: ServerOptions): Omit<McpServerOptions, 'log'> {
  return { cwd: folder, storeUrl: join(folder, 'runs.db'), workflows: [join(folder, 'workflows')], ...options };
}

/** The command that starts a server for a workspace; options are those of the command line. */
export function serverCommand({ folder }: Workspace, options: readonly string[] = []): readonly string[] {
  const place = ['--store', join(folder, 'runs.db'), '--workflows', join(folder, 'workflows')];
  return [process.execPath, builtMain, 'mcp', ...place, ...options];
}

export interface ClientChoice {
  /** Default legacy: the protocol of 2025. */
  readonly era?: 'legacy' | 'modern';
  /** Answers questions that are put to the person. Absent: the client declares that it cannot. */
  readonly answer?: (form: Form) => Filled | Promise<Filled>;
}

export interface Form {
  readonly message: string;
  readonly requestedSchema: { readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

export interface Filled {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean | string[]>;
}

export type Content = Readonly<Record<string, unknown>>;

export interface Connection {
  readonly client: Client;
  /** Resolves when the connection has ended, from either side. */
  readonly closed: Promise<void>;
  /** Of the server, over stdio. */
  readonly pid: number;
  /** What the server wrote to standard error. */
  readonly errors: () => string;
  /** Calls a tool and gives what is said as JSON; what the text says must be the same. */
  readonly call: (
    name: string,
    args?: Content,
    more?: Parameters<Client['callTool']>[1],
  ) => Promise<Content & { isError?: boolean }>;
}

function createClient({ era = 'legacy', answer }: ClientChoice): Client {
  const options: ClientOptions = {
    capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
    ...(era === 'modern' && { versionNegotiation: { mode: 'auto' as const } }),
  };
  const client = new Client({ name: 'cairn-tests', version: '1.0.0' }, options);
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      ...(await answer(params as unknown as Form)),
    }));
  return client;
}

function connectionOf(client: Client, pid: number, errors: () => string): Connection {
  const closed = new Promise<void>((resolve) => Object.assign(client, { onclose: resolve }));
  return {
    client,
    closed,
    pid,
    errors,
    call: async (name, args = {}, more) => {
      const { structuredContent, content, isError } = await client.callTool({ name, arguments: { ...args } }, more);
      const [first] = content as readonly { readonly type: string; readonly text?: string }[];
      const text = first?.text ?? '';
      const said: unknown = structuredContent ?? { text };
      if (structuredContent !== undefined && text !== JSON.stringify(structuredContent))
        throw new Error(`the text says something else: ${text}`);
      return { ...(said as Content), ...(isError === true && { isError }) };
    },
  };
}

/** Starts a server process and connects to it over its standard input and output. */
export async function connectStdio(
  workspace: Workspace,
  choice: ClientChoice = {},
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Connection> {
  const [command = '', ...args] = serverCommand(workspace, options);
  const transport = new StdioClientTransport({
    command,
    args,
    env: { ...(process.env as Record<string, string>), ...env },
    cwd: workspace.folder,
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const client = createClient(choice);
  await client.connect(transport);
  started.get(workspace.folder)?.push(() => client.close());
  return connectionOf(client, transport.pid ?? 0, () => errors);
}

/** A server that clients connect to by its address. */
export interface Listening {
  readonly url: string;
  connect(choice?: ClientChoice, headers?: Readonly<Record<string, string>>): Promise<Connection>;
}

export interface HttpServer extends Listening {
  readonly process: ChildProcess;
}

function connectorOf(workspace: Workspace, address: string): Listening['connect'] {
  return async (choice = {}, headers = {}) => {
    const client = createClient(choice);
    const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: { ...headers } } });
    await client.connect(transport);
    started.get(workspace.folder)?.unshift(() => client.close());
    return connectionOf(client, 0, () => '');
  };
}

/** Starts a server in this process, for what needs none of its own. */
export async function serveHere(workspace: Workspace, options: ServerOptions = {}): Promise<Listening> {
  const http = { port: 0, ...options.http };
  const server = await startMcpServer({ ...optionsOf(workspace, options), http, log: recordLog().log });
  started.get(workspace.folder)?.push(() => server.close());
  const { url = '' } = server;
  return { url, connect: connectorOf(workspace, url) };
}

export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return within(`process ${child.pid} ends`, exit);
}

/** Starts a server process on a free port. */
export async function serveHttp(workspace: Workspace, options: readonly string[] = []): Promise<HttpServer> {
  const [command = '', ...args] = serverCommand(workspace, ['--http', '0', ...options]);
  const child = spawn(command, args, { cwd: workspace.folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const stops = started.get(workspace.folder);
  stops?.push(async () => {
    child.kill('SIGKILL');
    await ended(child);
  });
  let url: string | undefined;
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    url = /listening at ([^\s"]+)/.exec(line)?.[1];
    if (url !== undefined) break;
  }
  if (url === undefined) throw new Error(`the server did not start: ${lines.join('\n')}`);
  child.stderr.resume();
  return { url, process: child, connect: connectorOf(workspace, url) };
}
