/** Functions may throw anything. Wherever one does, the run goes on or fails as it would with an error, and what was thrown can be read. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { hookTool } from '../../src/agents/stage/tool-hooks.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import type { StageHandler } from '../../src/dialects/dot/index.ts';
import { NodeFailure, outcome, type NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { reasonOf } from '../../src/errors.ts';
import type { EdgeDefinition } from '../../src/graph/graph.ts';
import { agentKit } from '../agents/agent-kit.ts';
import { digraph, runDot } from '../dot-kit.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const cycle: Record<string, unknown> = { code: 'ROUND' };
cycle['self'] = cycle;
class Refusal {
  readonly status = 401;
}
const caused = (cause: unknown): Error => Object.assign(new Error('no room', { cause }), { code: 'FULL' });
const selfCaused = caused(undefined);
selfCaused.cause = selfCaused;

const throws = (value: unknown) => (): never => {
  throw value;
};

/** A proxy of which nothing can be read. @param told - thrown by each access; default: the proxy itself */
function closed(told?: Error): object {
  const trap = (): never => {
    throw told ?? proxy;
  };
  const traps = ['get', 'set', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'defineProperty'];
  const proxy: object = new Proxy({}, Object.fromEntries(traps.map((name) => [name, trap])));
  return proxy;
}
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
function withGetters(): Error {
  const get = throws(new Error('not to be read'));
  const keys = ['name', 'code', 'cause', 'data', 'stack', 'applied', 'retryAfterMs'];
  return Object.defineProperties(
    new Error('no room'),
    Object.fromEntries(keys.map((key) => [key, { get, enumerable: true }])),
  );
}

/** What is thrown, what is said of it, and the code that it carries. */
const thrown: readonly (readonly [name: string, value: unknown, said: string, code: string | undefined])[] = [
  ['a text', 'no room', 'no room', undefined],
  ['an empty text', '', 'thrown: an empty text', undefined],
  ['nothing', undefined, 'thrown: undefined', undefined],
  ['null', null, 'thrown: null', undefined],
  ['a number', 0, 'thrown: 0', undefined],
  ['a symbol', Symbol('x'), 'thrown: Symbol(x)', undefined],
  ['a plain object', { code: 'FULL', at: [1] }, 'thrown: {"code":"FULL","at":[1]}', 'FULL'],
  ['an object with a message', { message: 'no room', status: 507 }, 'no room', undefined],
  ['an instance', new Refusal(), 'thrown: {"status":401}', undefined],
  ['a cycle', cycle, 'thrown: a value of type object', 'ROUND'],
  ['a function', () => 1, 'thrown: () => 1', undefined],
  ['a big integer within', { n: 1n }, 'thrown: a value of type object', undefined],
  ['an error without a message', new RangeError(), 'RangeError', undefined],
  [
    'an error of several',
    Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
    'AggregateError ECONNREFUSED',
    'ECONNREFUSED',
  ],
  ['a frozen error', Object.freeze(caused('y')), 'no room', 'FULL'],
  ['an error that is its own cause', selfCaused, 'no room', 'FULL'],
  ['an error with a cause that cannot be stored', caused(cycle), 'no room', 'FULL'],
  ['an error of another realm', runInNewContext('new Error("no room")'), 'no room', undefined],
  [
    'a failure with data that cannot be stored',
    new NodeFailure('no room', { code: 'FULL', data: { at: () => 1 } }),
    'no room',
    'FULL',
  ],
  ['a proxy whose every access throws', closed(new Error('no')), 'thrown: a value of type object', undefined],
  ['a proxy whose every access throws itself', closed(), 'thrown: a value of type object', undefined],
  ['a proxy that was revoked', revoked(), 'thrown: a value of type object', undefined],
  ['an error of which only the message can be read', withGetters(), 'no room', undefined],
  ['an error with a cause that cannot be read', caused(closed()), 'no room', 'FULL'],
  ['an error with data that cannot be read', Object.assign(caused('y'), { data: revoked() }), 'no room', 'FULL'],
];

