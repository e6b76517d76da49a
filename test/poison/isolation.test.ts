/** Runs that end their process, beside healthy ones: the others end, and the bad one fails by name (O7). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { until } from '../support/awaited.ts';
import { isProving, scale } from '../support/scale.ts';
import * as graphs from './graphs.ts';
import { Supervisor } from './supervisor.ts';

const script = join(import.meta.dirname, 'worker.ts');
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-poison-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const healthyCount = scale(4, 50);

type Bad = keyof typeof graphs;
const byName: Readonly<Record<Bad, { readonly graph: Graph }>> = { ...graphs };

async function prepare(store: string, bads: readonly Bad[]): Promise<Engine> {
  const engine = createDefaultEngine({ store, wakes: false });
  for (const { graph } of Object.values(graphs)) engine.know(graph);
  for (const bad of bads) await engine.start(byName[bad].graph, {}, { runId: bad, detach: true });
  for (let count = 0; count < healthyCount; count += 1)
    await engine.start(graphs.healthy.graph, {}, { runId: `healthy${count}`, detach: true });
  return engine;
}

const statusOf = async (engine: Engine, runId: string): Promise<string | undefined> =>
  (await engine.ports.store.readRun({ tenant: 'default', runId }))?.status;

const haveEnded = (engine: Engine, runIds: readonly string[]) => async (): Promise<boolean> =>
  (await Promise.all(runIds.map((runId) => statusOf(engine, runId)))).every((status) => status !== 'running');

const healthyIds = Array.from({ length: healthyCount }, (_, index) => `healthy${index}`);

interface Ended {
  readonly engine: Engine;
  readonly supervisor: Supervisor;
}

/** Lets bad runs and healthy ones end under a supervisor, then looks. */
async function withBad(bads: readonly Bad[], look: (ended: Ended) => Promise<void>, way = 'apart'): Promise<void> {
  const store = `sqlite:${join(folder, `${bads.join('-')}-${way}.db`)}`;
  const engine = await prepare(store, bads);
  const supervisor = new Supervisor(['--max-old-space-size=96', script, store, way]);
  const ids = way === 'apart' ? [...bads, ...healthyIds] : healthyIds;
  try {
    // Each suspect has a process of its own, one after another.
    await until('the runs have ended', haveEnded(engine, ids), 50, 150_000);
    for (const runId of healthyIds) expect(await statusOf(engine, runId)).toBe('completed');
    await look({ engine, supervisor });
  } catch (error) {
    console.error(supervisor.output.slice(-3_000));
    throw error;
  } finally {
    await supervisor.stop();
    await engine.close();
  }
}

const causeOf = async (engine: Engine, runId: string): Promise<{ readonly code: string; readonly message: string }> =>
  (await engine.inspect(runId)).error?.cause as { readonly code: string; readonly message: string };

/** What a node that ended its process is told to have done. */
const ends: Partial<Readonly<Record<Bad, string>>> = {
  killed: 'by SIGKILL',
  aborts: 'by SIGABRT',
  exhausts: 'heap out of memory',
  endsParent: 'by SIGKILL',
};

test('P1 O7 nodes that end their process fail by name when what may have happened is judged, and their neighbours end', async () => {
  const bads = isProving ? (Object.keys(ends) as Bad[]) : (['killed'] as const);
  await withBad([...bads, 'killedInStep', 'recovers'], async ({ engine, supervisor }) => {
    for (const bad of bads) {
      const { code, message } = await causeOf(engine, bad);
      expect(code).toBe('NODE_KILLED');
      expect(message).toContain(ends[bad]);
      expect(await statusOf(engine, bad)).toBe('failed');
    }
    expect(supervisor.lives).toBeLessThanOrEqual(3);
    // Its edges apply, and no retry of its policy.
    const { status, state } = await engine.inspect('recovers');
    expect([status, state.outputs['after']]).toEqual(['completed', 'after']);
    const [doubt] = await engine.waits('killedInStep');
    expect([doubt?.kind, doubt?.step]).toEqual(['doubt', 'pay']);
  });
}, 180_000);

test.skipIf(!isProving)(
  'O7.3 without a module to isolate it in, a suspect waits for an idle worker and is never condemned (in npm run prove: it waits for real)',
  async () => {
    const look = async ({ engine }: Ended): Promise<void> => expect(await statusOf(engine, 'killed')).toBe('running');
    await withBad(['killed'], look, 'alone');
  },
);
