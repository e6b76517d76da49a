/** Secrets that a run has resolved are masked in all that it takes in, whichever node it comes from (N6.4). */
import { expect, test } from 'vitest';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import { NodeFailure, outcome, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { StreamEvent } from '../api.ts';

const long = 'tok+en/"42"\\é';
const secrets = { read: (name: string): string | undefined => ({ LONG: long, SHORT: '1' })[name] };
const masked = '[secret:LONG]';

async function storedOf(bench: Bench, runId: string): Promise<string> {
  const run = await rowOf(bench, runId);
  const rows = await bench.store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: run.head });
  return rows.map(({ body }) => Buffer.from(body).toString()).join('\n');
}

/** `a` resolves the secrets and tells nothing; the nodes after it do. */
function after(name: string, tell: (ctx: NodeContext) => unknown): Graph {
  return graphOf(
    'g',
    [
      node('a', 'read', async (ctx) =>
        (await ctx.secrets.get('LONG')) + (await ctx.secrets.get('SHORT')) ? 'done' : '',
      ),
      { ...node(name, 'read', tell), onFailure: 'continue' },
      node('end', 'pure', () => 'end'),
    ],
    edges('> a', `a > ${name}`, `${name} > end`, 'end >'),
  );
}

const encoded = [
  long,
  JSON.stringify(long).slice(1, -1),
  encodeURIComponent(long),
  Buffer.from(long).toString('hex'),
  Buffer.from(`x${long}yz`).toString('base64'),
  Buffer.from(`xy${long}z`).toString('base64url'),
];

test.each<[string, (ctx: NodeContext) => unknown]>([
  ['an output, in every encoding and as a key', () => ({ texts: encoded, [long]: 1, at: new Map([['k', [long]]]) })],
  ['updates of the state', () => outcome({ scratch: { note: `it is ${long}` } })],
  ['bytes', () => Buffer.from(`\u0000${long}`)],
  [
    'an error, its code, data and cause',
    () => {
      throw new NodeFailure(`refused ${long}`, { data: { seen: [long] }, cause: new Error(long) });
    },
  ],
  [
    'a step and its error',
    async (ctx) => {
      await ctx.step('s', { effect: 'write', input: long }, () => long);
      await ctx.step('t', {}, () => {
        throw new Error(long);
      });
    },
  ],
  [
    'a list, an event and a saved state',
    async (ctx) => {
      await ctx.append('log', [long]);
      ctx.emit({ text: long }, { recorded: true });
      await ctx.save({ at: long });
      return 'x';
    },
  ],
  [
    'the code and the name of an error, and of its cause',
    () => {
      const cause = Object.assign(new Error('x'), { name: `Error of ${long}`, code: long });
      throw Object.assign(new NodeFailure('refused', { code: long, cause }), { name: long });
    },
  ],
  [
    'names: of steps, lists, events, child runs, files and their types',
    async (ctx) => {
      await ctx.step(`pay ${long}`, { effect: 'write' }, () => 1);
      await ctx.append(`log ${long}`, [1]);
      ctx.emit({ at: 1 }, { name: `sent ${long}`, recorded: true });
      await ctx.run(graphOf('child', [node('c', 'pure', () => 1)], edges('> c', 'c >')), {}, { name: `run ${long}` });
      await ctx.step(`pay ${long}`, { effect: 'write' }, () => 2);
      return ctx.files.put(Buffer.from('x'), { name: `${long}.txt`, type: `text/x; p=${long}` });
    },
  ],
  ['the name of a question', (ctx) => ctx.ask({ name: `ask ${long}`, prompt: '?' })],
  ['the name of a sleep', (ctx) => ctx.sleepUntil(4e12, `until ${long}`)],
  ['a question', (ctx) => ctx.ask({ prompt: `Is it ${long}?`, metadata: { long }, choices: [long, 'no'] })],
])(
  'N6.4 a secret of 8 or more characters is masked in %s of another node, and in nothing that is stored',
  async (_, tell) => {
    const bench = createBench({ secrets });
    const graph = after('b', tell);
    const result = await runToRest(bench.engine, graph, {}, 'r');
    const core = Buffer.from(`x${long}`).toString('base64').slice(2, 14);
    const all = `${await storedOf(bench, 'r')} ${JSON.stringify(result)} ${String(result.state.failures['b']?.message)}`;
    for (const form of [...encoded.slice(0, 4), core]) expect(all).not.toContain(form);
    expect(all).not.toContain(JSON.stringify(JSON.stringify(long).slice(1, -1)).slice(1, -1));
  },
);

