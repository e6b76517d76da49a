import { describe, expect, it } from 'vitest';
import { CairnError } from '../../errors.ts';
import { compileGraph } from '../compile/compile-graph.ts';
import { functionChoice } from '../condition.ts';
import { compileExpression } from '../expression/expression.ts';
import {
  type EdgeDefinition,
  type GraphDefinition,
  type NodeDefinition,
  type Violation,
  END,
  START,
} from '../graph.ts';

const implementation = { run: (): undefined => undefined };
const node = (id: string, parts: object = {}): NodeDefinition => ({
  id,
  type: 'function',
  effect: 'pure',
  implementation,
  ...parts,
});
const edge = (from: string, to: string, parts: object = {}): EdgeDefinition => ({ from, to, ...parts });
const line = (parts: object = {}, a: object = {}, ab: object = {}): GraphDefinition => ({
  id: 'g',
  nodes: [node('a', a), node('b')],
  edges: [edge(START, 'a'), edge('a', 'b', ab), edge('b', END)],
  ...parts,
});
const chain = (...ids: readonly string[]): EdgeDefinition[] =>
  ids.slice(1).map((to, index) => edge(ids[index] ?? '', to));
const isTrue = compileExpression('true');

function violationsOf(definition: GraphDefinition): readonly Violation[] {
  try {
    return compileGraph(definition).warnings;
  } catch (error) {
    if (!CairnError.is(error, 'GRAPH_INVALID')) throw error;
    return error.data['violations'] as readonly Violation[];
  }
}

const brief = (definition: GraphDefinition): readonly string[] =>
  violationsOf(definition).map(({ rule, severity, place, message }) => `${rule} ${severity} ${place}: ${message}`);

