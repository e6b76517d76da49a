import { describe, expect, test } from 'vitest';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { crashEverywhere } from '../../testing/crash-kit/crash-everywhere.ts';
import type { CrashProcess } from '../../testing/crash-kit/process-life.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const last = { onFailure: 'fail-last' } as const;
const throws = (text: string) => (): never => {
  throw new Error(text);
};

/** `bad` fails the first time; `after` hangs on it; `s1` and `s2` do not. */
function flaky(ran: string[]): Graph {
  let tries = 0;
  const logs = (id: string) => node(id, 'pure', () => (ran.push(id), id));
  return graphOf(
    'g',
    [
      node('bad', 'pure', () => ((tries += 1) === 1 ? throws('once')() : (ran.push('bad'), 'fine')), last),
      logs('after'),
      logs('s1'),
      logs('s2'),
    ],
    edges('> bad', 'bad > after', 'after >', '> s1', 's1 > s2', 's2 >'),
  );
}

describe('G8 fail-last', () => {
  test('all that does not hang on the failed node ends before the run fails, and a resume does only the rest', async () => {
    const ran: string[] = [];
    const graph = flaky(ran);
    const { engine } = createBench();
    const failed = await runToRest(engine, graph, {}, 'r');
    expect(failed).toMatchObject({ status: 'failed', failed: ['bad'], error: { code: 'NODE_FAILED' } });
    expect(ran).toEqual(['s1', 's2']);
    const rest = await resumeToRest(engine, 'r', graph);
    expect(rest.status).toBe('completed');
    expect(ran).toEqual(['s1', 's2', 'bad', 'after']);
    expect(rest.state.failures).toEqual({});
  });

  test('a preview of the resume names the failed node and what hangs on it, and a fork tries them again', async () => {
    const ran: string[] = [];
    const graph = flaky(ran);
    const { engine } = createBench();
    const { seq } = await runToRest(engine, graph, {}, 'r');
    const rows = await engine.preview({ runId: 'r', seq }, { graph });
    const told = rows.map(({ node: path, prediction, because = '' }) =>
      `${path.join('/')} ${prediction} ${because}`.trim(),
    );
    expect(told).toEqual(['s1 restored', 's2 restored', 'bad runs again', 'after unknown bad']);
    const fork = await engine.fork({ runId: 'r', seq }, { graph });
    expect((await resumeToRest(engine, fork.runId, graph)).status).toBe('completed');
    expect(ran).toEqual(['s1', 's2', 'bad', 'after']);
  });

  test('a question is still asked and answered after the failure, in another process too, and then the run fails', async () => {
    const seen: unknown[] = [];
    const graph = graphOf(
      'g',
      [
        node('bad', 'pure', throws('no disk'), last),
        node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?' })),
        node('then', 'pure', ({ state }) => seen.push(state.outputs['ask'])),
      ],
      edges('> bad', 'bad >', '> ask', 'ask > then', 'then >'),
    );
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    expect(paused).toMatchObject({ status: 'paused', failed: ['bad'] });
    const other = afterCrash(bench);
    await other.answer('r', paused.waits[0]!.waitId, 'yes');
    expect(await resumeToRest(other, 'r', graph)).toMatchObject({ status: 'failed', error: { code: 'NODE_FAILED' } });
    expect(seen).toEqual(['yes']);
  });

  test('a question of the failed node itself does not keep the run from failing', async () => {
    const graph = graphOf(
      'g',
      [
        node('bad', 'read', async (ctx) => { await Promise.all([ctx.ask({ prompt: 'Go?' }), ctx.step('s', {}, throws('no'))]); }, last), // prettier-ignore
        node('other', 'pure', () => 1),
      ],
      edges('> bad', 'bad >', '> other', 'other >'),
    );
    expect((await runToRest(createBench().engine, graph)).status).toBe('failed');
  });

  test('a failure of another node that fails the run stops the rest at once', async () => {
    const ran: string[] = [];
    const graph = graphOf(
      'g',
      [
        node('bad', 'pure', throws('kept'), last),
        node('worse', 'pure', throws('at once')),
        node('a', 'read', async () => { await Promise.resolve(); }), // prettier-ignore
        node('b', 'pure', () => ran.push('b')),
      ],
      edges('> bad', 'bad >', '> worse', 'worse >', '> a', 'a > b', 'b >'),
    );
    expect(await runToRest(createBench().engine, graph)).toMatchObject({ status: 'failed', failed: ['bad', 'worse'] });
    expect(ran).toEqual([]);
  });

  test('a join that cancels the failed node takes its failure away', async () => {
    const graph = graphOf(
      'g',
      [
        node('bad', 'pure', throws('no'), last),
        node('good', 'human', (ctx) => ctx.ask({ prompt: 'Go?' })),
        node('first', 'pure', () => 'won', { join: { first: 1, cancelRest: true } }),
      ],
      edges('> bad', '> good', 'bad > first', 'good > first', 'first >'),
    );
    const { engine } = createBench();
    const paused = await runToRest(engine, graph, {}, 'r');
    await engine.answer('r', paused.waits[0]!.waitId, 'yes');
    const ended = await resumeToRest(engine, 'r', graph);
    expect(ended).toMatchObject({ status: 'completed', state: { outputs: { first: 'won' } } });
  });

  test('a child run does the rest before it fails, and a resume opens what failed in it', async () => {
    const ran: string[] = [];
    const child = flaky(ran);
    const outer = graphOf(
      'outer',
      [
        node('call', 'read', async (ctx) => {
          const { status } = await ctx.run(child, {}, { name: 'c' });
          if (status === 'failed') throw new Error('the child failed');
          return status;
        }),
      ],
      edges('> call', 'call >'),
    );
    const { engine } = createBench();
    expect((await runToRest(engine, outer, {}, 'r')).status).toBe('failed');
    expect(ran).toEqual(['s1', 's2']);
    expect((await resumeToRest(engine, 'r', outer)).status).toBe('completed');
    expect(ran).toEqual(['s1', 's2', 'bad', 'after']);
  });

  test('a child run with a question waits for its answer before it fails', async () => {
    const child = graphOf(
      'child',
      [node('bad', 'pure', throws('no'), last), node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?' }))],
      edges('> bad', 'bad >', '> ask', 'ask >'),
    );
    const outer = graphOf(
      'outer',
      [node('call', 'read', async (ctx) => (await ctx.run(child, {}, { name: 'c' })).status)],
      edges('> call', 'call >'),
    );
    const bench = createBench();
    const paused = await runToRest(bench.engine, outer, {}, 'r');
    expect(paused.status).toBe('paused');
    const other = afterCrash(bench);
    await other.answer('r', paused.waits[0]!.waitId, 'yes');
    const ended = await resumeToRest(other, 'r', outer);
    expect([ended.status, ended.state.outputs['call']]).toEqual(['completed', 'failed']);
  });

  test('P1 killed at every point, a run with a failed node, effects beside it and a question ends the same way', async () => {
    const acts = (process: CrashProcess) => async (ctx: NodeContext) => {
      await process.sleep(1);
      process.oracle.apply({ key: ctx.idempotencyKey, place: ctx.nodePath.join('/'), promise: 'once', output: 1 });
      return 1;
    };
    const effect = (process: CrashProcess, id: string, more: object = {}) => {
      const run = acts(process);
      const reconcile = ({ idempotencyKey }: { readonly idempotencyKey: string }): unknown =>
        process.oracle.reconcile(idempotencyKey);
      return node(id, 'external', run, { implementation: { run, reconcile } as never, ...more });
    };
    const inner = (process: CrashProcess): Graph =>
      graphOf(
        'inner',
        [node('bad', 'pure', throws('no'), last), effect(process, 'one'), effect(process, 'two')],
        edges('> bad', 'bad >', '> one', 'one > two', 'two >'),
      );
    const graph = (process: CrashProcess): Graph =>
      graphOf(
        'g',
        [
          node('bad', 'pure', throws('always'), last),
          node('after', 'pure', () => 'never'),
          node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?' })),
          effect(process, 'send'),
          node('call', 'read', async (ctx) => (await ctx.run(inner(process), {}, { name: 'c' })).status),
        ],
        edges('> bad', 'bad > after', 'after >', '> ask', 'ask > send', 'send >', '> call', 'call >'),
      );
    const open = (now: () => number) => ({ store: createMemoryStore({ now }) });
    const report = await crashEverywhere({ graph, input: {}, mayFail: true, answer: () => 'yes' }, { open });
    expect(report.trials).toBeGreaterThan(10);
    expect(report.faults).toEqual([]);
  });
});