test('N6.4 short secrets, and texts before the first secret is resolved, are left as they are', async () => {
  const bench = createBench({ secrets });
  const graph = after('b', () => ({ n: 11, text: '1 and 111', kept: 12_345_678 }));
  const { state } = await runToRest(bench.engine, graph, { given: long }, 'r');
  expect(state.outputs['b']).toEqual({ n: 11, text: '1 and 111', kept: 12_345_678 });
  expect(state.input).toEqual({ given: long });
});

test('N6.4 events that last no longer than the run are masked too', async () => {
  const bench = createBench({ secrets });
  const graph = after('b', (ctx) => {
    ctx.emit({ kind: 'log', text: `<${long}>` });
    return 'x';
  });
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const seen: StreamEvent[] = [];
  for await (const event of handle.events({ live: true })) seen.push(event);
  expect(seen.find(({ type }) => type === 'emitted')).toMatchObject({ detail: { kind: 'log', text: `<${masked}>` } });
  expect(JSON.stringify(seen)).not.toContain('42');
});

test('N6.4 names of spans are masked', async () => {
  const names: string[] = [];
  const telemetry = {
    startSpan: (name: string) => {
      names.push(name);
      return { end: () => undefined };
    },
    count: () => undefined,
  };
  const bench = createBench({ secrets, telemetry });
  const graph = after('b', (ctx) => {
    ctx.trace(`outer ${long}`)?.trace(`inner ${long}`)?.end();
    return 'x';
  });
  await runToRest(bench.engine, graph, {}, 'r');
  expect(names).toEqual(expect.arrayContaining([`outer ${masked}`, `inner ${masked}`]));
  expect(names.join()).not.toContain(long);
});

test('N6.4 answers and signals that hold one are masked when the run takes them', async () => {
  const bench = createBench({ secrets });
  const graph = after('b', (ctx) => ctx.ask({ prompt: '?' }));
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', { said: long });
  const { state } = await resumeToRest(bench.engine, 'r', graph);
  expect(state.outputs['b']).toEqual({ said: masked });
  // The recorded answer too, not only what the node made of it.
  expect(await storedOf(bench, 'r')).not.toContain(JSON.stringify(long).slice(1, -1));
});

test.each<[string, unknown]>([
  ['a set', new Set([long])],
  [
    'an error with its data and cause',
    Object.assign(new Error('x', { cause: new Error(long) }), { data: { seen: [long] } }),
  ],
  ['a URL', new URL('https://example.org/?k=hunter2-planted')],
  ['a number', 1_234_567_890],
])('N6.4 an answer that holds one in %s is masked too', async (_, answer) => {
  const bench = createBench({
    secrets: { read: (name) => ({ LONG: long, SHORT: '1', URL: 'hunter2-planted', NUMBER: '1234567890' })[name] },
  });
  const graph = after('b', async (ctx) => {
    for (const name of ['URL', 'NUMBER']) await ctx.secrets.get(name);
    return ctx.ask({ prompt: '?' });
  });
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', answer);
  await resumeToRest(bench.engine, 'r', graph);
  const stored = await storedOf(bench, 'r');
  for (const planted of [JSON.stringify(long).slice(1, -1), 'hunter2-planted', '1234567890'])
    expect(stored).not.toContain(planted);
  expect(stored).toContain('[secret:');
});

