import { describe, expect, it } from 'vitest';
import { compareStructures, type LiveNode, type LivePositions } from './compare-graphs.ts';
import { compileGraph } from './compile-graph.ts';
import { compileExpression } from '../expression/expression.ts';
import {
  type EdgeDefinition,
  type Graph,
  type GraphDefinition,
  type GraphStructure,
  type NodeDefinition,
  type StandardSchema,
  END,
  START,
} from '../graph.ts';

const implementation = { run: (): undefined => undefined };
const node = (id: string, parts: Partial<NodeDefinition> = {}): NodeDefinition => ({
  id,
  type: 'function',
  effect: 'pure',
  implementation,
  ...parts,
});
const edge = (from: string, to: string, parts: Partial<EdgeDefinition> = {}): EdgeDefinition => ({
  from,
  to,
  ...parts,
});
const line = (parts: Partial<GraphDefinition> = {}, b: Partial<NodeDefinition> = {}): Graph =>
  compileGraph({
    id: 'g',
    nodes: [node('a'), node('b', b)],
    edges: [edge(START, 'a'), edge('a', 'b'), edge('b', END)],
    ...parts,
  });
const schema = (field: string): StandardSchema =>
  ({
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
    shape: { [field]: 1 },
  }) as StandardSchema;

const done = (id: string): LiveNode => ({ id, isOpen: false, hasIntent: false });
const open = (id: string): LiveNode => ({ id, isOpen: true, hasIntent: false });
const inEffect = (id: string): LiveNode => ({ id, isOpen: true, hasIntent: true });

/** Compares as a resume does: with the structure as it was stored. */
const compare = (
  before: Graph,
  after: Graph,
  live: Partial<LivePositions> = {},
): { verdict: string; differences: readonly string[] } => {
  const stored = JSON.parse(JSON.stringify(before.structure)) as GraphStructure;
  const { verdict, differences } = compareStructures(stored, after, { nodes: [done('a'), open('b')], ...live });
  return { verdict, differences: differences.map(({ what, detail }) => `${what}: ${detail}`) };
};

