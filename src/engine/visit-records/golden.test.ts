/** The bytes that composed nodes leave: a run that uses each optional field of the tree writes what it wrote when the format was fixed (C7). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, resumeToRest, rowOf, runToRest } from '../../../test/engine-kit.ts';
import { readHistory } from '../../history/load/load.ts';
import type { EffectClass, NodeContext } from '../../graph/contracts/node-contract.ts';
import type { NodeDefinition } from '../../graph/graph.ts';

/** A change of these bytes must leave histories readable that have the old ones: see docs/spec/checkpoints.md. */
const golden = join(import.meta.dirname, 'golden/composed-v1.jsonl');

const node = (id: string, effect: EffectClass, run: (ctx: NodeContext) => unknown): NodeDefinition => ({
  id,
  type: 'function',
  effect,
  implementation: { run, codeText: id },
});

const child = graphOf('child', [node('hears', 'read', (ctx) => ctx.receive('go'))], edges('> hears', 'hears >'));

const parent = node('parent', 'read', async (ctx) => {
  if (ctx.retired === undefined && ctx.savedState === undefined) {
    await ctx.step('pay', { effect: 'external', input: 1 }, (step) => (step.spend({ usd: 2 }), 'paid'));
    await ctx.append('log', ['first', { second: true }]);
    ctx.emit({ at: 'half' }, { recorded: true, name: 'progress' });
    await ctx.retire({ half: true });
  }
  const kept = await ctx.start(child, 'kept', { name: 'kept' });
  if (ctx.savedState === undefined) {
    const inner = await ctx.start(child, { for: 'the child' }, { name: 'inner' });
    await inner.signal('go', 'heard');
    await ctx.save((await inner.result()).state.outputs['hears']);
  }
  await kept.cancel('enough');
  await ctx.step('more', { effect: 'external', input: 2 }, (step) => (step.spend({ usd: 1 }), 'more'));
  return [ctx.savedState, ctx.list('log'), await ctx.ask({ name: 'really', prompt: 'Really?' })];
});

/** Hashes and keys follow from the graph and the store: what they are is tested elsewhere. */
const withoutHashes = (line: string): string => line.replaceAll(/"(?:k?[\w-]{43}|[0-9a-f]{64})"/g, '"#"');

test('C7 costs, retired calls, lists, recorded events and child runs are written as they were when the format was fixed', async () => {
  const bench = createBench();
  const graph = graphOf('golden', [parent], edges('> parent', 'parent >'), { policies: { budget: { usd: 2 } } });
  let standing = await runToRest(bench.engine, graph, { a: 1 }, 'golden');
  for (let count = 0; count < 5 && standing.status === 'paused'; count += 1) {
    for (const { waitId } of standing.waits) await bench.engine.answer('golden', waitId, 10);
    standing = await resumeToRest(bench.engine, 'golden', graph);
  }
  expect([standing.status, standing.state.outputs['parent']]).toEqual([
    'completed',
    ['heard', ['first', { second: true }], 10],
  ]);
  const lines: string[] = [];
  for await (const { checkpoint } of readHistory(bench.store, await rowOf(bench, 'golden'), {
    from: 0,
    to: standing.seq,
  }))
    lines.push(withoutHashes(JSON.stringify([checkpoint.seq, checkpoint.at, checkpoint.change, checkpoint.ops])));
  expect(lines.join('\n')).toBe(readFileSync(golden, 'utf8').trimEnd());
});
