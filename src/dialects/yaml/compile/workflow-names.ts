/**
 * The names that texts of a workflow may use: its inputs, its blocks with their fields, and its secrets, with their types as far as known.
 */
import { nearest } from '../../../graph/nearest.ts';
import { waveNumbers } from '../../../graph/shape/loops.ts';
import type { Faults } from '../file/faults.ts';
import { reservedIds } from '../file/format.ts';
import { type BlockFile, isCall, type WorkflowFile } from '../file/workflow-file.ts';
import type { JsonSchema, NodeType } from '../../../graph/contracts/node-type.ts';
import type { TextWorkflow, WorkflowInput } from '../../text-workflow.ts';
import type { Names } from '../expression/template.ts';
import { forEachFields } from '../block-nodes/for-each.ts';

// Determines how the blocks of a workflow depend on each other: ids are known and unique, there are no cycles, and which block ends before
// which.

/** The most blocks in a file. */
const blocksMax = 10_000;

export interface BlockOrder {
  /** The usable blocks by id, in the order of the file. */
  readonly blocks: ReadonlyMap<string, BlockFile>;
  /** Wave of each block, counted from 0, in the order of `blocks`. */
  readonly waves: readonly number[];
  /** Whether a block has ended, in whatever way, before another starts. */
  readonly isBefore: (first: string, second: string) => boolean;
  /**
   * Whether a block need not run, or may fail without failing the workflow: it or one that it requires has a condition, a for_each or
   * `continue_on_error`. A workflow may call itself from there, since that can end.
   */
  readonly isSkippable: (id: string) => boolean;
}

/** Checks ids and dependencies and computes the order. Every fault is reported; edges of a cycle are omitted. */
export function orderBlocks(faults: Faults, files: readonly BlockFile[]): BlockOrder {
  const blocks = collectBlocks(faults, files);
  const ids = [...blocks.keys()];
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const sources = [...blocks.values()].map((block) => readDependencies(faults, block, indexOf));
  reportCircles(faults, [...blocks.values()], sources);
  const edges = sources.flatMap((from, to) => from.map((index) => ({ from: index, to })));
  const waves = waveNumbers(ids.length, edges);
  const before = ancestors(sources, waves);
  const isBefore = (first: string, second: string): boolean => {
    const [from, to] = [indexOf.get(first), indexOf.get(second)];
    if (from === undefined || to === undefined) return true;
    return ((before[to]?.[from >> 5] ?? 0) & (1 << (from & 31))) !== 0;
  };
  const skippable = skippableBlocks([...blocks.values()], waves);
  return { blocks, waves, isBefore, isSkippable: (id) => skippable.has(id) };
}

function skippableBlocks(blocks: readonly BlockFile[], waves: readonly number[]): ReadonlySet<string> {
  const found = new Set<string>();
  const inOrder = blocks
    .map((block, index) => ({ block, wave: waves[index] ?? 0 }))
    .toSorted((a, b) => a.wave - b.wave);
  for (const { block } of inOrder) {
    const isOwn = block.condition !== undefined || block.forEach !== undefined || block.continuesOnError;
    if (isOwn || block.dependsOn.some(({ block: id, isRequired }) => isRequired && found.has(id))) found.add(block.id);
  }
  return found;
}

function collectBlocks(faults: Faults, files: readonly BlockFile[]): ReadonlyMap<string, BlockFile> {
  const blocks = new Map<string, BlockFile>();
  if (files.length > blocksMax)
    faults.add(['blocks'], {
      rule: 'Y2',
      message: `there are ${files.length} blocks, over the limit of ${blocksMax}`,
      fix: 'put parts into workflows of their own, or use for_each',
    });
  for (const block of files.slice(0, blocksMax)) {
    const first = blocks.get(block.id);
    if (block.id === '') continue;
    if (first !== undefined) {
      const message = `block ${block.id} is there already, as item ${Number(first.at[1]) + 1}`;
      faults.add([...block.at, 'id'], { rule: 'Y3', message, fix: 'give each block an id of its own' });
      continue;
    }
    if (reservedIds.includes(block.id) || block.id.startsWith('__'))
      faults.add([...block.at, 'id'], {
        rule: 'Y3',
        message: `\`${block.id}\` cannot be the id of a block: texts read it as something else`,
        fix: 'give the block another id',
      });
    blocks.set(block.id, block);
  }
  return blocks;
}

/** The first names, for messages, since a file may have very many. */
function firstNames(indexOf: ReadonlyMap<string, number>): string {
  const names: string[] = [];
  for (const id of indexOf.keys()) if (names.push(id) === 20) break;
  return names.join(', ');
}

function readDependencies(faults: Faults, block: BlockFile, indexOf: ReadonlyMap<string, number>): readonly number[] {
  const found = new Set<number>();
  for (const { block: id, at } of block.dependsOn) {
    const index = indexOf.get(id);
    const add = (message: string, fix: string): void => faults.add(at, { rule: 'Y3', message, fix });
    if (id === block.id) add(`block ${id} depends on itself`, 'remove it');
    else if (index === undefined) {
      const near = nearest(id, indexOf.keys());
      add(
        `block ${block.id} depends on ${id}, which is not there`,
        near === undefined ? `there are: ${firstNames(indexOf)}` : `did you mean ${near}?`,
      );
    } else if (found.has(index)) add(`block ${block.id} names ${id} twice`, 'keep one of the two');
    else found.add(index);
  }
  return [...found];
}

