/** A live frame beside the tree that a load would fold from its deltas. */
import type { Reducer } from '../../src/graph/graph.ts';
import { compileChannels } from '../../src/state/channels/run-reducer.ts';
import { admitValue, type Admitted } from '../../src/state/values/admit.ts';
import { encodeValue } from '../../src/state/values/encode.ts';
import { applyDelta, DeltaBuilder, reviveTree } from '../../src/state/delta.ts';
import { Frame } from '../../src/state/frame.ts';
import type { FrameTree, NodeRecord } from '../../src/state/tree.ts';
import { objectOf } from './arbitrary-value.ts';

const limits = { valueBytes: 1_000_000, valueDepth: 100 };
export const admit = (value: unknown): Admitted => admitValue(value, [], limits);

const reducers: Readonly<Record<string, Reducer>> = {
  'scratch.list': 'append',
  'scratch.text': 'append',
  'scratch.union': 'union',
  'scratch.obj': 'merge',
  'scratch.sum': 'sum',
  'scratch.$': 'append',
  'scratch.nest.items': 'append',
  'scratch.nest.mean': 'avg',
  'scratch.custom': { name: 'add', reduce: (current, update) => [...((current ?? []) as unknown[]), update] },
  'artifacts.log': 'append',
};
const outputNames = new Map([['report', 'n1']]);
const path = ['frame', 'nodes', 'a', 'children', '$', 'x'];

/** A frame deep in a run's tree, and the same tree as a load would fold it from the deltas. */
export class FrameBench {
  readonly delta: DeltaBuilder = new DeltaBuilder();
  readonly frame: Frame;
  readonly #folded: Record<string, unknown>;
  #hasTags = false;

  constructor(tree: FrameTree = emptyTree()) {
    this.frame = new Frame(tree, path, this.delta, compileChannels(reducers), outputNames);
    this.#folded = JSON.parse(encodeValue(rooted(tree))) as Record<string, unknown>;
    this.#hasTags = true;
  }

  apply(partition: string, entries: readonly (readonly [string, unknown])[]): void {
    this.frame.applyUpdates({
      [partition]: objectOf(entries.map(([key, value]) => [key, admit(value)])) as Record<string, Admitted>,
    });
  }

  setNode(nodeId: string, record: NodeRecord): void {
    this.frame.setNode(nodeId, record, encodeValue(record));
  }

  /** The tree as it is read back from the store. */
  fold(): FrameTree {
    const text = this.delta.take();
    if (text.includes('"$":')) this.#hasTags = true;
    applyDelta(this.#folded, JSON.parse(text) as readonly unknown[]);
    let at: unknown = reviveTree(structuredClone(this.#folded), this.#hasTags);
    for (const key of path) at = (at as Record<string, unknown>)[key];
    return at as FrameTree;
  }
}

export function emptyTree(): FrameTree {
  return {
    input: { topic: 'x', list: [1] },
    channels: { scratch: { text: '', $: '' }, artifacts: {}, diagnostics: {} },
    nodes: {},
  };
}

function rooted(tree: FrameTree): unknown {
  return [...path].reverse().reduce<unknown>((inner, key) => ({ [key]: inner }), tree);
}