describe('errors', () => {
  it.each<[string, GraphDefinition, string]>([
    [
      'a second node of an id',
      line({ nodes: [node('a'), node('b'), node('b')] }),
      'G2 error node b: a second node "b"',
    ],
    [
      'an edge from nowhere',
      line({ edges: [...chain(START, 'a', 'b'), edge('x', 'b')] }),
      'G1 error edge x -> b: unknown node "x"',
    ],
    [
      'an edge to nowhere',
      line({ edges: [...chain(START, 'a', 'b'), edge('b', 'x')] }),
      'G1 error edge b -> x: unknown node "x"',
    ],
    [
      'an edge into START',
      line({ edges: [...chain(START, 'a', 'b'), edge('b', START)] }),
      `G1 error edge b -> ${START}: an edge into START`,
    ],
    [
      'an edge out of END',
      line({ edges: [...chain(START, 'a', 'b', END), edge(END, 'b')] }),
      `G1 error edge ${END} -> b: an edge out of END`,
    ],
    ['no entry', line({ edges: chain('a', 'b') }), 'G1 error graph: no entry'],
    [
      'a node out of reach',
      line({ edges: chain(START, 'a') }),
      'G7 error node b: the node can never run: nothing leads to it from START',
    ],
    [
      'a loop out of reach',
      line({ nodes: ['a', 'b', 'c'].map((id) => node(id)), edges: [...chain(START, 'a'), ...chain('b', 'c', 'b')] }),
      'G7 error node c: the node can never run: nothing leads to it from START',
    ],
    ['a first join of none', line({}, { join: { first: 0 } }), `G9 error node a: join.first is 0`],
    [
      'a first join of too many',
      line({}, { join: { first: 2 } }),
      'G3 error node a: join first 2, but only 1 edges can settle before it starts',
    ],
    [
      'a first join that counts on a back edge',
      line({ edges: [...chain(START, 'a', 'b'), edge('b', 'a', { condition: isTrue })] }, { join: { first: 2 } }),
      'G3 error node a: join first 2, but only 1 edges can settle before it starts',
    ],
    ['an unknown join', line({}, { join: 'any' }), 'G3 error node a: join is "any"'],
    [
      'always on a back edge',
      line({ edges: [...chain(START, 'a', 'b'), edge('b', 'a', { always: true })] }),
      'G3 error edge b -> a: an always edge that leads back into its loop',
    ],
    [
      'always with a condition',
      line({}, {}, { always: true, condition: isTrue }),
      'G9 error edge a -> b: always on an edge with a condition',
    ],
    [
      'always with `on`',
      line({}, {}, { always: true, on: 'failed' }),
      'G9 error edge a -> b: always on an edge with a condition',
    ],
    [
      'a condition and a choice',
      line({}, {}, { condition: isTrue, choice: functionChoice(() => 'b') }),
      'G5 error edge a -> b: a condition and a choice on one edge',
    ],
    [
      'a choice without a label',
      line({}, {}, { choice: functionChoice(() => 'b'), label: '' }),
      'G5 error edge a -> b: an edge of a choice without a label',
    ],
    ['an unknown `on`', line({}, {}, { on: 'done' }), 'G8 error edge a -> b: on is "done"'],
    ['a weight that is no number', line({}, {}, { weight: Number.NaN }), 'G5 error edge a -> b: weight is NaN'],
    [
      'the failure of START',
      line({ edges: [edge(START, 'a', { on: 'failed' }), ...chain(START, 'b'), edge('a', 'b')] }),
      `G9 error edge ${START} -> a: an edge for the failure of START, which never fails`,
    ],
    ['an unknown effect', line({}, { effect: 'safe' }), 'G2 error node a: effect is "safe"'],
    ['no effect', line({}, { effect: undefined }), 'G2 error node a: effect is null'],
    ['no type', line({}, { type: '' }), 'G2 error node a: no node type'],
    ['no implementation', line({}, { implementation: undefined }), 'G2 error node a: no implementation'],
    ['code in config', line({}, { config: { on: [() => 1] } }), 'G1 error node a: config.on.0: a function is no data'],
    [
      'config that is no data at all',
      line({}, { config: Symbol('s') }),
      'G1 error node a: config: a symbol is no data',
    ],
    [
      'a subgraph node without one',
      line({}, { type: 'subgraph' }),
      'G2 error node a: a subgraph node without a subgraph',
    ],
    [
      'a composed node that writes',
      line({}, { type: 'subgraph', effect: 'write', subgraph: compileGraph(line()) }),
      'X4 error node a: a node that runs a child graph is composed and cannot be write',
    ],
    ['no attempts', line({}, { retry: { attempts: 0 } }), 'G9 error node a: retry.attempts is 0'],
    ['retry without attempts', line({}, { retry: {} }), 'G9 error node a: retry.attempts is NaN'],
    [
      'an unknown backoff',
      line({}, { retry: { attempts: 2, backoff: 'random' } }),
      'G9 error node a: retry.backoff is "random"',
    ],
    ['too much jitter', line({}, { retry: { attempts: 2, jitter: 1.5 } }), 'G9 error node a: retry.jitter is 1.5'],
    ['a negative delay', line({}, { retry: { attempts: 2, delayMs: -1 } }), 'G9 error node a: retry.delayMs is -1'],
    [
      'retry on nothing',
      line({}, { retry: { attempts: 2, on: [] } }),
      'G9 error node a: retry.on is no list of error codes',
    ],
    [
      'an unknown retry field',
      line({}, { retry: { attempts: 2, times: 3 } }),
      'G9 error node a: unknown field "times"',
    ],
    ['no time', line({}, { timeoutMs: 0 }), 'G9 error node a: timeoutMs is 0'],
    ['a fraction of a visit', line({}, { maxVisits: 1.5 }), 'G9 error node a: maxVisits is 1.5'],
    ['an unknown failure policy', line({}, { onFailure: 'ignore' }), 'G8 error node a: onFailure is "ignore"'],
    ['an unknown checkpoint', line({}, { checkpoint: 'sometimes' }), 'C10 error node a: checkpoint is "sometimes"'],
    ['an empty output name', line({}, { outputAs: '' }), 'G2 error node a: outputAs is empty'],
    [
      'an output name twice',
      line({ nodes: [node('a', { outputAs: 'x' }), node('b', { outputAs: 'x' })] }),
      'G2 error node b: artifacts.x is the output of node a already',
    ],
    [
      'a reducer on an output',
      line({ reducers: { 'artifacts.x.y': 'last' } }, { outputAs: 'x' }),
      'G9 error node a: artifacts.x has a reducer, which never applies to an output',
    ],
    ['an unknown node field', line({}, { timeout: 5 }), 'G9 error node a: unknown field "timeout"'],
    ['an unknown edge field', line({}, {}, { when: isTrue }), 'G9 error edge a -> b: unknown field "when"'],
    ['an unknown graph field', line({ entry: 'a' }), 'G9 error graph: unknown field "entry"'],
    ['an unknown policy', line({ policies: { retries: 3 } }), 'G9 error policies: unknown field "retries"'],
    [
      'a policy that is undefined',
      line({ policies: { routing: undefined } }),
      'G9 error policies: routing is undefined',
    ],
    ['a routing policy', line({ policies: { routing: 'best' } }), 'G5 error policies: routing is "best"'],
    ['a checkpoint policy', line({ policies: { checkpoint: 'always' } }), 'C10 error policies: checkpoint is "always"'],
    ['a durability policy', line({ policies: { durability: 'sync' } }), 'E4 error policies: durability is "sync"'],
    ['no concurrency', line({ policies: { concurrency: 0 } }), 'G9 error policies: concurrency is 0'],
    [
      'a reducer of input',
      line({ reducers: { 'input.x': 'last' } }),
      'G9 error reducer input.x: "input" is no part of the state that can be written',
    ],
    [
      'a reducer of all',
      line({ reducers: { scratch: 'last' } }),
      'G9 error reducer scratch: the path names no channel',
    ],
    [
      'a reducer with a hole',
      line({ reducers: { 'scratch..x': 'last' } }),
      'G9 error reducer scratch..x: the path names no channel',
    ],
    [
      'a reducer under another',
      line({ reducers: { 'scratch.a.b.c': 'last', 'scratch.a': 'merge' } }),
      'G9 error reducer scratch.a.b.c: the reducer of scratch.a merges this path already',
    ],
    [
      'an unknown reducer',
      line({ reducers: { 'scratch.x': 'concat' } }),
      'G9 error reducer scratch.x: the reducer is "concat"',
    ],
    [
      'a custom reducer without a name',
      line({ reducers: { 'scratch.x': { reduce: () => 1 } } }),
      'G9 error reducer scratch.x: a custom reducer needs a name and a function',
    ],
    [
      'an unknown schema',
      line({ schemas: { outputs: { '~standard': {} } } }),
      'G9 error schemas: unknown field "outputs"',
    ],
    ['a schema that is none', line({ schemas: { input: {} } }), 'G1 error schema input: this is no Standard Schema'],
    [
      'a read of no part of the state',
      line({}, { reads: ['messages'] }),
      'G7 error node a: reads "messages", which is no part of the state',
    ],
    [
      'a read of an unknown node',
      line({}, { reads: ['outputs.x.text'] }),
      'G7 error node a: reads outputs.x.text, but there is no such node',
    ],
  ])('G7 %s is an error', (_, definition, expected) => {
    expect(brief(definition)).toContain(expected);
    expect(() => compileGraph(definition)).toThrow(CairnError);
  });

  it('G5 each label of a choice means one edge', () => {
    const choice = functionChoice(() => 'x');
    const edges = (other: EdgeDefinition['choice']): EdgeDefinition[] => [
      ...chain(START, 'a'),
      edge('a', 'b', { choice, label: 'x' }),
      edge('a', 'a', { choice: other, label: 'x' }),
    ];
    expect(brief(line({ edges: edges(choice) }))).toEqual([
      'G5 error edge a -> a: a second edge labelled "x" of the same choice',
    ]);
    expect(brief(line({ edges: edges(functionChoice(() => 'x')) }))).toEqual([]);
  });

  it('G4 loops nested without end are an error', () => {
    const ids = Array.from({ length: 210 }, (_, index) => `n${index}`);
    const back = ids.slice(1).map((id, index) => edge(id, ids[index] ?? ''));
    const definition = { id: 'g', nodes: ids.map((id) => node(id)), edges: [...chain(START, ...ids), ...back] };
    expect(brief(definition)).toContain('G4 error graph: loops are nested deeper than 200');
  });

  it('G7 all violations are reported at once, with place and fix', () => {
    const definition = line({
      id: '',
      nodes: [
        node('a', { place: 'flow.ts:3', timeoutMs: -1, join: { first: 9 } }),
        node('b', { reads: ['nowhere'] }),
        node('c'),
      ],
      edges: [edge(START, 'a', { place: 'flow.ts:9', always: true, on: 'failed' }), edge('a', 'b'), edge('b', 'x')],
      policies: { routing: 'x' },
      reducers: { 'y.z': 'last' },
    });
    const found = violationsOf(definition);
    expect(found.map(({ rule, place }) => `${rule} ${place}`).sort()).toEqual([
      'G1 edge b -> x',
      'G1 graph',
      'G3 flow.ts:3',
      'G5 policies',
      'G7 node b',
      'G7 node c',
      'G9 flow.ts:3',
      'G9 flow.ts:9',
      'G9 flow.ts:9',
      'G9 reducer y.z',
    ]);
    expect(found.every(({ fix }) => fix !== '')).toBe(true);
    expect(() => compileGraph(definition)).toThrow(/flow\.ts:3: timeoutMs is -1 \(give a whole number/);
  });
});

describe('warnings', () => {
  it.each<[string, GraphDefinition, readonly string[]]>([
    [
      'idempotent on a pure node',
      line({}, { idempotent: true }),
      ['G9 warning node a: idempotent says nothing of a pure node'],
    ],
    ['idempotent on a write node (none)', line({}, { effect: 'write', idempotent: true }), []],
    [
      'a loop with several heads and an unconditional way out',
      line({ edges: [...chain(START, 'a', 'b', 'a'), edge(START, 'b'), edge('b', END)] }),
      [
        'G4 warning loop a,b: the loop of 2 nodes has several heads: a, b',
        `G4 warning edge b -> ${END}: an unconditional edge out of the loop a,b`,
      ],
    ],
    [
      'the same under routing `first` (none)',
      line({ edges: [...chain(START, 'a', 'b', 'a'), edge('b', END)], policies: { routing: 'first' } }),
      [],
    ],
    [
      'a conditional way out (none)',
      line({ edges: [...chain(START, 'a', 'b', 'a'), edge('b', END, { condition: isTrue })] }),
      [],
    ],
    ['a node that cannot reach END (none)', line({ edges: chain(START, 'a', 'b') }), []],
  ])('G7 %s', (_, definition, expected) => {
    expect(brief(definition)).toEqual(expected);
  });

  const fork = (reads: readonly string[], more: readonly EdgeDefinition[] = []): GraphDefinition => ({
    id: 'g',
    nodes: [node('a', { outputAs: 'draft' }), node('b', { reads }), node('c.d')],
    edges: [...chain(START, 'a', 'c.d'), ...chain(START, 'b', 'c.d'), ...more],
  });

  it('G7 warns of a read of what a side-by-side node writes', () => {
    expect(brief(fork(['outputs.a.text', 'artifacts.draft']))).toEqual([
      'G7 warning node b: reads outputs.a.text, which a writes side by side with it',
      'G7 warning node b: reads artifacts.draft, which a writes side by side with it',
    ]);
    expect(brief(fork(['outputs.a'], chain('a', 'b')))).toEqual([]);
    expect(brief(fork(['outputs.c.d.x', 'input', 'scratch.x', 'artifacts.other', 'outputs']))).toEqual([]);
  });

  it('G7 follows any number of producers', () => {
    const ids = Array.from({ length: 70 }, (_, index) => `n${index}`);
    const nodes = ids.map((id, index) => node(id, index === 69 ? { reads: ids.map((read) => `outputs.${read}`) } : {}));
    const edges = [...ids.slice(0, 69).map((id) => edge(START, id)), edge('n0', 'n69'), edge('n68', 'n69')];
    expect(brief({ id: 'g', nodes, edges })).toHaveLength(67);
  });
});
