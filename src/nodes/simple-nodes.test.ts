/** Function, tool, human, router, guardrail and subgraph nodes. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CairnError } from '../errors.ts';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import { compileChoice } from '../graph/expression/expression.ts';
import { END, START, type ConditionScope, type Graph } from '../graph/graph.ts';
import { Outcome, type NodeFailure, type OutcomeParts } from '../graph/contracts/node-contract.ts';
import { createFakeContext, createStateView, type FakeContextOptions } from '../testing/node-suite/fake-context.ts';
import {
  functionNode,
  guardrailNode,
  humanNode,
  routerNode,
  subgraphNode,
  toolNode,
  type NodeDraft,
} from './builders.ts';
import { guardrailViolated, type Tool } from './index.ts';

const run = async (draft: NodeDraft, options: FakeContextOptions = {}): Promise<unknown> =>
  draft.implementation.run(createFakeContext(options));
const failureOf = (draft: NodeDraft, options: FakeContextOptions = {}): Promise<NodeFailure> =>
  run(draft, options).then(
    (value) => Promise.reject(new Error(`completed with ${JSON.stringify(value)}`)),
    (error: unknown) => error as NodeFailure,
  );
const partsOf = (value: unknown): OutcomeParts => {
  expect(value).toBeInstanceOf(Outcome);
  return (value as Outcome).parts;
};
const graphOf = (draft: NodeDraft): Graph =>
  compileGraph({
    id: 'child',
    nodes: [{ ...draft, id: 'only' }],
    edges: [
      { from: START, to: 'only' },
      { from: 'only', to: END },
    ],
  });

test('G2 every option reaches the draft, and options win over the builder', () => {
  const tool: Tool = { name: 't', effectClass: 'read', execute: () => 1 };
  const options = {
    effectClass: 'write',
    version: '7',
    reads: ['scratch.a'],
    join: 'all',
    retry: { attempts: 4 },
    timeoutMs: 9,
    onFailure: 'continue',
    checkpoint: 'both',
    idempotent: true,
    maxVisits: 3,
    outputAs: 'x',
  } as const;
  const {
    implementation: _,
    config: __,
    effect,
    ...rest
  } = toolNode(tool, { timeoutMs: 5, retry: { attempts: 2 } }, options);
  const { effectClass, ...given } = options;
  expect(rest).toEqual({ type: 'tool', ...given });
  expect(effect).toBe(effectClass);
  expect(toolNode(tool).effect).toBe('read');
  expect(toolNode(tool, { timeoutMs: 5, retry: { attempts: 2 } })).toMatchObject({
    timeoutMs: 5,
    retry: { attempts: 2 },
  });
});

test('G2 `when` as a function becomes a condition that is known by its name', () => {
  const isLarge = ({ state }: ConditionScope): boolean => (state.scratch['size'] as number) > 3;
  const { when } = functionNode(() => 1, { when: isLarge });
  const scope = (size: number): ConditionScope => ({
    outcome: { status: 'completed', output: 1, error: undefined },
    state: createStateView({ scratch: { size } }),
  });
  expect(when?.text).toBe('isLarge');
  expect([when?.evaluate(scope(4)), when?.evaluate(scope(3))]).toEqual([true, false]);
});

test('G9 an option that no builder knows is refused where it is written', () => {
  const misspelt = { prompt: 'p', timeout: 5 } as never;
  expect(() => humanNode(misspelt)).toThrow(/knows no option "timeout"/);
  expect(() => graphOf(functionNode(() => 1, { efectClass: 'pure' } as never))).toThrow(/efectClass/);
});

test('X a function is pure unless it says otherwise, and is started directly', () => {
  const draft = functionNode((ctx) => ctx.visit + 1);
  expect(draft.effect).toBe('pure');
  expect(draft.implementation.run(createFakeContext())).toBe(2);
});

test('P6 a missing function or tool is refused when the graph is written', () => {
  expect(() => functionNode(undefined as never)).toThrow(CairnError);
  expect(() => toolNode(undefined as never)).toThrow(/or a tool's name; got undefined/);
  expect(() => toolNode('')).toThrow(/the name is empty/);
  expect(() => toolNode({ name: 'x' } as never)).toThrow(/tool 'x' has no execute/);
  expect(() => toolNode({ name: '', execute: () => 1 })).toThrow(CairnError);
  expect(() => routerNode(undefined as never)).toThrow(CairnError);
  expect(() => subgraphNode({} as never)).toThrow(CairnError);
});

test('X1 a tool gets its arguments from the state, and the key of the activation', async () => {
  const calls: unknown[] = [];
  const tool: Tool = {
    name: 'send',
    execute: (args, { idempotencyKey, attempt, signal }) =>
      calls.push({ args, idempotencyKey, attempt, isAborted: signal.aborted }),
  };
  const draft = toolNode(tool, {
    args: { to: ({ state }: { state: { input: unknown } }) => state.input, subject: 'hello' },
  });
  await run(draft, { state: { input: 'ada' }, idempotencyKey: 'k', attempt: 3 });
  await run(toolNode(tool, { args: ({ state }) => state.scratch['all'] }), { state: { scratch: { all: [1, 2] } } });
  expect(calls[0]).toEqual({
    args: { to: 'ada', subject: 'hello' },
    idempotencyKey: 'k',
    attempt: 3,
    isAborted: false,
  });
  expect(calls[1]).toMatchObject({ args: [1, 2] });
  expect(draft.config).toEqual({ tool: 'send', args: { to: '(computed)', subject: 'hello' } });
  expect(draft.effect).toBe('external');
});

test('X3 arguments that miss the schema of a tool fail before it is called', async () => {
  const calls: unknown[] = [];
  const tool: Tool<{ n: number; unit: string }> = {
    name: 'scale',
    schema: z.object({ n: z.number(), unit: z.string().default('kg') }),
    execute: (args) => calls.push(args),
  };
  const failure = await failureOf(toolNode(tool, { args: { n: 'one' } }));
  expect(failure).toMatchObject({ code: 'INPUT_INVALID', applied: 'no' });
  expect(failure.message).toContain('n:');
  expect(calls).toEqual([]);
  await run(toolNode(tool, { args: { n: 1 } }));
  expect(calls).toEqual([{ n: 1, unit: 'kg' }]);
});

test('X3 a tool that can tell whether its effect happened is asked with the arguments it was called with', async () => {
  const tool: Tool<{ id: number }> = {
    name: 'pay',
    execute: () => 'paid',
    reconcile: ({ idempotencyKey, args }) => ({ happened: true, output: [idempotencyKey, args.id] }),
  };
  const { reconcile } = toolNode(tool, {
    args: { id: ({ state }: { state: { input: unknown } }) => state.input },
  }).implementation;
  const signal = new AbortController().signal;
  const told = await reconcile?.({ idempotencyKey: 'k', config: {}, state: createStateView({ input: 4 }), signal });
  expect(told).toEqual({ happened: true, output: ['k', 4] });
  expect(toolNode({ name: 't', execute: () => 1 }).implementation.reconcile).toBeUndefined();
});

test('W1 a human node asks what its configuration says, with texts from the state', async () => {
  const draft = humanNode(
    {
      prompt: ({ state }) => `Publish ${String(state.scratch['title'])}?`,
      choices: ['yes', { value: 2, label: 'later' }],
      metadata: { diff: ({ state }: { state: { input: unknown } }) => state.input },
      audience: 'user',
      timeoutMs: 1_000,
      defaultAnswer: 'yes',
      outputAs: 'decision',
    },
    { checkpoint: 'after' },
  );
  const ctx = createFakeContext({
    state: { input: 'd', scratch: { title: 'v1' } },
    answers: { question: ['yes'] },
    now: () => 50,
  });
  expect(await draft.implementation.run(ctx)).toBe('yes');
  expect(ctx.record.questions).toEqual([
    {
      prompt: 'Publish v1?',
      choices: ['yes', { value: 2, label: 'later' }],
      metadata: { diff: 'd' },
      audience: 'user',
      timeoutMs: 1_000,
      defaultAnswer: 'yes',
    },
  ]);
  expect(draft).toMatchObject({ type: 'human', effect: 'human', outputAs: 'decision', checkpoint: 'after' });
});

test('W5 what a timeout means: accept, reject, or a failure for want of an answer', async () => {
  const asked = async (onTimeout?: 'accept' | 'reject' | 'error'): Promise<unknown> => {
    const ctx = createFakeContext({ answers: { question: [1] } });
    await humanNode({ prompt: 'p', deadlineAt: 5, ...(onTimeout && { onTimeout }) }).implementation.run(ctx);
    return ctx.record.questions[0];
  };
  expect(await asked('accept')).toMatchObject({
    deadlineAt: 5,
    defaultAnswer: { approved: true, decidedBy: 'timeout-accept' },
  });
  expect(await asked('reject')).toMatchObject({ defaultAnswer: { approved: false, decidedBy: 'timeout-reject' } });
  expect(await asked('error')).not.toHaveProperty('defaultAnswer');
  expect(await asked()).not.toHaveProperty('defaultAnswer');
  const ctx = createFakeContext({ answers: { question: [1] } });
  await humanNode({ prompt: 'p', deadlineAt: 5, defaultAnswer: null }).implementation.run(ctx);
  expect(ctx.record.questions[0]).toHaveProperty('defaultAnswer', null);
});

test('W3 rehearsals and policies answer without asking, and say so', async () => {
  const ctx = createFakeContext({ state: { scratch: { risk: 1 } } });
  const answer = async (config: object): Promise<unknown> =>
    humanNode({ prompt: 'p', ...config }).implementation.run(ctx);
  expect(await answer({ autoAccept: true })).toEqual({ approved: true, decidedBy: 'auto-accept' });
  expect(await answer({ autoReject: 'not today' })).toEqual({
    approved: false,
    reason: 'not today',
    decidedBy: 'auto-reject',
  });
  expect(
    await answer({ policy: ({ state }: { state: { scratch: { risk: number } } }) => state.scratch.risk < 2 }),
  ).toBe(true);
  // It is a recorded step: a policy that changes its mind must not change a run's past.
  expect(ctx.record.steps.map(({ name, options }) => [name, options.effect])).toEqual([['policy', 'read']]);
  expect(ctx.record.questions).toEqual([]);
});

test('W3 a policy without an opinion leaves the question to a person, and is held to the choices', async () => {
  const silent = humanNode({ prompt: 'p', choices: ['a'], policy: () => undefined });
  expect(await run(silent, { answers: { question: ['a'] } })).toBe('a');
  expect(await failureOf(humanNode({ prompt: 'p', choices: ['a'], policy: () => 'b' }))).toMatchObject({
    code: 'ANSWER_INVALID',
  });
});

test('G9 a human node that contradicts itself is refused', () => {
  const bad: readonly [object, RegExp][] = [
    [{ prompt: 5 }, /prompt/],
    [{ prompt: 'p', timeoutMs: 1, deadlineAt: 1 }, /not both/],
    [{ prompt: 'p', schema: { type: 'string', pattern: '(' } }, /no regular expression/],
    [{ prompt: 'p', schema: { type: 'strin' } }, /type is none of/],
    [{ prompt: 'p', schema: { type: 'string', foo: 1 } }, /keyword "foo"/],
    [{ prompt: 'p', choices: [] }, /choices is empty/],
    [{ prompt: 'p', onTimeout: 'accept' }, /need timeoutMs/],
    [{ prompt: 'p', defaultAnswer: 1 }, /need timeoutMs/],
    [{ prompt: 'p', timeoutMs: 1, onTimeout: 'accept', defaultAnswer: 1 }, /not both/],
    [{ prompt: 'p', timeoutMs: 1, onTimeout: 'accept', choices: ['a'] }, /give defaultAnswer/],
    [{ prompt: 'p', autoAccept: true, autoReject: true }, /not both/],
  ];
  for (const [config, reason] of bad) expect(() => humanNode(config as never)).toThrow(reason);
});

test('G3 a router fires the edges to the targets it names, and no others', async () => {
  const draft = routerNode(({ state }) => state.scratch['next'] as string, { targets: ['a', 'b'] });
  const routed = async (next: unknown): Promise<OutcomeParts> =>
    partsOf(await run(draft, { state: { scratch: { next } } }));
  expect(await routed('a')).toEqual({ goto: 'a', output: 'a' });
  expect(await routed(['a', 'b'])).toEqual({ goto: ['a', 'b'], output: ['a', 'b'] });
  for (const next of ['c', undefined, 5, ['a', 'c']]) {
    expect(await failureOf(draft, { state: { scratch: { next } } })).toMatchObject({ code: 'ROUTE_UNKNOWN' });
  }
});

test('G6 a router can be an expression, which is parsed when the graph is written', async () => {
  const text = 'scratch.score > 3 ? "good" : "poor"';
  const draft = routerNode(compileChoice(text), { targets: ['good', 'poor'] });
  const routed = async (score: unknown): Promise<OutcomeParts> =>
    partsOf(await run(draft, { state: { scratch: { score } } }));
  expect([(await routed(4)).goto, (await routed(3)).goto]).toEqual(['good', 'poor']);
  expect(draft.config).toEqual({ route: text, targets: ['good', 'poor'] });
  expect(partsOf(await run(routerNode(compileChoice('["a", input]')), { state: { input: 'b' } })).goto).toEqual([
    'a',
    'b',
  ]);
  for (const bad of ['scratch.', 'nonsense', '1 < 2', '5'])
    expect(() => compileChoice(bad)).toThrow(/cannot be parsed/);
  for (const late of ['input', 'scratch.missing', '[1]']) {
    await expect(run(routerNode(compileChoice(late)), { state: { input: 5 } })).rejects.toMatchObject({
      code: 'CONDITION_FAILED',
    });
  }
});

test('G8 a guardrail blocks, reroutes, warns or mends', async () => {
  const finding = { passed: false, reason: 'rude', sanitized: { scratch: { draft: 'polite' } } };
  const check = ({ state }: { state: { input: unknown } }): boolean | typeof finding =>
    state.input === 'ok' ? true : finding;
  const output = { passed: false, reason: 'rude' };
  expect(await run(guardrailNode({ check }), { state: { input: 'ok' } })).toEqual({ passed: true });
  expect(await failureOf(guardrailNode({ check }))).toMatchObject({ code: 'GUARDRAIL_VIOLATION', data: output });
  expect(await run(guardrailNode({ check, onViolation: 'warn' }))).toEqual(output);
  expect(partsOf(await run(guardrailNode({ check, onViolation: 'sanitize' })))).toEqual({
    output,
    scratch: { draft: 'polite' },
  });
  expect(partsOf(await run(guardrailNode({ check, onViolation: 'reroute', rerouteTarget: 'fix' })))).toEqual({
    output,
    goto: 'fix',
  });
  expect(await failureOf(guardrailNode({ check: () => false, onViolation: 'sanitize' }))).toMatchObject({
    code: 'GUARDRAIL_VIOLATION',
  });
  expect(await failureOf(guardrailNode({ check: () => 'yes' as never }))).toMatchObject({
    code: 'NODE_OUTPUT_INVALID',
  });
  expect(() => guardrailNode({ check, onViolation: 'reroute' })).toThrow(CairnError);
  expect(() => guardrailNode({ check, rerouteTarget: 'x' })).toThrow(CairnError);
});

test('G3 the condition of the edge to a reroute target holds for violations only', () => {
  const scope = (output: unknown): ConditionScope => ({
    outcome: { status: 'completed', output, error: undefined },
    state: createStateView(),
  });
  expect(
    [{ passed: false }, { passed: true }, undefined].map((output) => guardrailViolated.evaluate(scope(output))),
  ).toEqual([true, false, false]);
});

test('W6 a subgraph node hands its input down and its result up', async () => {
  const child = graphOf(functionNode(() => 1));
  const end = {
    status: 'completed',
    state: createStateView({ artifacts: { sum: 3 }, scratch: { parts: [1, 2] } }),
  } as const;
  const ctx = createFakeContext({ state: { input: { n: 1 }, scratch: { m: 2 } }, runChild: () => end });
  const mapped = subgraphNode(child, {
    input: ({ state }) => ({ m: state.scratch['m'] }),
    output: ({ state }) => ({ scratch: { sum: state.artifacts['sum'] }, output: 'done' }),
  });
  expect(partsOf(await mapped.implementation.run(ctx))).toEqual({ scratch: { sum: 3 }, output: 'done' });
  expect(partsOf(await subgraphNode(child).implementation.run(ctx))).toEqual({ output: { sum: 3 } });
  expect(ctx.record.children.map(({ input }) => input)).toEqual([{ m: 2 }, { n: 1 }]);
  expect(mapped).toMatchObject({ type: 'subgraph', effect: 'read', subgraph: child });
});

test('W6 a child that failed fails its node, with its error as the cause', async () => {
  const error = new Error('no disk');
  const failure = await failureOf(subgraphNode(graphOf(functionNode(() => 1))), {
    runChild: () => ({ status: 'failed', state: createStateView(), error }),
  });
  expect(failure).toMatchObject({ code: 'CHILD_FAILED', cause: error, message: 'child run of child failed: no disk' });
});