describe('compareStructures', () => {
  it('H3 the same graph, stored and compiled again, is unchanged', () => {
    expect(compare(line(), line())).toEqual({ verdict: 'unchanged', differences: [] });
    const rich = (): Graph =>
      line(
        { reducers: { 'scratch.x': 'append' }, schemas: { input: schema('a') } },
        { reads: ['input.x'], when: compileExpression('true'), config: { a: undefined, b: [1] } },
      );
    expect(compare(rich(), rich()).verdict).toBe('unchanged');
  });

  it.each<[string, Graph, Graph, Partial<LivePositions>, string, readonly string[]]>([
    [
      'an added node',
      line(),
      line({
        nodes: ['a', 'b', 'c'].map((id) => node(id)),
        edges: [edge(START, 'a'), edge('a', 'b'), edge('b', 'c'), edge('b', END)],
      }),
      {},
      'compatible',
      ['node added: c', 'edge added: b -> c'],
    ],
    [
      'a removed node that is done',
      line(),
      line({ nodes: [node('b')], edges: [edge(START, 'b'), edge('b', END)] }),
      {},
      'compatible',
      [
        'node removed: a; what it recorded is kept, and nobody reads it',
        `edge removed: ${START} -> a`,
        'edge removed: a -> b',
        `edge added: ${START} -> b`,
      ],
    ],
    [
      'a removed node that is open',
      line(),
      line({ nodes: [node('a')], edges: [edge(START, 'a')] }),
      {},
      'refused',
      ['node removed: b; a visit to it is under way', 'edge removed: a -> b', `edge removed: b -> ${END}`],
    ],
    [
      'a removed node with an intent',
      line(),
      line({ nodes: [node('a')], edges: [edge(START, 'a')] }),
      { nodes: [{ id: 'b', isOpen: false, hasIntent: true }] },
      'refused',
      ['node removed: b; a visit to it is under way', 'edge removed: a -> b', `edge removed: b -> ${END}`],
    ],
    [
      'another type of an open node',
      line(),
      line({}, { type: 'shell' }),
      {},
      'refused',
      ['node changed: b: type; a visit is under way and its node type changed'],
    ],
    [
      'another type of a node not begun',
      line(),
      line({}, { type: 'shell' }),
      { nodes: [done('a')] },
      'compatible',
      ['node changed: b: type'],
    ],
    [
      'another effect of an open node',
      line(),
      line({}, { effect: 'read' }),
      {},
      'refused',
      ['node changed: b: effect; a visit is under way and its effect class changed'],
    ],
    [
      'another config of an open node',
      line(),
      line({}, { config: 1, timeoutMs: 5 }),
      {},
      'compatible',
      ['node changed: b: config, timeoutMs'],
    ],
    [
      'another config of an effect in doubt',
      line({}, { effect: 'write' }),
      line({}, { effect: 'write', config: 1 }),
      { nodes: [inEffect('b')] },
      'refused',
      ['node changed: b: config; a visit is under way and an effect of it may have happened under its old definition'],
    ],
    [
      'another retry of an effect in doubt',
      line({}, { effect: 'write' }),
      line({}, { effect: 'write', retry: { attempts: 3 } }),
      { nodes: [inEffect('b')] },
      'compatible',
      ['node changed: b: retry'],
    ],
    [
      'another condition',
      line(),
      line({
        edges: [edge(START, 'a'), edge('a', 'b', { condition: compileExpression('input == 1') }), edge('b', END)],
      }),
      {},
      'compatible',
      ['edge changed: a -> b: condition'],
    ],
    [
      'another reducer',
      line({ reducers: { 'scratch.x': 'append' } }),
      line({ reducers: { 'scratch.x': 'union' } }),
      {},
      'needs-migration',
      ['reducer changed: scratch.x, whose value was made without it'],
    ],
    [
      'a reducer taken away',
      line({ reducers: { 'scratch.x': 'append' } }),
      line(),
      {},
      'needs-migration',
      ['reducer changed: scratch.x, whose value was made without it'],
    ],
    [
      'a reducer of a new channel',
      line(),
      line({ reducers: { 'scratch.x': 'append' } }),
      { channels: ['scratch.y'] },
      'compatible',
      ['reducer added: scratch.x'],
    ],
    [
      'a reducer of an existing channel',
      line(),
      line({ reducers: { 'scratch.x.y': 'avg' } }),
      { channels: ['scratch.x'] },
      'needs-migration',
      ['reducer added: scratch.x.y, whose value was made without it'],
    ],
    [
      'another schema',
      line({ schemas: { scratch: schema('a') } }),
      line({ schemas: { scratch: schema('b') } }),
      {},
      'needs-migration',
      ['schema changed: scratch'],
    ],
    [
      'a schema added',
      line(),
      line({ schemas: { input: schema('b') } }),
      {},
      'needs-migration',
      ['schema changed: input'],
    ],
    [
      'a schema taken away',
      line({ schemas: { scratch: schema('a') } }),
      line(),
      {},
      'compatible',
      ['schema removed: scratch'],
    ],
    [
      'other policies',
      line(),
      line({ policies: { concurrency: 2, durability: 'exit' } }),
      {},
      'compatible',
      ['policies changed: concurrency, durability'],
    ],
    ['another graph', line(), line({ id: 'h' }), {}, 'refused', ['other graph: the run is of g, not of h']],
    [
      'other code alone',
      line(),
      line({}, { implementation: { run: () => 2 } }),
      { codeHash: line().codeHash },
      'compatible',
      ['code changed: the text of functions; what they did stays as recorded'],
    ],
    ['the same code', line(), line(), { codeHash: line().codeHash }, 'unchanged', []],
  ])('H3 %s', (_, before, after, live, verdict, differences) => {
    expect(compare(before, after, live)).toEqual({ verdict, differences });
  });

  it('H3 G11 a graph of one token and one of several are exchanged only where a run has been in one place at a time', () => {
    const many = line();
    const one = line({ policies: { routing: 'first' } });
    const verdicts = (live: Partial<LivePositions>): readonly string[] => [
      compare(many, one, live).verdict,
      compare(one, many, live).verdict,
    ];
    const led = (id: string, ...fired: readonly string[]): LiveNode => ({ ...done(id), fired });
    expect(verdicts({ nodes: [led('a', 'b'), open('b')] })).toEqual(['compatible', 'compatible']);
    const refused = ['refused', 'refused'];
    expect(verdicts({ nodes: [led('a', 'b', 'c'), open('b')] })).toEqual(refused);
    expect(verdicts({ nodes: [open('a'), open('b')] })).toEqual(refused);
    expect(verdicts({ nodes: [led('a', 'b'), open('b')], epoch: 1 })).toEqual(refused);
    expect(compare(one, many, { epoch: 1 }).differences).toContain(
      'side by side from now on: routing, joins or always edges; the run has gone round a loop',
    );
    const always = line({ edges: [edge(START, 'a'), edge('a', 'b', { always: true }), edge('b', END)] });
    expect(compare(always, one, { nodes: [open('b')] }).verdict).toBe('refused');
    // Between graphs of one token, a loop that is gone is no hindrance: where the token is does not depend on it.
    expect(compare(one, one, { epoch: 3, loops: ['a'] }).verdict).toBe('unchanged');
  });

  it('H3 a run in a later round of a loop needs that loop', () => {
    const looped = line({
      edges: [edge(START, 'a'), edge('a', 'b'), edge('b', 'a', { condition: compileExpression('true') })],
    });
    expect(compare(looped, line(), { loops: ['a'] })).toMatchObject({
      verdict: 'refused',
      differences: expect.arrayContaining(['loop removed: a; the run is in a later round of it']) as unknown,
    });
    expect(compare(looped, line(), { loops: [] }).verdict).toBe('compatible');
    expect(compare(looped, looped, { loops: ['a'] }).verdict).toBe('unchanged');
  });

  it('H3 a child run in a later round of a loop needs that loop too', () => {
    const parent = (child: Graph): Graph => line({}, { type: 'subgraph', subgraph: child });
    const looped = line({
      edges: [edge(START, 'a'), edge('a', 'b'), edge('b', 'a', { condition: compileExpression('true') })],
    });
    const inRound = (...loops: readonly string[]): Partial<LivePositions> => ({
      nodes: [{ ...open('b'), children: [{ nodes: [open('b')], loops }] }],
    });
    expect(compare(parent(looped), parent(line()), inRound('a'))).toMatchObject({
      verdict: 'refused',
      differences: expect.arrayContaining(['loop removed: b / a; the run is in a later round of it']) as unknown,
    });
    expect(compare(parent(looped), parent(line()), inRound()).verdict).toBe('compatible');
  });

  it('H3 a child graph matters where a child run is under way', () => {
    const parent = (child: Graph): Graph => line({}, { type: 'subgraph', subgraph: child });
    const [before, after] = [
      parent(line()),
      parent(line({ nodes: [node('a')], edges: [edge(START, 'a')], reducers: { 'scratch.x': 'sum' } })),
    ];
    expect(compare(before, after)).toEqual({ verdict: 'compatible', differences: ['node changed: b: subgraph'] });
    const child: LivePositions = { nodes: [open('b')], channels: ['scratch.x'] };
    expect(compare(before, after, { nodes: [{ ...open('b'), children: [child] }] })).toEqual({
      verdict: 'refused',
      differences: [
        'node removed: b / b; a visit to it is under way',
        'edge removed: b / a -> b',
        `edge removed: b / b -> ${END}`,
        'reducer added: b / scratch.x, whose value was made without it',
      ],
    });
  });
});
