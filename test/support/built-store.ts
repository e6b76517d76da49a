/** Fills a store with many runs out of a few that really ran. Every checksum is valid, so that whatever reads them finds them sound. */
import { runKeyOf, rootChecksum, sealBody } from '../../src/history/stored/checkpoint.ts';
import { makeKeySeed } from '../../src/history/stored/key-seed.ts';
import { checksumOfRow } from '../../src/history/stored/checksum.ts';
import { namedByMeta } from '../../src/history/stored/named-blobs.ts';
import { metaOf } from '../../src/history/stored/stored-meta.ts';
import { AgentGraph, END, START } from '../../src/index.ts';
import type { CheckpointRow, OpenWait, RunRow, Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';

const tenant = 'default';
const dayMs = 86_400_000;
const graphCount = 8;
const userCount = 100;
/** Runs that are written at once. */
const atOnce = 256;
const kinds = ['done', 'failed', 'asking', 'sleeping'] as const;

/** The id of a run that {@link buildStore} makes. */
export const builtRunId = (index: number): string => `run-${String(index).padStart(8, '0')}`;

/** Graphs in order of how many runs they have: half of all, a quarter, … */
export const builtGraphId = (index: number): string => `graph-${index}`;

/** A run that really ran. */
interface Template {
  readonly run: RunRow;
  readonly checkpoints: readonly CheckpointRow[];
  readonly waits: readonly OpenWait[];
}

const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);

function graphOf(index: number, kind: (typeof kinds)[number], store: Store) {
  return new AgentGraph({}, { id: builtGraphId(index), checkpointPolicy: 'every_node' })
    .addNode('a', () => ({ text, n: 1 }), { effectClass: 'write' })
    .addNode('b', () => ({ text, n: 2 }), { effectClass: 'write' })
    .addNode(
      'c',
      async (ctx) => {
        if (kind === 'failed') throw new Error('the shop is shut');
        if (kind === 'asking') return ctx.ask({ prompt: 'May I go on?', choices: ['yes', 'no'] });
        if (kind === 'sleeping') await ctx.sleepUntil(Date.now() + 30 * dayMs);
        return 1;
      },
      { effectClass: 'read' },
    )
    .addNode('d', () => 'done', { effectClass: 'write' })
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', 'c')
    .addEdge('c', 'd')
    .addEdge('d', END)
    .compile({ store, wakes: false });
}

/** @param target - gets what the runs have in the blob store */
async function makeTemplates(target: Store): Promise<ReadonlyMap<string, Template>> {
  const store: Store = { ...createMemoryStore(), ...(target.blobs && { blobs: target.blobs }) };
  const templates = new Map<string, Template>();
  for (let index = 0; index < graphCount; index += 1)
    for (const kind of kinds) {
      const runId = `${kind}-${index}`;
      const graph = graphOf(index, kind, store);
      await graph.invoke({}, { runId });
      await graph.close();
      const run = await store.readRun({ tenant, runId });
      if (run === undefined) throw new Error(`${runId} is not there`);
      const checkpoints = await store.readCheckpoints(run, { from: 0, to: run.head });
      templates.set(runId, { run, checkpoints, waits: (await store.listWaits({ tenant, runId })).rows });
    }
  return templates;
}

/** @param at - when it began, in epoch ms */
async function copyRun(store: Store, template: Template, index: number, at: number, user: string): Promise<void> {
  const runId = builtRunId(index);
  const { run, checkpoints, waits } = template;
  const key = runKeyOf(tenant, runId);
  const labels = { user };
  const keySeed = await makeKeySeed(store, tenant, runId, String(index));
  const shiftMs = at - (checkpoints[0]?.at ?? 0);
  let link: Uint8Array = rootChecksum;
  const sealed = checkpoints.map(({ seq, at: then, body }) => {
    link = sealBody({ runKey: key, seq }, link, then + shiftMs, body);
    return { seq, at: then + shiftMs, body, checksum: link };
  });
  const [first, ...rest] = sealed;
  if (first === undefined) return;
  const meta = new TextEncoder().encode(JSON.stringify({ ...metaOf(run), labels, keySeed }));
  const { claim } = await store.admitRun({
    tenant,
    runId,
    key,
    graphId: run.graphId,
    graphHash: run.graphHash,
    status: 'running',
    meta,
    ...namedByMeta(meta),
    checkpoint: first,
    waits: [],
    labels,
    claim: { workerId: 'builder', leaseMs: 600_000 },
    durability: 'none',
  });
  if (claim === undefined) throw new Error(`${runId} is there already`);
  const openWaits = waits.map(({ waitId, kind, dueAt, body }) => ({
    waitId,
    kind,
    body,
    ...(dueAt !== undefined && { dueAt }),
    checksum: checksumOfRow(['wait', tenant, runId, waitId, kind, dueAt ?? null], body),
  }));
  await Promise.all(
    rest.map((checkpoint, n) =>
      store.commit({
        claim,
        checkpoint,
        durability: 'none',
        ...(n === rest.length - 1 && { status: run.status, openWaits, releases: true }),
      }),
    ),
  );
}

/**
 * Fills a store with runs of the last 90 days: nine of ten completed, the others failed, asking or sleeping in equal parts. Of each user there
 * are as many.
 *
 * @param now - epoch ms
 */
export async function buildStore(store: Store, runs: number, now: number): Promise<void> {
  const templates = await makeTemplates(store);
  const random = createSeededRandom(1);
  for (let from = 0; from < runs; from += atOnce) {
    const copies = Array.from({ length: Math.min(atOnce, runs - from) }, (_, n) => {
      const index = from + n;
      const graph = Math.min(graphCount - 1, Math.floor(-Math.log2(1 - random.next() * 0.996)));
      const chance = random.next();
      const kind = chance < 0.9 ? 'done' : chance < 0.94 ? 'failed' : chance < 0.97 ? 'asking' : 'sleeping';
      const template = templates.get(`${kind}-${graph}`);
      if (template === undefined) throw new Error(`there is no ${kind}-${graph}`);
      const at = now - Math.floor(90 * dayMs * (1 - index / runs));
      return copyRun(store, template, index, at, `u${index % userCount}`);
    });
    await Promise.all(copies);
  }
}