describe.each(thrown.map(([name], index) => [name, index] as const))('V10 %s', (_, index) => {
  // A runner reads the values of a table, and some of these cannot be read.
  const [, value, said, code] = thrown[index] as (typeof thrown)[number];
  const told = (error: unknown): readonly unknown[] => [reasonOf(error), (error as { readonly code?: unknown }).code];
  /** What is on record says the same as what was told first. */
  async function failedWith(run: (ctx: NodeContext) => unknown): Promise<void> {
    const bench = createBench();
    const graph = graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
    const failed = await runToRest(bench.engine, graph, {}, 'r');
    expect([failed.status, ...told(failed.error?.cause)]).toEqual(['failed', said, code]);
    expect(failed.error?.message).toContain(said);
    const engine = afterCrash(bench);
    engine.know(graph);
    const { error } = await engine.inspect('r');
    expect(told(error?.cause)).toEqual([said, code]);
  }

  test('V10 thrown by a node’s function fails it, and so does what it says that it failed with', async () => {
    await failedWith(throws(value));
    await failedWith(async () => throws(value)());
    await failedWith((ctx) => ctx.fail(value));
  });

  test('V10 thrown by a model, or by what says whether a call is asked about', async () => {
    const models = { generate: throws(value) };
    const asked = agentKit([], {}, { models });
    const failed = await runToRest(asked.bench.engine, asked.graph);
    expect(told(failed.error?.cause)).toEqual([said, code]);
    const acts = tool({ description: 'Acts.', input: { type: 'object' }, approval: throws(value), run: () => 1 });
    const acting = agentKit([{ calls: [{ tool: 'acts' }] }, 'Done.'], { tools: { acts } });
    const ended = await runToRest(acting.bench.engine, acting.graph);
    expect(told(ended.error?.cause)).toEqual([said, code]);
  });

  test('V10 thrown in a step is what the function catches, at once and from the record', async () => {
    await failedWith((ctx) => ctx.step('s', {}, throws(value)));
    const caught: unknown[] = [];
    let isDown = true;
    const run = async (ctx: NodeContext): Promise<void> => {
      await ctx
        .step('s', { effect: 'read', retry: { attempts: 2, on: ['OTHER'] } }, throws(value))
        .catch((error: unknown) => caught.push(error));
      if (isDown) throw new Error('not yet');
    };
    const bench = createBench();
    const graph = graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
    await runToRest(bench.engine, graph, {}, 'r');
    isDown = false;
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('completed');
    expect(caught.map(told)).toEqual([
      [said, code],
      [said, code],
    ]);
  });

  test.each([{ effect: 'read' }, { composed: true }])('A5 thrown by a tool %j is told to the model', async (more) => {
    const gives = tool({
      description: 'Gives.',
      input: { type: 'object' },
      run: throws(value),
      ...more,
    } as FunctionTool);
    const { bench, models, graph } = agentKit([{ calls: [{ tool: 'gives' }] }, 'Done.'], { tools: { gives } });
    expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'Done.' });
    expect(models.requests[1]?.messages.at(-1)?.content).toMatchObject([
      { output: `gives failed: ${said}`, isError: true },
    ]);
  });

  test('V10 thrown by a condition or a reducer is its failure, by name', async () => {
    const conditional = {
      from: 'a',
      to: 'b',
      condition: { text: 'x', evaluate: throws(value) },
    } as unknown as EdgeDefinition;
    const nodes = [node('a', 'pure', () => 1), node('b', 'pure', () => 1)];
    const graph = graphOf('g', nodes, [...edges('> a', 'b >'), conditional]);
    const failed = await runToRest(createBench().engine, graph);
    expect(failed.error?.cause).toMatchObject({ code: 'CONDITION_FAILED', data: { reason: said } });

    const gives = node('a', 'pure', () => outcome({ scratch: { x: 1 } }));
    const reducers = { 'scratch.x': { name: 'mine', reduce: throws(value) } };
    const reduced = await runToRest(createBench().engine, graphOf('g', [gives], edges('> a', 'a >'), { reducers }));
    expect(reduced.error?.cause).toMatchObject({ code: 'REDUCER_FAILED', data: { reason: said } });
  });

  test('DOT6 thrown by the handler of a stage is the reason why it failed', async () => {
    const handler: StageHandler = { effect: 'read', run: throws(value) };
    const { result, history } = await runDot(
      digraph(
        'start -> a\na -> b [condition="outcome=fail"]\na -> exit [condition="outcome=success"]\nb -> exit\na [type=own]\nb [prompt=x]',
      ),
      { handlers: { own: handler } },
    );
    expect([result.status, history.slice(0, 3)]).toEqual(['completed', ['start', 'a: fail', 'b']]);
    expect(JSON.stringify(result.state)).toContain(JSON.stringify(said).slice(1, -1));
  });
});

test.each([() => closed(new Error('no')), () => closed(), revoked])(
  'V10 a value that cannot be read is refused where it is given back, and other runs go on: %#',
  async (make) => {
    const { engine } = createBench();
    const gives: readonly ((ctx: NodeContext) => unknown)[] = [
      make,
      async () => [make()],
      (ctx) => ctx.step('s', {}, make),
      (ctx) => ctx.step('s', {}, () => ({ made: make() })),
      () => outcome({ scratch: { made: make() } }),
      () => outcome(make()),
      (ctx) => ctx.ask(make() as never),
      (ctx) => ctx.emit(make(), { recorded: true }),
    ];
    for (const run of gives) {
      const graph = graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
      const { status, error } = await runToRest(engine, graph);
      expect([status, error?.message]).toEqual(['failed', expect.stringMatching(/^node a failed: ./u)]);
    }
    const whole = graphOf('whole', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
    expect((await runToRest(engine, whole)).status).toBe('completed');
  },
);

test('DOT24 what a tool throws that is no error reaches the hook behind it, and the model', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-'));
  const log = join(folder, 'log');
  const fails = tool({ description: 'Fails.', input: { type: 'object' }, effect: 'read', run: throws(undefined) });
  const gives = hookTool('gives', fails, { post: 'cat > "$LOG"', env: { LOG: log } });
  const { bench, models, graph } = agentKit([{ calls: [{ tool: 'gives' }] }, 'Done.'], { tools: { gives } });
  expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'Done.' });
  expect(JSON.parse(readFileSync(log, 'utf8'))).toMatchObject({ hook: 'post', error: 'thrown: undefined' });
  expect(models.requests[1]?.messages.at(-1)?.content).toMatchObject([{ output: 'gives failed: thrown: undefined' }]);
  rmSync(folder, { recursive: true });
});
