import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CairnError } from '../../errors.ts';
import { compileGraph } from './compile-graph.ts';
import { functionCondition } from '../condition.ts';
import { compileExpression } from '../expression/expression.ts';
import {
  type EdgeDefinition,
  type Graph,
  type GraphDefinition,
  type NodeDefinition,
  type Violation,
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

/** START -> a -> b -> END, with other parts. */
const line = (parts: Partial<GraphDefinition> = {}, a: Partial<NodeDefinition> = {}): GraphDefinition => ({
  id: 'g',
  nodes: [node('a', a), node('b')],
  edges: [edge(START, 'a'), edge('a', 'b'), edge('b', END)],
  ...parts,
});

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

describe('compileGraph', () => {
  it('G2 fills in every default', () => {
    const graph = compileGraph(line());
    expect(graph.nodes.map(({ id, index }) => [id, index])).toEqual([
      [START, 0],
      [END, 1],
      ['a', 2],
      ['b', 3],
    ]);
    expect(graph.nodes[0]).toMatchObject({ type: 'start', effect: 'pure' });
    expect(graph.nodes[1]).toMatchObject({ type: 'end', join: 'some' });
    expect(graph.nodes[2]).toMatchObject({
      version: '1',
      join: 'some',
      onFailure: 'fail-run',
      idempotent: false,
      maxVisits: 1000,
      loops: [],
    });
    expect(graph.policies).toEqual({
      routing: 'all',
      checkpoint: 'every_node',
      concurrency: 64,
      maxVisits: 1000,
      durability: 'barrier',
    });
    expect(graph.nodes[2]?.outgoing).toEqual([graph.edges[1]]);
    expect(graph.nodes[3]?.incoming).toEqual([graph.edges[1]]);
    expect(graph.warnings).toEqual([]);
    expect(compileGraph(line({ policies: { maxVisits: 7 } })).nodes[2]?.maxVisits).toBe(7);
  });

  it('G1 a graph and its config cannot be changed, nor through the definition', () => {
    const config = { list: [1] };
    const graph = compileGraph(line({}, { config }));
    config.list.push(2);
    expect(graph.nodes[2]?.config).toEqual({ list: [1] });
    expect(Object.isFrozen((graph.nodes[2] as { config: typeof config }).config.list)).toBe(true);
    expect(() => ((graph as { id: string }).id = 'x')).toThrow(TypeError);
    expect(() => ((graph.nodes[2] as { type: string }).type = 'x')).toThrow(TypeError);
  });

  it('G1 edges of one source have keys of their own, whatever nodes are called', () => {
    const nodes = ['a', 'b', 'b#2'].map((id) => node(id));
    const targets = ['b', 'b', 'b#2', 'b'];
    const edges = [edge(START, 'a'), ...targets.map((to) => edge('a', to))];
    const graph = compileGraph({ id: 'g', nodes, edges });
    expect(graph.nodes[2]?.outgoing.map(({ key }) => key)).toEqual(['b', 'b#2', 'b#2#2', 'b#3']);
  });

  it('G5 outgoing edges stand in the order in which they are tried: weight, then declaration', () => {
    const nodes = ['a', 'b', 'c', 'd'].map((id) => node(id));
    const edges = [edge(START, 'a'), edge('a', 'b'), edge('a', 'c', { weight: 2 }), edge('a', 'd')];
    const graph = compileGraph({ id: 'g', nodes, edges });
    expect(graph.nodes[2]?.outgoing.map(({ label }) => label)).toEqual(['c', 'b', 'd']);
    expect(graph.edges.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  });

  it('G4 loops are named by their heads and listed outer first, however they are declared', () => {
    const ids = ['x,y', 'x', 'y', 'z'];
    const edges = [
      edge(START, 'x,y'),
      edge('x,y', 'x,y', { condition: compileExpression('true') }),
      edge(START, 'x'),
      edge(START, 'y'),
      edge('x', 'y'),
      edge('y', 'x'),
      edge('y', 'z'),
      edge('z', 'z'),
      edge('z', 'y'),
    ];
    const both = [ids, ids.toReversed()].map((order, index) =>
      compileGraph({ id: 'g', nodes: order.map((id) => node(id)), edges: index === 0 ? edges : edges.toReversed() }),
    );
    for (const graph of both) {
      expect(graph.loops.map(({ id, parent }) => [id, parent])).toEqual([
        ['x,y', undefined],
        [String.raw`x\,y`, undefined],
        ['z', 0],
      ]);
      expect(graph.nodes[graph.nodeIndex.get('z') ?? 0]?.loops).toEqual([0, 2]);
    }
  });
});

describe('hashes', () => {
  const hashes = (definition: GraphDefinition): Pick<Graph, 'hash' | 'codeHash'> => {
    const { hash, codeHash } = compileGraph(definition);
    return { hash, codeHash };
  };
  const base = hashes(line());

  it('G1 the hash is a fixed value: a change of it is a change of format', () => {
    expect(base.hash).toBe('1ce0fdfc59c7f5bb9d7c28a635dec8bbe48d0427a6827ae7b28e8800536e7c94');
  });

  it('G1 the order of nodes and of keys does not count', () => {
    expect(hashes(line({ nodes: [node('b'), node('a')] }))).toEqual(base);
    const keys = [
      { p: 1, q: { r: 2, s: 3 } },
      { q: { s: 3, r: 2 }, p: 1 },
    ].map((config) => hashes(line({}, { config })));
    expect(keys[0]).toEqual(keys[1]);
  });

  it.each<[string, GraphDefinition]>([
    ['config', line({}, { config: 1 })],
    ['version', line({}, { version: '2' })],
    ['type', line({}, { type: 'shell' })],
    ['effect', line({}, { effect: 'read' })],
    ['join', line({}, { join: 'all' })],
    ['retry', line({}, { retry: { attempts: 2 } })],
    ['reads', line({}, { reads: ['input.x'] })],
    ['when', line({}, { when: compileExpression('input == 1') })],
    ['policy', line({ policies: { concurrency: 2 } })],
    ['reducer', line({ reducers: { 'scratch.x': 'append' } })],
    ['schema', line({ schemas: { input: z.object({ a: z.string() }) } })],
    ['an edge', line({ edges: [edge(START, 'a'), edge('a', 'b'), edge('b', END), edge('a', END)] })],
    ['id', line({ id: 'h' })],
  ])('G1 the hash covers %s', (_, definition) => {
    expect(hashes(definition).hash).not.toBe(base.hash);
  });

  it('G1 functions count by name and version; their text only in the code hash', () => {
    const withCondition = (condition: EdgeDefinition['condition']): GraphDefinition =>
      line({ edges: [edge(START, 'a'), edge('a', 'b', condition === undefined ? {} : { condition }), edge('b', END)] });
    const one = hashes(withCondition(functionCondition(() => true, { text: 'check' })));
    const other = hashes(withCondition(functionCondition(() => [].length === 0, { text: 'check' })));
    const newer = hashes(withCondition(functionCondition(() => true, { text: 'check', version: '2' })));
    expect(other.hash).toBe(one.hash);
    expect(other.codeHash).not.toBe(one.codeHash);
    expect(newer.hash).not.toBe(one.hash);
    expect(newer.codeHash).toBe(one.codeHash);
    const rewritten = hashes(line({}, { implementation: { run: () => 5 } }));
    expect(rewritten.hash).toBe(base.hash);
    expect(rewritten.codeHash).not.toBe(base.codeHash);
    expect(hashes(line({}, { implementation: { run: () => 5, codeText: String(implementation.run) } }))).toEqual(base);
    const reduce = (current: unknown): unknown => current;
    const reduced = hashes(line({ reducers: { 'scratch.x': { name: 'mine', reduce } } }));
    const changed = hashes(line({ reducers: { 'scratch.x': { name: 'mine', reduce: (_current, update) => update } } }));
    expect(changed.hash).toBe(reduced.hash);
    expect(changed.codeHash).not.toBe(reduced.codeHash);
    const version = hashes(line({ reducers: { 'scratch.x': { name: 'mine', version: '2', reduce } } }));
    expect(version.hash).not.toBe(reduced.hash);
  });

  it('G1 schemas count by what they say', () => {
    const of = (schema: GraphDefinition['schemas']): string =>
      hashes(line(schema === undefined ? {} : { schemas: schema })).hash;
    expect(of({ input: z.object({ a: z.string() }) })).toBe(of({ input: z.object({ a: z.string() }) }));
    expect(of({ input: z.object({ a: z.string() }) })).not.toBe(of({ input: z.object({ a: z.number() }) }));
    expect(of({ input: z.object({ a: z.date().transform(String) }) })).not.toBe(
      of({ input: z.object({ b: z.date() }) }),
    );
    const foreign = (shape?: Readonly<Record<string, number>>): NonNullable<GraphDefinition['schemas']> => {
      const standard = { version: 1 as const, vendor: 'other', validate: (value: unknown) => ({ value }) };
      const toJSONSchema = (): never => {
        throw new Error('it cannot be said');
      };
      return { input: { '~standard': standard, ...(shape === undefined ? {} : { shape, toJSONSchema }) } };
    };
    expect(of(foreign())).not.toBe(of(foreign({ a: 1 })));
    expect(of(foreign({ a: 1 }))).not.toBe(of(foreign({ b: 1 })));
  });

  it('G1 a child graph is part of its node', () => {
    const child = (config: unknown): Graph => compileGraph(line({}, { config }));
    const parent = (config: unknown): Graph => compileGraph(line({}, { type: 'subgraph', subgraph: child(config) }));
    expect(parent(1).hash).toBe(parent(1).hash);
    expect(parent(1).hash).not.toBe(parent(2).hash);
    expect(parent(1).nodes[2]?.definitionHash).not.toBe(parent(2).nodes[2]?.definitionHash);
  });
});

describe('ids', () => {
  it('G2 any text of 1 to 512 bytes is an id', () => {
    const ids = ['a/b', '..', 'nul\0', '🪨', '__proto__', 'constructor', 'x'.repeat(512), ' '];
    const graph = compileGraph({
      id: '__proto__',
      nodes: ids.map((id) => node(id)),
      edges: ids.map((id) => edge(START, id)),
    });
    expect(graph.nodes.slice(2).map(({ id }) => id)).toEqual(ids);
    for (const id of ids) expect(graph.nodes[graph.nodeIndex.get(id) ?? 0]?.id).toBe(id);
    fc.assert(
      fc.property(fc.array(fc.nat(0x10ffff), { minLength: 1, maxLength: 100 }), (codePoints) => {
        const id = String.fromCodePoint(...codePoints);
        fc.pre(id.isWellFormed() && id !== START && id !== END);
        expect(compileGraph({ id: 'g', nodes: [node(id)], edges: [edge(START, id)] }).nodes[2]?.id).toBe(id);
      }),
      { numRuns: 30 },
    );
  }, 60_000);

  it.each([
    ['', 'is empty'],
    ['\ud800', 'lone surrogate'],
    ['é'.repeat(257), 'longer than 512 bytes'],
    [START, 'reserved'],
    [END, 'reserved'],
    [5 as unknown as string, 'of type number'],
    [null as unknown as string, 'is null'],
  ])('G2 %j is no id', (id, reason) => {
    expect(brief({ id: 'g', nodes: [node(id)], edges: [] }).join('\n')).toContain(reason);
  });

  it.each(['', '\ud800', 'é'.repeat(257), 5 as unknown as string])('G1 %j is no id of a graph', (id) => {
    expect(brief(line({ id })).join('\n')).toContain("G1 error graph: the graph's id");
  });
});
