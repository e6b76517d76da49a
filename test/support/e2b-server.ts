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
  const root = mkdtempSync(join(tmpdir(), 'cairn-e2b-'));
  const running = new Map<number, ChildProcess>();
  const folderOf = (id: string): string => join(root, id);
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made: string[] = [];
  const world: E2bUnderTest = {
    connection: { apiUrl: url, sandboxUrl: url },
    key: 'e2b_one',
    asked: [],
    fault: undefined,
    folderOf,
    expire: (id) => rmSync(folderOf(id), { recursive: true, force: true }),
    ids: () => made,
    stop: async () => {
      for (const child of running.values()) child.kill('SIGKILL');
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(root, { recursive: true, force: true });
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url ?? '/', url);
    const body = await buffer(request);
    const say = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(value === undefined ? undefined : JSON.stringify(value));
    };
    const box = request.headers['e2b-sandbox-id'];
    if (typeof box === 'string') return answerInside(box, path, searchParams, body, request, response, say);
    if (request.headers['x-api-key'] !== world.key) return say(401, { code: 401, message: 'no such key' });
    if (world.fault !== undefined) return say(world.fault, { code: world.fault, message: 'not now' });
    const description = (id: string): unknown => ({
      sandboxID: id,
      templateID: 'base',
      clientID: 'c',
      envdVersion: '0.2.0',
      envdAccessToken: 't',
    });
    const [, , second, third] = path.replace('/v2', '').split('/');
    const id = second ?? '';
    if (request.method === 'POST' && id === '') {
      const fresh = `box${made.length + 1}`;
      mkdirSync(folderOf(fresh));
      made.push(fresh);
      world.asked.push(`create ${fresh}`);
      return say(201, description(fresh));
    }
    if (!existsSync(folderOf(id))) return say(404, { code: 404, message: 'no such sandbox' });
    world.asked.push(`${third === 'connect' ? 'connect' : 'kill'} ${id}`);
    if (third === 'connect') return say(200, description(id));
    world.expire(id);
    return say(204, undefined);
  }

  async function answerInside(
    box: string,
    path: string,
    query: URLSearchParams,
    body: Buffer,
    request: IncomingMessage,
    response: ServerResponse,
    say: Say,
  ): Promise<void> {
    const folder = folderOf(box);
    // The proxy before a sandbox that is not there.
    if (!existsSync(folder)) return say(502, { code: 502, message: 'The sandbox was not found', sandboxId: box });
    if (path === '/files') return answerFiles(folder, query.get('path') ?? '', body, request, response, say);
    if (path === '/process.Process/SendSignal') {
      const { process: wanted } = JSON.parse(body.toString()) as { process: { pid: number } };
      running.get(wanted.pid)?.kill('SIGKILL');
      return say(200, {});
    }
    if (path !== '/process.Process/Start') return say(404, { code: 'unimplemented', message: path });
    const { process: asked } = JSON.parse(body.subarray(5).toString()) as { process: StartedProcess };
    world.asked.push(`run ${asked.args.at(-1)}`);
    startProcess(folder, asked, response, running);
  }
  return world;
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