/** Reports one cycle for each set of blocks that wait for each other, with its path. */
function reportCircles(faults: Faults, blocks: readonly BlockFile[], sources: readonly (readonly number[])[]): void {
  // 0: not seen, 1: on the current path, 2: done. An explicit list, because recursion over thousands of blocks would overflow the stack.
  const state = new Uint8Array(blocks.length);
  for (let root = 0; root < blocks.length; root += 1) {
    if (state[root] !== 0) continue;
    const way: { readonly node: number; next: number }[] = [{ node: root, next: 0 }];
    state[root] = 1;
    while (way.length > 0) {
      const top = way.at(-1) as (typeof way)[number];
      const source = sources[top.node]?.[top.next];
      top.next += 1;
      if (source === undefined) {
        state[top.node] = 2;
        way.pop();
      } else if (state[source] === 0) {
        state[source] = 1;
        way.push({ node: source, next: 0 });
      } else if (state[source] === 1)
        reportCircle(
          faults,
          blocks,
          way.map(({ node }) => node),
          source,
        );
    }
  }
}

function reportCircle(faults: Faults, blocks: readonly BlockFile[], way: readonly number[], closes: number): void {
  const circle = way.slice(way.indexOf(closes)).map((node) => blocks[node] as BlockFile);
  const last = circle.at(-1) as BlockFile;
  const first = circle[0] as BlockFile;
  // The path runs against the edges: each block waits for the one after it.
  const chain = [...circle.map(({ id }) => id), first.id].join(' -> ');
  const at = last.dependsOn.find(({ block }) => block === first.id)?.at ?? last.at;
  faults.add(at, {
    rule: 'Y3',
    message: `blocks wait for each other: ${chain} (each waits for the next)`,
    fix: 'take one of these out of depends_on',
  });
}

/** For each block, a bit for every block that ends before it. */
function ancestors(sources: readonly (readonly number[])[], waves: readonly number[]): readonly Uint32Array[] {
  const words = (sources.length + 31) >> 5;
  const before = sources.map(() => new Uint32Array(words));
  const order = sources.map((_, index) => index).toSorted((a, b) => (waves[a] ?? 0) - (waves[b] ?? 0));
  for (const index of order) {
    const own = before[index] as Uint32Array;
    for (const source of sources[index] ?? []) {
      own[source >> 5] = (own[source >> 5] ?? 0) | (1 << (source & 31));
      const theirs = before[source] as Uint32Array;
      for (let word = 0; word < words; word += 1) own[word] = (own[word] ?? 0) | (theirs[word] ?? 0);
    }
  }
  return before;
}

interface Surroundings {
  readonly inputs: readonly WorkflowInput[];
  readonly order: BlockOrder;
  /** The workflows that its blocks run, by block. */
  readonly children: ReadonlyMap<string, TextWorkflow>;
  readonly types: ReadonlyMap<string, NodeType>;
}

/** The names of one workflow. The fields of a block are found on first use. */
export function namesOf(file: WorkflowFile, { inputs, order, children, types }: Surroundings): Names {
  const known = new Map<string, readonly string[] | undefined>();
  return {
    inputs: inputs.map(({ name }) => name),
    blocks: [...order.blocks.keys()],
    secrets: file.secrets,
    typeOf: (name, field) => typeOfName(name, field, { inputs, order, types }),
    hasEach: false,
    fieldsOf: (id) => {
      if (!known.has(id)) known.set(id, fieldsOf(order.blocks.get(id), children.get(id), types));
      return known.get(id);
    },
  };
}

/** The single type of an input, or of a block's field; undefined if not known or several. */
function typeOfName(
  name: string,
  field: string | undefined,
  { inputs, order, types }: Omit<Surroundings, 'children'>,
): string | undefined {
  const single = (schema: JsonSchema | undefined): string | undefined =>
    typeof schema?.['type'] === 'string' ? schema['type'] : undefined;
  if (field === undefined) {
    const input = inputs.find((one) => one.name === name);
    // An optional input may be null, for which the same message would not fit.
    return single(input?.schema);
  }
  const block = order.blocks.get(name);
  const type = block === undefined || block.forEach !== undefined ? undefined : types.get(block.type);
  return type === undefined || isCall(type) || !Object.hasOwn(type.outputs, field)
    ? undefined
    : single(type.outputs[field]?.schema);
}

function fieldsOf(
  block: BlockFile | undefined,
  child: TextWorkflow | undefined,
  types: ReadonlyMap<string, NodeType>,
): readonly string[] | undefined {
  if (block === undefined) return undefined;
  if (block.forEach !== undefined) return forEachFields;
  const type = types.get(block.type);
  if (type === undefined) return undefined;
  const own = Object.keys(type.outputs);
  if (isCall(type)) {
    const called = child?.outputs.map(({ name }) => name);
    return called && [...own.filter((name) => name !== 'outputs'), ...called];
  }
  if (own.length === 0) return undefined;
  return [...own, ...block.fileOutputs.map(({ name }) => name)];
}
