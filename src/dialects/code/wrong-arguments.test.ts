/** What plain JavaScript can pass where no type checker looks: an error with a code, never one of the engine's insides. */
import { expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import { END, START } from '../../graph/graph.ts';
import { fileNode, httpNode, humanNode, mapNode, shellNode } from '../../nodes/builders.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { openSqliteStore } from '../../stores/sqlite/index.ts';
import { AgentGraph } from './agent-graph.ts';
import { workflow } from './workflow.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Untyped = any;

const graph = (): Untyped =>
  new AgentGraph({}, { id: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END);
const ran = async (act: (compiled: Untyped) => unknown): Promise<unknown> => {
  const compiled = graph().compile({ store: createMemoryStore() });
  await compiled.invoke({}, { runId: 'r' });
  return act(compiled);
};

test.each<readonly [string, () => unknown]>([
  [
    'a list that is none',
    () =>
      graph()
        .addNode('b', () => 1, { reads: 5 })
        .compile(),
  ],
  ['a choice that is no function', () => graph().addConditionalEdge('a', undefined, ['a', END]).compile()],
  ['no choice at all', () => graph().addConditionalEdge().compile()],
  ['compile without options', () => graph().compile(null)],
  ['options that are none', () => graph().compile(5)],
  ['a result that is none', () => (workflow('w') as Untyped).returns(5)],
  ['no result', () => (workflow('w') as Untyped).returns()],
  ['a question without words', () => (humanNode as Untyped)()],
  ['a file of nothing', () => (fileNode as Untyped)()],
  ['a file without a path', () => (fileNode as Untyped)({ action: 'read' })],
  ['a request to nowhere', () => (httpNode as Untyped)({})],
  ['a command that is none', () => (shellNode as Untyped)({})],
  ['a map of nothing', () => (mapNode as Untyped)({ each: () => 1 })],
  ...(
    [
      'store',
      'blobs',
      'clock',
      'ids',
      'secrets',
      'models',
      'telemetry',
      'engine',
      'findGraph',
      'bounds',
      'limits',
      'tenant',
      'leaseMs',
    ] as const
  ).map((option) => [`a number for ${option}`, () => graph().compile({ [option]: -5 })] as const),
  ['a store that is an empty object', () => graph().compile({ store: {} })],
  [
    'idempotent that is a word',
    () =>
      graph()
        .addNode('b', () => 1, { idempotent: 'no' })
        .compile(),
  ],
  ['choices that are a number', () => (humanNode as Untyped)({ prompt: '?', choices: 5 })],
  ['a timeout that is a word', () => (humanNode as Untyped)({ prompt: '?', timeoutMs: 'soon' })],
  ['a deadline that is a date', () => (humanNode as Untyped)({ prompt: '?', deadlineAt: new Date(0) })],
  ['an end of time that is none', () => (humanNode as Untyped)({ prompt: '?', timeoutMs: 5, onTimeout: 'x' })],
  ['approval by a word', () => (humanNode as Untyped)({ prompt: '?', autoAccept: 'yes' })],
  ['a policy that is no function', () => (humanNode as Untyped)({ prompt: '?', policy: 5 })],
  ['a durability that is misspelt', () => (openSqliteStore as Untyped)({ path: '/nowhere/s.db', durabilty: 'full' })],
  ['a durability that is none', () => (openSqliteStore as Untyped)({ path: '/nowhere/s.db', durability: 'ful' })],
  ['a timeout that is text', () => (openSqliteStore as Untyped)({ path: '/nowhere/s.db', busyTimeoutMs: '5' })],
  [
    'pages that are a statement',
    () => (openSqliteStore as Untyped)({ path: '/nowhere/s.db', walAutoCheckpointPages: 'x' }),
  ],
  ['a clock of a store', () => (openSqliteStore as Untyped)({ path: '/nowhere/s.db', now: 5 })],
  ['an option of a store in memory', () => (createMemoryStore as Untyped)({ nam: 'x' })],
  ['a store in memory of nothing', () => (createMemoryStore as Untyped)(null)],
  ['a store without options', () => (openSqliteStore as Untyped)()],
  ['a store without a path', () => (openSqliteStore as Untyped)({ path: '' })],
  ['a run id that is no text', () => ran((compiled) => compiled.invoke({}, { runId: 5 }))],
  ...(
    [
      ['resume', { answers: 5 }],
      ['resume', { answers: ['yes'] }],
      ['resume', { retryFailed: 'no' }],
      ['resume', { migrate: 5 }],
      ['resume', { by: 5 }],
      ['fork', { answers: 5 }],
      ['fork', { graph: graph() }],
      ['preview', { answers: 'yes' }],
    ] as const
  ).map(
    ([call, options]) =>
      [`${call} with ${Object.keys(options).join()}`, () => ran((compiled) => compiled[call]('r', options))] as const,
  ),
  ['a signal that is none', () => ran((compiled) => compiled.invoke({}, { signal: 5 }))],
  [
    'a key of a schedule, which does nothing',
    () => ran((compiled) => compiled.start({}, { detach: true, schedule: { queue: 'q', key: 'ann' } })),
  ],
  [
    'a key of a schedule of an engine',
    () => ran((compiled) => compiled.engine.start(compiled.graph, {}, { detach: true, schedule: { key: 'ann' } })),
  ],
  ['meta that is none', () => ran((compiled) => compiled.invoke({}, { meta: 5 }))],
  ['events after a word', () => ran((compiled) => compiled.events('r', { after: 'x' }))],
  ['options that are a number', () => ran((compiled) => compiled.invoke({}, 5))],
  ['a resume of null', () => ran((compiled) => compiled.resume(null))],
  ['a resume of a number', () => ran((compiled) => compiled.resume(5))],
  ['a fork of nothing', () => ran((compiled) => compiled.fork())],
  ['a fork with a number set', () => ran((compiled) => compiled.fork('r', { set: 5 }))],
  ['a fork with a list of numbers set', () => ran((compiled) => compiled.fork('r', { set: [5] }))],
])('P6 %s is refused by a code', async (_, act) => {
  const error = await (async () => act())().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CairnError);
  expect((error as CairnError).code).toMatch(/^(CONFIG|GRAPH|ID)_INVALID$/);
});

test('D18 retention that is none is refused with the setting at fault', () => {
  const faultOf = (retention: unknown): unknown => {
    try {
      return graph().compile({ store: createMemoryStore(), retention });
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(faultOf({ complete: '7d' })).toContain('retention.complete is no setting; they are completed, failed');
  expect(faultOf({ completed: '7days' })).toContain('retention.completed must be a time such as 12h, 7d or 4w');
  expect(faultOf({ runs: 3, perLabel: { user: 0 } })).toContain(
    'retention.perLabel.user must be a whole number from 1',
  );
  expect(faultOf(null)).toContain('retention must hold settings by name');
});
