/** The SQLite store among processes: killed, side by side, and frozen past their lease. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until, within } from '../support/awaited.ts';
import { scale } from '../support/scale.ts';
import { CairnError } from '../../src/errors.ts';
import type { ClaimReply, Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { commitOf, keyOf, tenant } from '../../src/testing/store-suite/examples.ts';

const script = join(import.meta.dirname, 'sqlite-writer.ts');
let folder = '';
let path = '';
const children: Writer[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-processes-'));
  path = join(folder, 'store.db');
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  rmSync(folder, { recursive: true });
});

interface WriterOptions {
  readonly runId?: string;
  readonly workerId?: string;
  readonly leaseMs?: number;
  readonly count?: number;
  readonly pace?: 'busy' | 'rests';
}

class Writer {
  readonly #process: ChildProcess;
  readonly lines: string[] = [];
  readonly #ended: Promise<unknown>;
  #onLine: () => void = () => undefined;

  constructor({ runId = 'run', workerId = 'writer', leaseMs = 60_000, count = 0, pace = 'busy' }: WriterOptions = {}) {
    const args = [script, path, runId, workerId, String(leaseMs), String(count), pace];
    this.#process = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#ended = once(this.#process, 'close');
    const { stdout } = this.#process;
    if (stdout === null) throw new Error('no output');
    createInterface({ input: stdout }).on('line', (line) => {
      this.lines.push(line);
      this.#onLine();
    });
    children.push(this);
  }

  /** Resolves when the process has said so much, or has ended. */
  async hasSaid(enough: (lines: readonly string[]) => boolean): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      this.#onLine = () => enough(this.lines) && resolve();
      this.#onLine();
    });
    await within(`enough of a process that said ${this.lines.length} lines`, Promise.race([heard, this.#ended]));
  }

  async end(): Promise<void> {
    await within(`the end of a process that said ${this.lines.length} lines`, this.#ended);
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.end();
  }

  get acknowledged(): number[] {
    return this.lines.flatMap((line) => (line.startsWith('acknowledged ') ? [Number(line.slice(13))] : []));
  }
}

async function readTexts(store: Store, runId = 'run'): Promise<Map<number, string>> {
  const rows = await store.readCheckpoints(keyOf(runId), { from: 0, to: 1e9 });
  return new Map(rows.map(({ seq, body }) => [seq, new TextDecoder().decode(body)]));
}

test('S3 a process killed among its commits loses nothing that was acknowledged, and leaves no gap', async () => {
  const random = createSeededRandom(7);
  const expected = new Map<number, string>();
  for (let round = 0; round < 6; round += 1) {
    const writer = new Writer({ workerId: 'dead' });
    const enough = 1 + random.integer(150);
    await writer.hasSaid((lines) => lines.length > enough);
    await writer.kill();
    for (const seq of writer.acknowledged) expected.set(seq, `${seq} by dead`);
    expect(writer.acknowledged.length).toBeGreaterThan(0);
    const store = openSqliteStore({ path });
    const texts = await readTexts(store);
    for (const [seq, text] of expected) expect(texts.get(seq)).toBe(text);
    expect([...texts.keys()]).toEqual(Array.from({ length: texts.size }, (_, seq) => seq));
    await store.close();
  }
});

test('O1 processes that write to one file at once disturb neither each other nor a reader', async () => {
  const store = openSqliteStore({ path });
  const runIds = ['a', 'b', 'c'];
  const writers = runIds.map((runId) => new Writer({ runId, workerId: `of ${runId}`, count: 150 }));
  const rivals = [new Writer({ runId: 'same', workerId: 'one', count: 30 }), new Writer({ runId: 'same', count: 30 })];
  for (const writer of writers) await writer.hasSaid((lines) => lines.length > 20);
  expect((await store.listRuns({ tenant, status: ['running'] })).rows.length).toBeGreaterThan(0);
  await Promise.all([...writers, ...rivals].map((writer) => writer.end()));
  for (const [index, runId] of runIds.entries()) {
    expect(writers[index]?.lines.at(-1)).toBe('done');
    const texts = [...(await readTexts(store, runId)).values()];
    expect(texts.slice(1)).toEqual(Array.from({ length: 150 }, (_, index) => `${index + 1} by of ${runId}`));
  }
  // Both wanted one run: the first to claim it wrote alone, and the other was told who holds it.
  const outcomes = rivals.map(({ lines }) => lines.at(-1));
  expect(outcomes).toContain('done');
  expect(outcomes.filter((line) => line?.startsWith('held by '))).toHaveLength(1);
  expect((await readTexts(store, 'same')).size).toBe(31);
  await store.close();
});

/** Claims as soon as the store grants it. A process that was frozen inside a transaction holds the file: it is thawed and frozen again. */
async function takeOver(store: Store, writer: Writer): Promise<NonNullable<ClaimReply['claim']>> {
  const claim = async (): Promise<ClaimReply['claim']> => {
    try {
      return (await store.claimRun({ tenant, runId: 'run', workerId: 'next', leaseMs: 60_000 })).claim;
    } catch (error) {
      if (!CairnError.is(error, 'STORE_BUSY')) throw error;
      writer.signal('SIGCONT');
      writer.signal('SIGSTOP');
      return undefined;
    }
  };
  return until('the lease of the frozen process runs out', claim, 20);
}

test('O2 a process frozen past its lease is taken over, and refused when it thaws', async () => {
  const store = openSqliteStore({ path, busyTimeoutMs: 100 });
  const writer = new Writer({ leaseMs: 400, pace: 'rests' });
  await writer.hasSaid((lines) => lines.length > 5);
  writer.signal('SIGSTOP');
  const claim = await takeOver(store, writer);
  const { head = 0 } = (await store.readRun(keyOf('run'))) ?? {};
  await store.commit(commitOf(claim, head + 1));
  writer.signal('SIGCONT');
  await writer.end();
  expect(writer.lines.at(-1)).toBe('refused CLAIM_FENCED');
  const texts = await readTexts(store);
  expect(texts.get(head + 1)).toBe(`body ${head + 1}`);
  expect(texts.size).toBe(head + 2);
  for (const seq of writer.acknowledged) expect(texts.get(seq)).toBe(`${seq} by writer`);
  await store.close();
});

/** Three processes run the same code at the same time. @returns their exit codes, and what they wrote to stderr */
async function race(code: string): Promise<readonly (readonly [number | null, string])[]> {
  const whole = `process.stdin.once('data', async () => { ${code}; process.exit(); }); process.stdout.write('ready');`;
  const racing = Array.from({ length: 3 }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', whole], { stdio: ['pipe', 'pipe', 'pipe'] });
    const errors: string[] = [];
    child.stderr.on('data', (text: Buffer) => errors.push(text.toString()));
    return { child, errors, isReady: once(child.stdout, 'data'), isClosed: once(child, 'close') };
  });
  await within('all are ready', Promise.all(racing.map(({ isReady }) => isReady)));
  for (const { child } of racing) child.stdin.write('go');
  await within('all are done', Promise.all(racing.map(({ isClosed }) => isClosed)));
  return racing.map(({ child, errors }) => [child.exitCode, errors.join('')]);
}

const fine = [0, 1, 2].map(() => [0, '']);
const source = (name: string): string => JSON.stringify(join(import.meta.dirname, '../../src/stores/sqlite', name));

test('P6 processes that create the same file at the same time all open it, and a link that leads nowhere is refused', async () => {
  const code = `const { createFile } = await import(${source('file/open-database.ts')});
    for (let index = 0; index < 2_000; index += 1) createFile(${JSON.stringify(folder)} + '/new/' + index)`;
  expect(await race(code)).toEqual(fine);
  symlinkSync(join(folder, 'nowhere'), path);
  expect(() => openSqliteStore({ path })).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }));
});

test('P6 processes that open the same new store at the same time all open it', async () => {
  const code = `const { openSqliteStore } = await import(${source('index.ts')});
    for (let index = 0; index < ${scale(150, 2_000)}; index += 1) {
      const store = openSqliteStore({ path: ${JSON.stringify(folder)} + '/' + index + '/store.db' });
      await store.close();
    }`;
  expect(await race(code)).toEqual(fine);
});
