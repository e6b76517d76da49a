/** Reasons of edges in post-mortems of runs that failed, were bounded, or could not be routed: each is the true one. */
import { expect, test } from 'vitest';
import { compileExpression } from '../../src/graph/expression/expression.ts';
import { END, START, type Condition, type EdgeDefinition, type NodeDefinition } from '../../src/graph/graph.ts';
import { NodeFailure, outcome } from '../../src/graph/contracts/node-contract.ts';
import { storySummary } from '../../src/operations/format/story-summary.ts';
import { storyWords } from '../../src/operations/format/story-words.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import type { PostMortem } from '../../src/history/explain/story.ts';
import { digraph, runDot, type DotRun } from '../dot-kit.ts';
import { createBench, graphOf, node, runToRest } from '../engine-kit.ts';
import { edgesOf, tell, visitsOf } from './told-edges.ts';

async function tellDot(text: string, { attributes = '', ...run }: DotRun & { readonly attributes?: string } = {}) {
  const { bench, result } = await runDot(digraph(text, attributes), run);
  return tell(bench, result.runId);
}

async function tellGraph(nodes: readonly NodeDefinition[], edges: readonly EdgeDefinition[]): Promise<PostMortem> {
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graphOf('g', nodes, edges));
  return tell(bench, runId);
}

const when = (from: string, to: string, text: string, on?: 'failed' | 'any'): EdgeDefinition => ({
  from,
  to,
  condition: compileExpression(text),
  ...(on !== undefined && { on }),
});

const fails = (id: string, more: Partial<NodeDefinition> = {}): NodeDefinition =>
  node(
    id,
    'read',
    () => {
      throw new NodeFailure('it broke', { code: 'BROKEN' });
    },
    more,
  );

test('N13 DOT9 the last visit within max_node_visits and the one beyond are told apart, each with its reason', async () => {
  const story = await tellDot('start -> a -> exit\na [retry_target=a, fallback_retry_target=f]\nf -> a', {
    attributes: 'max_node_visits=2',
    script: { a: ['fail'] },
  });
  expect(
    visitsOf(story).flatMap(({ path, verdict, error }) => (path[0] === 'a' ? [verdict ?? error?.message] : [])),
  ).toEqual(['fail', 'fail', 'limit max_node_visits of 2 reached at a']);
  expect(edgesOf(story, 'a', 2)).toEqual([
    '-- exit it is not meant for failures',
    '-> a the failure jumps to the retry target, 2 of 10 times',
    '-- f the retry target a comes before it',
  ]);
  expect(edgesOf(story, 'a', 3)).toEqual(['exit', 'a', 'f'].map((to) => `-- ${to} max_node_visits of 2 is used up`));
  const { failedOnTheWay } = storySummary(story, storyWords(story));
  expect(failedOnTheWay.map(({ text }) => text)).toEqual(['a: a said fail → a', 'a: a said fail → a']);
});

test('N13 DOT9 of a stage beyond its max_visits no condition is computed: the bound is the reason', async () => {
  const story = await tellDot(
    'start -> a\na [max_visits=1]\na -> a [condition="outcome=success"]\na -> exit [condition="outcome=fail"]',
  );
  expect(edgesOf(story, 'a', 2)).toEqual([
    '-- a outcome=success max_visits of 1 is used up',
    '-- exit outcome=fail max_visits of 1 is used up',
  ]);
});

test('N13 DOT26 of a stage that met a budget, the budget is the reason', async () => {
  const story = await tellDot('start -> a -> b -> exit\na [prompt=one]\nb [prompt=two, retry_target=a]', {
    attributes: 'graph [budget="tokens=1", on_budget=fail]',
    asksModels: true,
    engine: { models: createScriptedModels(() => 'done') },
  });
  expect(edgesOf(story, 'b')).toEqual(['exit', 'a'].map((to) => `-- ${to} the budget of the run is used up`));
});

test('N13 DOT14 at the exit: the gate that leads back, its targets in turn, and jumps that are used up', async () => {
  const story = await tellDot(
    'start -> other -> gate -> exit\ngate -> exit [condition="outcome=fail"]\nfix -> gate\nlast -> gate\n' +
      'gate [goal_gate=true, retry_target=fix, fallback_retry_target=last]\nother [goal_gate=true, retry_target=mend]\nmend -> gate',
    { attributes: 'max_retry_jumps=1', script: { gate: ['fail'] } },
  );
  const open = 'the goal gate gate has not succeeded';
  const foreign = '-- mend it is no retry target of the goal gate gate';
  const told = [1, 2, 3].map((visit) => edgesOf(story, 'exit', visit).toSorted());
  expect(told).toEqual(
    [
      [
        `-- outputs ${open}`,
        `-> fix ${open}, and leads back there`,
        '-- last the retry target fix comes before it',
        foreign,
      ],
      [
        `-- outputs ${open}`,
        '-- fix max_retry_jumps of 1 is used up',
        `-> last ${open}, and leads back there`,
        foreign,
      ],
      [
        `-- outputs ${open}`,
        '-- fix max_retry_jumps of 1 is used up',
        '-- last max_retry_jumps of 1 is used up',
        foreign,
      ],
    ].map((lines) => lines.toSorted()),
  );
});

