/**
 * A server that speaks the protocol of E2B, on loopback: sandboxes are folders of this machine, in which commands really run. It serves both
 * the interface that makes sandboxes and the one within them; the SDK names a sandbox in a header.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';

export interface E2bUnderTest {
  /** Options of the SDK's connection that lead here. */
  readonly connection: { readonly apiUrl: string; readonly sandboxUrl: string };
  /** The key that is taken. */
  key: string;
  /** What was asked for, in order: `create ID`, `connect ID`, `kill ID`, `run COMMAND`. */
  readonly asked: string[];
  /** Answers each request for a sandbox with this status; undefined: as it should. */
  fault: number | undefined;
  /** The folder of a sandbox. */
  readonly folderOf: (id: string) => string;
  /** Takes a sandbox away, as when its time is over. */
  readonly expire: (id: string) => void;
  readonly ids: () => readonly string[];
  readonly stop: () => Promise<void>;
}

export async function startE2b(): Promise<E2bUnderTest> {
  const world = new E2bServer();
  await world.listen();
  return world;
}

class E2bServer implements E2bUnderTest {
  key = 'e2b_one';
  fault: number | undefined;
  readonly asked: string[] = [];
  connection = { apiUrl: '', sandboxUrl: '' };
  readonly #root = mkdtempSync(join(tmpdir(), 'cairn-e2b-'));
  readonly #running = new Map<number, ChildProcess>();
  readonly #made: string[] = [];
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    this.connection = { apiUrl: url, sandboxUrl: url };
  }

  folderOf = (id: string): string => join(this.#root, id);
  expire = (id: string): void => rmSync(this.folderOf(id), { recursive: true, force: true });
  ids = (): readonly string[] => this.#made;

  stop = async (): Promise<void> => {
    for (const child of this.#running.values()) child.kill('SIGKILL');
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.#root, { recursive: true, force: true });
  };

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.connection.apiUrl);
    const body = await buffer(request);
    const say: Say = (status, value) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(value === undefined ? undefined : JSON.stringify(value));
    };
    const box = request.headers['e2b-sandbox-id'];
    if (typeof box !== 'string') return this.#answerOutside(pathname, request, say);
    const folder = this.folderOf(box);
    // The proxy before a sandbox that is not there.
    if (!existsSync(folder)) return say(502, { code: 502, message: 'The sandbox was not found', sandboxId: box });
    if (pathname === '/files') return answerFiles(folder, searchParams.get('path') ?? '', body, request, response, say);
    if (pathname === '/process.Process/SendSignal') {
      const { process: wanted } = JSON.parse(body.toString()) as { process: { pid: number } };
      this.#running.get(wanted.pid)?.kill('SIGKILL');
      return say(200, {});
    }
    if (pathname !== '/process.Process/Start') return say(404, { code: 'unimplemented', message: pathname });
    const { process: asked } = JSON.parse(body.subarray(5).toString()) as { process: StartedProcess };
    this.asked.push(`run ${asked.args.at(-1)}`);
    startProcess(folder, asked, response, this.#running);
  }

  #answerOutside(path: string, request: IncomingMessage, say: Say): void {
    if (request.headers['x-api-key'] !== this.key) return say(401, { code: 401, message: 'no such key' });
    if (this.fault !== undefined) return say(this.fault, { code: this.fault, message: 'not now' });
    const describe = (sandboxID: string): unknown => ({
      sandboxID,
      templateID: 'base',
      clientID: 'c',
      envdVersion: '0.2.0',
      envdAccessToken: 't',
    });
    const [, , id = '', act] = path.replace('/v2', '').split('/');
    if (request.method === 'POST' && id === '') {
      const fresh = `box${this.#made.length + 1}`;
      mkdirSync(this.folderOf(fresh));
      this.#made.push(fresh);
      this.asked.push(`create ${fresh}`);
      return say(201, describe(fresh));
    }
    if (!existsSync(this.folderOf(id))) return say(404, { code: 404, message: 'no such sandbox' });
    this.asked.push(`${act === 'connect' ? 'connect' : 'kill'} ${id}`);
    if (act === 'connect') return say(200, describe(id));
    this.expire(id);
    say(204, undefined);
  }
}

type Say = (status: number, value: unknown) => void;

async function answerFiles(
  folder: string,
  name: string,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
  say: Say,
): Promise<void> {
  const file = name.startsWith('/tmp/') ? join(folder, '.tmp', name) : join(folder, name);
  if (request.method === 'GET') {
    if (!existsSync(file)) return say(404, { code: 404, message: 'no such file' });
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.end(readFileSync(file));
    return;
  }
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  const form = await new Response(new Uint8Array(body), { headers }).formData();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, Buffer.from(await (form.get('file') as File).arrayBuffer()));
  say(200, [{ name, path: name, type: 'file' }]);
}

interface StartedProcess {
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
}

/** Runs a command line, and answers with what happens to it, as a stream of the protocol Connect. */
function startProcess(
  folder: string,
  { args, envs }: StartedProcess,
  response: ServerResponse,
  running: Map<number, ChildProcess>,
): void {
  response.writeHead(200, { 'content-type': 'application/connect+json' });
  const send = (value: unknown, flags = 0): void => {
    const text = Buffer.from(JSON.stringify(value));
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(text.length, 1);
    response.write(Buffer.concat([head, text]));
  };
  const child = spawn('/bin/sh', ['-c', (args.at(-1) ?? '').replaceAll('/tmp/', `${folder}/.tmp/tmp/`)], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...envs },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  running.set(pid, child);
  send({ event: { start: { pid } } });
  child.stdout.on('data', (piece: Buffer) => send({ event: { data: { stdout: piece.toString('base64') } } }));
  child.stderr.on('data', (piece: Buffer) => send({ event: { data: { stderr: piece.toString('base64') } } }));
  child.on('close', (code) => {
    running.delete(pid);
    send({ event: { end: { exitCode: code ?? -1, exited: code !== null, status: `exit status ${code}` } } });
    send({}, 2);
    response.end();
  });
}
