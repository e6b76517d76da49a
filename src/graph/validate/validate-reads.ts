/** Checks the reads that nodes declare: that each exists, and that it is written before the node runs (G7). */
import type { GraphDefinition, NodeDefinition } from '../graph.ts';
import type { LinkedGraph } from '../shape/link-graph.ts';
import { nodePlace } from './validate-nodes.ts';
import type { Report } from './violations.ts';

/** State paths whose next part is a node id. */
const nodeRoots = ['outputs', 'failures'];
const roots = ['input', 'scratch', 'artifacts', 'diagnostics', ...nodeRoots];

interface Read {
  readonly reader: number;
  readonly producer: number;
  readonly channel: string;
}

/** The node whose output or failure a path names. Ids may contain dots, so prefixes are tried from the longest to the shortest. */
function producerOf(path: string, known: ReadonlyMap<string, number>): number | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const found = known.get(path.slice(0, end));
    if (found !== undefined) return found;
  }
  return undefined;
}

function collectReads(report: Report, definition: GraphDefinition, linked: LinkedGraph): readonly Read[] {
  const artifacts = new Map<string, number>();
  for (const node of definition.nodes) {
    const index = linked.nodeIndex.get(node.id);
    if (node.outputAs !== undefined && index !== undefined) artifacts.set(node.outputAs, index);
  }
  const reads: Read[] = [];
  const collect = (node: NodeDefinition, channel: string): void => {
    const dot = channel.indexOf('.');
    const root = dot < 0 ? channel : channel.slice(0, dot);
    const path = dot < 0 ? '' : channel.slice(dot + 1);
    if (!roots.includes(root) || (dot >= 0 && path === '')) {
      const message = `reads ${JSON.stringify(channel)}, which is no part of the state`;
      report.error('G7', nodePlace(node), message, `begin with one of: ${roots.join(', ')}`);
      return;
    }
    if (path === '' || (root !== 'artifacts' && !nodeRoots.includes(root))) return;
    const producer = producerOf(path, root === 'artifacts' ? artifacts : linked.nodeIndex);
    if (producer !== undefined) reads.push({ reader: linked.nodeIndex.get(node.id) ?? 0, producer, channel });
    else if (root !== 'artifacts') {
      report.error(
        'G7',
        nodePlace(node),
        `reads ${channel}, but there is no such node`,
        'correct the name, or add the node',
      );
    }
  };
  for (const node of definition.nodes) {
    const channels: unknown = node.reads ?? [];
    const isList = Array.isArray(channels) && channels.every((channel) => typeof channel === 'string');
    if (isList) for (const channel of channels as readonly string[]) collect(node, channel);
    else report.error('G2', nodePlace(node), 'reads is no list of texts', "list what it reads: ['scratch.plan']");
  }
  return reads;
}

/** Node indices in topological order, without back edges: each edge leads from an earlier node to a later one. */
function topologicalOrder(linked: LinkedGraph): readonly number[] {
  const pending = linked.nodes.map((node) => node.incoming.filter((edge) => !edge.leadsBack).length);
  const order = linked.nodes.flatMap((_, index) => (pending[index] === 0 ? [index] : []));
  for (let next = 0; next < order.length; next += 1) {
    for (const edge of linked.nodes[order[next] as number]?.outgoing ?? []) {
      if (edge.leadsBack) continue;
      pending[edge.to] = (pending[edge.to] as number) - 1;
      if (pending[edge.to] === 0) order.push(edge.to);
    }
  }
  return order;
}

/** Warns of reads of what a parallel node writes. It follows 32 producers at once, one bit each. */
function checkSideBySide(report: Report, linked: LinkedGraph, reads: readonly Read[]): void {
  const byProducer = Map.groupBy(reads, (read) => read.producer);
  const producers = [...byProducer.keys()];
  const order = producers.length === 0 ? [] : topologicalOrder(linked);
  for (let first = 0; first < producers.length; first += 32) {
    const block = producers.slice(first, first + 32);
    const after = new Int32Array(linked.nodes.length);
    const before = new Int32Array(linked.nodes.length);
    for (const [bit, producer] of block.entries()) after[producer] = before[producer] = 1 << bit;
    for (const node of order) {
      for (const edge of linked.nodes[node]?.incoming ?? []) {
        if (!edge.leadsBack) after[node] = (after[node] as number) | (after[edge.from] as number);
      }
    }
    for (const node of order.toReversed()) {
      for (const edge of linked.nodes[node]?.outgoing ?? []) {
        if (!edge.leadsBack) before[node] = (before[node] as number) | (before[edge.to] as number);
      }
    }
    const isOrdered = (read: Read, bit: number): boolean =>
      (((after[read.reader] as number) | (before[read.reader] as number)) & (1 << bit)) !== 0;
    for (const [bit, producer] of block.entries()) {
      for (const read of byProducer.get(producer) ?? []) if (!isOrdered(read, bit)) warnOf(report, linked, read);
    }
  }
}

function warnOf(report: Report, linked: LinkedGraph, { reader, producer, channel }: Read): void {
  const node = linked.nodes[reader]?.definition;
  if (node === undefined) return;
  const message = `reads ${channel}, which ${linked.nodes[producer]?.id ?? ''} writes side by side with it`;
  report.warn('G7', nodePlace(node), message, 'add an edge between the two, so that one comes first');
}

/** Checks the declared reads of every node. */
export function validateReads(report: Report, definition: GraphDefinition, linked: LinkedGraph): void {
  const reads = collectReads(report, definition, linked);
  if (!linked.holdsOneToken) checkSideBySide(report, linked, reads);
}
