/** The node suite: what every node type must satisfy, whoever wrote it. It works with any test runner. */
import assert from 'node:assert/strict';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type Graph, type NodeDefinition } from '../../graph/graph.ts';
import { Outcome, partitions, stepsOutput } from '../../graph/contracts/node-contract.ts';
import { admitValue } from '../../state/values/admit.ts';
import { deepFreeze } from '../../state/values/freeze.ts';
import { createFakeContext, createStateView, type FakeContext, type FakeContextOptions } from './fake-context.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface NodeSuiteOptions {
  /** The `test` function of your test runner: Vitest, node:test, Jest … */
  readonly test: (title: string, run: () => Promise<void>) => void;
  /** Name of the node type in test titles. */
  readonly name: string;
  /** Makes the node, a new one for each call. */
  readonly draft: () => Omit<NodeDefinition, 'id'>;
  /** Makes the context that the node needs to complete. Called for each run. */
  readonly context?: () => FakeContextOptions | Promise<FakeContextOptions>;
  /** Makes a version of the node that never ends by itself. Leave it out for nodes that await nothing. */
  readonly endless?: () => Omit<NodeDefinition, 'id'>;
}

const optionNames = Object.keys({ test: true, name: true, draft: true, context: true, endless: true } satisfies Record<
  keyof NodeSuiteOptions,
  true
>);

const limits = { valueBytes: 64 * 1024 * 1024, valueDepth: 500 };

/** Declares the tests of one node type. */
export function nodeSuite(options: NodeSuiteOptions): void {
  refuseUnknownKeys('nodeSuite', options, optionNames);
  const { test, name, draft, context = (): FakeContextOptions => ({}), endless } = options;
  const run = async (made: Omit<NodeDefinition, 'id'>, changes: FakeContextOptions = {}): Promise<Ended> => {
    const base = await context();
    const ctx = createFakeContext({
      ...base,
      ...changes,
      config: made.config,
      state: deepFreeze(createStateView(base.state)),
    });
    return { ctx, returned: await made.implementation.run(ctx) };
  };

  test(`G1 ${name}: is data and code: it compiles, and made twice it has one hash`, async () => {
    assert.equal(compileAlone(draft()).hash, compileAlone(draft()).hash);
    assert.equal(compileAlone(draft()).codeHash, compileAlone(draft()).codeHash);
    await Promise.resolve();
  });

  test(`C2 ${name}: completes over a frozen state, with an outcome that can be stored`, async () => {
    const { returned } = await run(draft());
    for (const [place, value] of listValues(returned)) admitValue(value, [place], limits);
  });

  test(`X4 ${name}: is pure, read or human if it takes recorded steps, asks or runs children`, async () => {
    const made = draft();
    const { steps, questions, children } = (await run(made)).ctx.record;
    const isComposed = steps.length + questions.length + children.length > 0;
    assert.ok(!isComposed || ['pure', 'read', 'human'].includes(made.effect), `a composed node is ${made.effect}`);
  });

  if (endless === undefined) return;

  test(`E6 ${name}: ends soon after its signal is aborted`, async () => {
    const abort = new AbortController();
    const ended = run(endless(), { signal: abort.signal });
    setImmediate(() => abort.abort(new Error('aborted by the suite')));
    await assert.rejects(ended);
  });

  test(`E6 ${name}: does nothing under a signal that is aborted already`, async () => {
    await assert.rejects(run(endless(), { signal: AbortSignal.abort(new Error('aborted by the suite')) }));
  });
}

interface Ended {
  readonly ctx: FakeContext;
  readonly returned: unknown;
}

/** A graph of this node alone. */
function compileAlone(draft: Omit<NodeDefinition, 'id'>): Graph {
  return compileGraph({
    id: 'alone',
    nodes: [{ ...draft, id: 'node' }],
    edges: [
      { from: START, to: 'node' },
      { from: 'node', to: END },
    ],
  });
}

function listValues(returned: unknown): readonly (readonly [string, unknown])[] {
  if (!(returned instanceof Outcome)) return [['output', returned]];
  const { parts } = returned;
  const updates = partitions.flatMap((partition) => Object.entries(parts[partition] ?? {}));
  return parts.output === stepsOutput ? updates : [['output', parts.output], ...updates];
}