/** Tells the secret in steps, a list and an output, before it has asked for it and after. */
function leaking(effects: string[]): Graph {
  return graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await ctx.step('early', { effect: 'write', idempotent: true, input: long }, ({ idempotencyKey }) => {
          effects.push(idempotencyKey);
          return `early ${long}`;
        });
        await ctx.append('log', [`early ${long}`]);
        const value = await ctx.secrets.get('LONG');
        const late = await ctx.step(
          'late',
          { effect: 'write', idempotent: true, input: { value } },
          ({ idempotencyKey }) => {
            effects.push(idempotencyKey);
            return [`late ${value}`];
          },
        );
        await ctx.append('log', late);
        return { late, steps: 2 };
      }),
      node('b', 'pure', ({ state }) => [state.outputs['a'], `b ${long}`]),
    ],
    edges('> a', 'a > b', 'b >'),
  );
}

test('N6.4 a run that is killed at any commit ends as one that is not: the same values, the same keys of effects', async () => {
  const whole: string[] = [];
  const bench = createBench({ secrets });
  const undisturbed = await runToRest(bench.engine, leaking(whole), {}, 'r');
  expect(undisturbed.state.outputs['b']).toEqual([{ late: [`late ${masked}`], steps: 2 }, `b ${masked}`]);
  const { head } = await rowOf(bench, 'r');
  expect(head).toBeGreaterThan(2);
  for (let commits = 0; commits < head; commits += 1) {
    const killed = createBench({ secrets });
    const effects: string[] = [];
    const start = dyingEngine(killed, commits).start(leaking(effects), {}, { runId: 'r' });
    await settleDown();
    await start;
    const { status, state } = await resumeToRest(afterCrash(killed), 'r', leaking(effects));
    expect([commits, status, state.outputs]).toEqual([commits, 'completed', undisturbed.state.outputs]);
    expect([commits, [...new Set(effects)]]).toEqual([commits, whole]);
  }
});

test('N6.4 a call that was recorded under a name before the run knew the secret in it is found there, whenever the run is killed', async () => {
  const early = (effects: string[]): Graph =>
    graphOf(
      'g',
      [
        node('a', 'read', async (ctx) => {
          for (const part of ['before', 'after']) {
            await ctx.step(`pay ${long}`, { effect: 'write', idempotent: true }, ({ idempotencyKey }) =>
              effects.push(idempotencyKey),
            );
            await ctx.append(`log ${long}`, [part]);
            if (part === 'before') await ctx.secrets.get('LONG');
          }
          return ctx.list(`log ${long}`);
        }),
      ],
      edges('> a', 'a >'),
    );
  const whole: string[] = [];
  const bench = createBench({ secrets });
  expect((await runToRest(bench.engine, early(whole), {}, 'r')).state.outputs['a']).toEqual(['before', 'after']);
  const { head } = await rowOf(bench, 'r');
  for (let commits = 0; commits < head; commits += 1) {
    const killed = createBench({ secrets });
    const effects: string[] = [];
    const start = dyingEngine(killed, commits).start(early(effects), {}, { runId: 'r' });
    await settleDown();
    await start;
    const { state } = await resumeToRest(afterCrash(killed), 'r', early(effects));
    expect([commits, state.outputs['a'], [...new Set(effects)]]).toEqual([commits, ['before', 'after'], whole]);
  }
});

test('N6.4 a fork takes over what its original recorded, and masks what it masked', async () => {
  const effects: string[] = [];
  const bench = createBench({ secrets });
  const { seq } = await runToRest(bench.engine, leaking(effects), {}, 'r');
  const calls = effects.length;
  const fork = await bench.engine.fork({ runId: 'r', seq });
  const { state } = await resumeToRest(bench.engine, fork.runId, leaking(effects));
  expect(state.outputs['b']).toEqual([{ late: [`late ${masked}`], steps: 2 }, `b ${masked}`]);
  expect(effects).toHaveLength(calls);
});