test('N13 DOT4 of a success that no edge takes, the conditions are the reason', async () => {
  const story = await tellDot('start -> a -> b\na -> exit\nb -> exit [condition="outcome=fail"]\nb [retry_target=a]');
  expect([story.status, edgesOf(story, 'b')]).toEqual([
    'failed',
    ['-- exit outcome=fail false its condition does not hold', '-- a it is for failures'],
  ]);
});

test('N13 DOT4 what the stage asked for, and what is not meant for failures, is told where another edge is taken', async () => {
  const asked = { status: 'success', preferredLabel: 'Left', suggestedNextIds: [] } as const;
  const story = await tellDot(
    'start -> a\na -> b [label=Left]\na -> c [weight=5]\nb -> exit\nc -> exit\nb -> d\nd -> exit\nd [shape=diamond]',
    {
      script: { a: [asked], b: ['fail'] },
    },
  );
  expect(edgesOf(story, 'a')).toEqual(['-> b the stage preferred "Left"', '-- c the stage asked for the way to b']);
  expect(edgesOf(story, 'b')).toEqual(['-- exit it is not meant for failures', '-> d it is there for failures']);
});

test('N13 a failure that is passed over is routed as what ended well, and its conditions are computed', async () => {
  const story = await tellGraph(
    [fails('a', { onFailure: 'continue' }), node('b', 'pure', () => 1)],
    [
      { from: START, to: 'a' },
      when('a', 'b', 'has(input.x)'),
      when('a', 'b', 'has(input.y)', 'failed'),
      { from: 'a', to: END },
      { from: 'b', to: END },
    ],
  );
  expect(edgesOf(story, 'a')).toEqual([
    '-- b has(input.x) false its condition does not hold',
    '-- b has(input.y) false its condition does not hold',
    `-> ${END} it has no condition`,
  ]);
});

test('N13 what could not be routed is told of the edge that could not be decided, and of those beside it', async () => {
  const story = await tellGraph(
    [node('a', 'pure', () => 1), node('b', 'pure', () => 1), node('c', 'pure', () => 1)],
    [
      { from: START, to: 'a' },
      when('a', 'c', 'outcome.output == 2'),
      {
        from: 'a',
        to: 'b',
        condition: {
          text: 'isOdd',
          evaluate: () => {
            throw new Error('no number');
          },
        },
      },
      { from: 'a', to: END },
      { from: 'a', to: 'c', on: 'failed', condition: compileExpression('outcome.output == 1') },
      { from: 'b', to: END },
      { from: 'c', to: END },
    ],
  );
  expect(edgesOf(story, 'a')).toEqual([
    '-- c outcome.output == 2 false its condition does not hold',
    '-- b isOdd it cannot be decided: no number',
    `-- ${END} another could not be decided`,
    '-> c outcome.output == 1 true its condition holds',
  ]);
  const named = await tellGraph(
    [node('a', 'pure', () => outcome({ goto: ['nowhere'] }))],
    [
      { from: START, to: 'a' },
      { from: 'a', to: END },
    ],
  );
  expect(edgesOf(named, 'a')).toEqual([`-- ${END} nowhere was named, which is none of the ways`]);
});

test('N13 G4 an edge for failures that leads back is not taken beyond maxVisits, and that is the reason', async () => {
  const story = await tellGraph(
    [fails('a', { maxVisits: 2 })],
    [{ from: START, to: 'a' }, when('a', 'a', 'outcome.status == "failed"', 'failed'), { from: 'a', to: END }],
  );
  expect(edgesOf(story, 'a', 3)).toEqual([
    '-- a outcome.status == "failed" true it holds, and it leads back, and no visit is left',
    `-- ${END} it is for what ended well`,
  ]);
});

test('N13 an edge that is taken however its node ended is not, where nothing handles the failure', async () => {
  const story = await tellGraph(
    [fails('fail'), node('skip', 'pure', () => 1, { when: compileExpression('false') }), node('last', 'pure', () => 1)],
    [
      { from: START, to: 'skip' },
      { from: 'skip', to: 'last', always: true },
      { from: START, to: 'fail' },
      { from: 'fail', to: 'last', always: true },
      { from: 'last', to: END },
    ],
  );
  expect(edgesOf(story, 'skip')).toEqual(['-> last it is always taken']);
  expect(edgesOf(story, 'fail')).toEqual(['-- last nothing handled the failure']);
});

test('N13 of a function whose name can be read as an expression is told what is on record', async () => {
  const said = (text: string, answer: boolean): Condition => ({ text, evaluate: () => answer });
  const ways = { b: said('output', false), c: said('input', false), d: said('error', true), e: said('scratch', false) };
  const story = await tellGraph(
    [node('a', 'pure', () => true), ...Object.keys(ways).map((id) => node(id, 'pure', () => 1))],
    [
      { from: START, to: 'a' },
      ...Object.entries(ways).map(([to, condition]) => ({ from: 'a', to, condition })),
      ...Object.keys(ways).map((from) => ({ from, to: END })),
    ],
  );
  expect(edgesOf(story, 'a')).toEqual([
    '-- b output it was not taken',
    '-- c input it was not taken',
    '-> d error its condition held',
    '-- e scratch it was not taken',
  ]);
});
