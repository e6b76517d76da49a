/** Routing decisions that a fork's patch touches, where edges lead back or to the end (H2, X5). */
import { describe, expect, test } from 'vitest';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
} from '../../../test/engine-kit.ts';
import { END, type EdgeDefinition } from '../../graph/graph.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';

/** An edge that is taken while a channel says so. */
function when(from: string, to: string, channel: string, value = true): EdgeDefinition {
  const evaluate = ({ state }: { state: { scratch: Readonly<Record<string, unknown>> } }): boolean =>
    (state.scratch[channel] === true) === value;
  return { from, to, condition: { text: `${channel} is ${value}`, evaluate } };
}

/** What ran in a fork of the run, made at the checkpoint of a node, where `more` is set. */
async function forkAt(settled: string, definition: readonly EdgeDefinition[]): Promise<readonly string[]> {
  const calls: string[] = [];
  const ids = [...new Set(definition.flatMap(({ from, to }) => [from, to]))].filter((id) => !id.startsWith('__'));
  const nodes = ids.map((id) =>
    // A new round takes the wish for it back, so that there is one more and no further.
    node(
      id,
      'pure',
      () => (calls.push(id), outcome({ output: id, ...(id === 'work' ? { scratch: { more: false } } : {}) })),
    ),
  );
  const graph = graphOf('g', nodes, definition);
  const { engine } = createBench({ findGraph: async () => graph });
  const { runId } = await runToRest(engine, graph);
  const seq = (await changesOf(engine, runId)).findIndex((change) => change.includes(`settle ${settled}`));
  const patch = { set: [{ path: ['scratch', 'more'], value: true }] };
  const preview = await engine.preview({ runId, seq }, { ...patch, graph });
  const fork = await engine.fork({ runId, seq }, patch);
  calls.length = 0;
  const from = (await changesOf(engine, fork.runId)).length;
  expect(await resumeToRest(engine, fork.runId, graph)).toMatchObject({ status: 'completed' });
  const did = (await changesOf(engine, fork.runId)).slice(from).flatMap((change) => change.split(' + '));
  const told = preview.filter(({ prediction }) => prediction !== 'restored');
  const idsOf = (rows: typeof preview): readonly string[] => rows.flatMap(({ node: [id] }) => id ?? []);
  const places = did.flatMap((part) => /^(?:settle|replay) (.+)$/.exec(part)?.[1] ?? []);
  expect(idsOf(told)).toEqual(expect.arrayContaining(places));
  expect(places).toEqual(expect.arrayContaining([...idsOf(told.filter(({ prediction }) => prediction !== 'unknown'))]));
  return calls;
}

const loop = [...edges('> work', 'work > check'), when('check', 'work', 'more')];

describe('H2 a patch sends a loop round once more, as the preview says', () => {
  test('whose exit led to a node that has not begun', async () => {
    const calls = await forkAt('check', [...loop, when('check', 'out', 'more', false), ...edges('out >')]);
    expect(calls.slice(0, 2)).toEqual(['work', 'check']);
  });

  test('whose exit led to the end, where nothing begins', async () => {
    expect(await forkAt('check', [...loop, when('check', END, 'more', false)])).toEqual(['work', 'check']);
  });

  test('whose exit leaves another node', async () => {
    const calls = await forkAt('check', [...loop, ...edges('work > out', 'out >')]);
    expect(calls.slice(0, 2)).toEqual(['work', 'check']);
  });

  test('inside another loop', async () => {
    const around = [...edges('> first', 'first > work', 'work > check', 'check > last'), when('check', 'work', 'more')];
    const calls = await forkAt('check', [...around, when('last', 'first', 'never'), ...edges('last >')]);
    expect(calls.slice(0, 2)).toEqual(['work', 'check']);
  });
});

describe('H2 a loop is not gone round again once what follows it has begun', () => {
  test('over its own exit', async () => {
    const calls = await forkAt('out', [...loop, ...edges('work > out', 'out > last', 'last >')]);
    expect(calls).not.toContain('work');
  });

  test('over an exit of a loop around it', async () => {
    const around = [...edges('> first', 'first > work', 'work > check', 'check > last'), when('check', 'work', 'more')];
    const rest = [when('last', 'first', 'never'), ...edges('first > out', 'out > after', 'after >')];
    expect(await forkAt('out', [...around, ...rest])).not.toContain('work');
  });
});

test.each(['all', 'first'] as const)(
  'H2 a round that a patch opened is on record: after a crash in it nothing of it runs again (routing %s)',
  async (routing) => {
    const calls: string[] = [];
    let visits = 0;
    const work = node('work', 'external', () => (calls.push('work'), outcome({ scratch: { more: false } })));
    const check = node('check', 'pure', async () => {
      calls.push('check');
      visits += 1;
      if (visits === 2) await new Promise(() => undefined);
    });
    const graph = graphOf(
      'g',
      [work, check, node('out', 'pure', () => calls.push('out'))],
      [...loop, when('check', 'out', 'more', false), ...edges('out >')],
      { policies: { routing } },
    );
    const bench = createBench({ findGraph: async () => graph });
    const { runId } = await runToRest(bench.engine, graph);
    const at = (await changesOf(bench.engine, runId)).findIndex((change) => change.includes('settle check'));
    const fork = await bench.engine.fork({ runId, seq: at }, { set: [{ path: ['scratch', 'more'], value: true }] });
    await bench.engine.resume(fork.runId, { graph });
    await expect.poll(() => visits).toBe(2);
    calls.length = 0;
    const resumed = await resumeToRest(afterCrash(bench), fork.runId, graph);
    expect([resumed.status, calls]).toEqual(['completed', ['check']]);
  },
);
