/** Every node type that is shipped, killed at every point under both kits: on virtual time, and for real (P1, P2). */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { crashProcesses, type CrashResult } from '../../src/testing/crash-kit/crash-processes.ts';
import { bundleScript } from '../support/bundled-script.ts';
import { storagePlaces, type CrashPlace } from '../support/crash-storage.ts';
import { isProving, sampleCrashes, samplePoints } from '../support/scale.ts';
import { shippedNodeCases } from './cases/shipped-nodes.ts';

const home = process.cwd();
const top = mkdtempSync(join(tmpdir(), 'cairn-shipped-'));
const world = join(top, 'world');
mkdirSync(world);

/** What was sent in each trial: how often each key came. */
const received = new Map<string, Map<string, number>>();
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://host/');
  const trial = searchParams.get('trial') ?? '';
  const keys = received.get(trial) ?? new Map<string, number>();
  received.set(trial, keys);
  const key = request.headers['idempotency-key'];
  if (request.method === 'POST') keys.set(String(key), (keys.get(String(key)) ?? 0) + 1);
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(pathname === '/received' ? [...keys.values()] : 'fine'));
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const cases = shippedNodeCases(url);
/** Killed for real in the gate, too: one of each way to leave a mark outside, one that waits, and one of several parts. */
const killedInGate = new Set(['function', 'shell', 'file (appends)', 'http (sends)', 'human', 'map of graphs']);

const otherPlaces = isProving ? await storagePlaces() : [];

afterAll(async () => {
  process.chdir(home);
  for (const place of otherPlaces) await place.stop();
  server.close();
  server.closeAllConnections();
  rmSync(top, { recursive: true, force: true });
});

/** The gate does this in memory alone; each store has a sample of other runs there (on-each-store). */
const places: readonly Pick<CrashPlace, 'name' | 'missing' | 'open'>[] = [
  { name: 'memory', open: (now) => ({ store: createMemoryStore({ now }) }) },
  ...otherPlaces,
];

describe.each(places)('on virtual time, over $name', ({ name: place, missing, open }) => {
  test.skipIf(missing !== undefined).each(cases)(
    `P1 P2 %s over ${place}, killed at every point, ends as if it never was`,
    { timeout: 240_000 },
    async (_, found) => {
      process.chdir(world);
      const report = await crashEverywhere(found, {
        choose: sampleCrashes(6),
        open: (...args) => {
          for (const name of readdirSync(world)) rmSync(join(world, name), { recursive: true });
          received.delete('world');
          return open(...args);
        },
      });
      expect(report.points).toBeGreaterThan(5);
      expect(report.faults).toEqual([]);
    },
  );
});

describe('with real processes', () => {
  const killForReal = async (name: string): Promise<void> => {
    process.chdir(home);
    received.clear();
    const folder = join(top, name.replaceAll(/[^a-z]/gu, '-'));
    mkdirSync(folder);
    Object.assign(process.env, { NODE_CASE: name, NODE_URL: url, NODE_COMPILE_CACHE: join(top, 'compiled') });
    const script = await bundleScript(join(import.meta.dirname, 'cases/shipped-nodes.ts'));
    const report = await crashProcesses({ script, folder, choose: samplePoints(2) });
    const { summary } = JSON.parse(readFileSync(join(folder, 'quiet', 'result.json'), 'utf8')) as CrashResult;
    expect(summary.status).toBe('completed');
    expect(report.points).toBeGreaterThan(6);
    expect(report.faults).toEqual([]);
  };
  const names = cases.map(([name]) => name);

  test.each(names.filter((name) => killedInGate.has(name)))(
    'P1 P2 %s, killed for real, ends as if it never was',
    { timeout: 240_000 },
    killForReal,
  );
  test.skipIf(!isProving).each(names.filter((name) => !killedInGate.has(name)))(
    'P1 P2 %s, killed for real, ends as if it never was (in npm run prove)',
    { timeout: 240_000 },
    killForReal,
  );
});

test('P1 each node that is killed for real in the gate is one that is shipped', () => {
  expect([...killedInGate].filter((name) => !cases.some(([shipped]) => shipped === name))).toEqual([]);
});
