/** Validates a definition and collects everything that is wrong with it (G7). */
import {
  type GraphDefinition,
  type Reducer,
  type ReducerName,
  type NodeDefinition,
  type Choice,
  type EdgeDefinition,
  END,
  START,
  type GraphEdge,
  type Loop,
  type Violation,
} from '../graph.ts';
import { memoryConsistencies } from '../contracts/memory-consistency.ts';
import { partitions } from '../contracts/node-contract.ts';
import {
  checkLimit,
  type Report,
  checkBounds,
  checkFields,
  checkOneOf,
  checkRange,
  createReport,
  idFault,
} from './violations.ts';
import { edgePlace, type LinkedGraph, type LinkedNode } from '../shape/link-graph.ts';
import { nodePlace, validateNodes } from './validate-nodes.ts';
import { maxLoopDepth } from '../shape/loops.ts';
import { webhookFaults } from '../webhooks.ts';

// Checks of reducers, schemas and policies (G9, E5).

const policyFields = [
  'routing',
  'checkpoint',
  'concurrency',
  'maxVisits',
  'durability',
  'checkpointBytes',
  'budget',
  'onBudget',
  'memoryConsistency',
  'limit',
  'onCancel',
  'onRunFailure',
  'timeLimit',
  'title',
];

const reducerNames: readonly ReducerName[] = [
  'last',
  'first',
  'append',
  'merge',
  'union',
  'sum',
  'min',
  'max',
  'avg',
  'longest',
];

function checkReducer(report: Report, place: string, reducer: Reducer): void {
  if (typeof reducer === 'string') {
    checkOneOf(report, 'G9', place, 'the reducer', reducer, reducerNames);
  } else if (typeof reducer?.reduce !== 'function' || typeof reducer.name !== 'string' || reducer.name === '') {
    report.error('G9', place, 'a custom reducer needs a name and a function', 'give `{ name, reduce }`');
  }
}

function checkReducerPath(report: Report, place: string, path: string): void {
  const [partition, ...keys] = path.split('.');
  if (!partitions.some((known) => known === partition)) {
    const fix = `begin the path with one of: ${partitions.join(', ')}`;
    report.error('G9', place, `${JSON.stringify(partition)} is no part of the state that can be written`, fix);
  }
  if (keys.length === 0 || keys.includes('')) {
    report.error('G9', place, 'the path names no channel', 'give a path such as scratch.messages');
  }
}

function validateReducers(report: Report, reducers: Readonly<Record<string, Reducer>>): void {
  const paths = Object.keys(reducers);
  const known = new Set(paths);
  for (const path of paths) {
    const place = `reducer ${path}`;
    checkReducerPath(report, place, path);
    checkReducer(report, place, reducers[path] as Reducer);
    for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
      const above = path.slice(0, dot);
      if (known.has(above)) {
        report.error('G9', place, `the reducer of ${above} merges this path already`, 'keep one of the two reducers');
      }
    }
  }
}

/** Checks the reducers, schemas and policies of a graph. */
function validateChannels(report: Report, definition: GraphDefinition): void {
  validateReducers(report, definition.reducers ?? {});
  const schemas = definition.schemas ?? {};
  checkFields(report, 'schemas', schemas, ['input', 'scratch', 'artifacts']);
  for (const [name, schema] of Object.entries(schemas)) {
    if (schema === undefined || typeof schema['~standard']?.validate === 'function') continue;
    report.error(
      'G1',
      `schema ${name}`,
      'this is no Standard Schema',
      'use a schema of Zod 4 or another library that follows it',
    );
  }
  const policies = definition.policies ?? {};
  checkFields(report, 'policies', policies, policyFields);
  for (const [name, value] of Object.entries(policies)) {
    if (value === undefined) report.error('G9', 'policies', `${name} is undefined`, 'give a value, or leave it out');
  }
  checkOneOf(report, 'G5', 'policies', 'routing', policies.routing, ['all', 'first']);
  checkOneOf(report, 'C10', 'policies', 'checkpoint', policies.checkpoint, ['every_node', 'explicit', 'none']);
  checkOneOf(report, 'E4', 'policies', 'durability', policies.durability, ['barrier', 'exit']);
  checkRange(report, 'policies', 'concurrency', policies.concurrency, { min: 1, max: 100_000 });
  checkRange(report, 'policies', 'maxVisits', policies.maxVisits, { min: 1 });
  checkRange(report, 'policies', 'checkpointBytes', policies.checkpointBytes, { min: 1 });
  checkBounds(report, 'policies', 'budget', policies.budget);
  checkTimeLimit(report, policies.timeLimit);
  if (policies.title !== undefined && typeof policies.title !== 'function')
    report.error('E2', 'policies', 'title is no function', 'write it as ({ input }) => `Refund of ${input.order}`');
  checkOneOf(report, 'Q4', 'policies', 'onBudget', policies.onBudget, ['ask', 'fail']);
  checkOneOf(report, 'A43', 'policies', 'memoryConsistency', policies.memoryConsistency, memoryConsistencies);
  checkLimit(report, 'policies', policies.limit);
  for (const fault of definition.webhooks === undefined ? [] : webhookFaults(definition.webhooks))
    report.error('WH1', 'webhooks', fault, 'give `{ url, on, secret }`');
}

function checkTimeLimit(report: Report, limit: unknown): void {
  if (limit === undefined) return;
  const {
    ms,
    countsWaits = true,
    ...others
  } = (typeof limit === 'number' ? { ms: limit } : { ...(limit as object) }) as {
    readonly ms?: unknown;
    readonly countsWaits?: unknown;
  };
  const isTime = typeof ms === 'number' && Number.isSafeInteger(ms) && ms >= 1;
  if (isTime && typeof countsWaits === 'boolean' && Object.keys(others).length === 0) return;
  const message = `timeLimit is ${JSON.stringify(limit)}, which is no time`;
  report.error('E6', 'policies', message, 'give whole ms, or { ms, countsWaits: false }');
}

// Warns of effects in doubt that a person could confirm without giving the state updates that later decisions depend on (X3).

const channelRead = new RegExp(`\\b(?:state\\.)?(?:${partitions.join('|')})[.[]`);

/** Whether a person may be asked if the effect happened. */
function mayNeedDoubt({ effect, idempotent, implementation }: NodeDefinition): boolean {
  const isEffect = effect === 'write' || effect === 'external';
  return isEffect && idempotent !== true && implementation.reconcile === undefined;
}

/**
 * Reports edges whose condition reads such updates. Conditions written as functions are skipped, because what they read is known only when
 * they run.
 */
function validateDoubts(report: Report, { nodes, edges }: GraphDefinition): void {
  if (!Array.isArray(nodes) || !Array.isArray(edges)) return;
  const doubted = new Set(nodes.filter(mayNeedDoubt).map(({ id }) => id));
  for (const edge of edges) {
    const text = edge.condition?.text;
    if (!doubted.has(edge.from) || text === undefined || !channelRead.test(text)) continue;
    report.warn(
      'X3',
      edgePlace(edge),
      `its condition reads the state after ${edge.from}; a person who says that ${edge.from} happened must give its updates, or the run goes the other way`,
      'give the node a `reconcile` that returns an outcome, or let the condition read its output',
    );
  }
}

// Checks each edge, by itself and among the edges of the same source (G3, G5, G9).

const edgeFields = ['from', 'to', 'on', 'condition', 'choice', 'label', 'weight', 'always', 'place'];

function checkEnds(report: Report, edge: EdgeDefinition, ids: ReadonlySet<string>): void {
  const place = edgePlace(edge);
  for (const id of edge.from === edge.to ? [edge.from] : [edge.from, edge.to]) {
    if (!ids.has(id))
      report.error('G1', place, `unknown node ${JSON.stringify(id)}`, 'add the node, or correct the edge');
  }
  if (edge.to === START)
    report.error('G1', place, 'an edge into START', 'lead it to the node that is meant; START is only left');
  if (edge.from === END) report.error('G1', place, 'an edge out of END', 'start it at another node; END is a sink');
}

function checkRouting(report: Report, edge: EdgeDefinition): void {
  const place = edgePlace(edge);
  checkOneOf(report, 'G8', place, 'on', edge.on, ['completed', 'failed', 'any']);
  if (edge.weight !== undefined && !Number.isFinite(edge.weight)) {
    report.error('G5', place, `weight is ${String(edge.weight)}`, 'give a finite number');
  }
  if (edge.condition !== undefined && edge.choice !== undefined) {
    report.error('G5', place, 'a condition and a choice on one edge', 'keep one of the two');
  }
  if (edge.choice !== undefined && edge.label === '') {
    report.error('G5', place, 'an edge of a choice without a label', 'give it the label that the choice returns');
  }
  const isConditional = edge.condition !== undefined || edge.choice !== undefined;
  if (edge.always === true && (isConditional || (edge.on !== undefined && edge.on !== 'any'))) {
    report.error(
      'G9',
      place,
      'always on an edge with a condition',
      'an always edge fires however its source settled: keep one of the two',
    );
  }
  if (edge.from === START && edge.on === 'failed') {
    report.error('G9', place, 'an edge for the failure of START, which never fails', 'remove the edge or its `on`');
  }
}

/** Checks that each label of a choice stands for one edge, because a choice names edges by label. */
function checkLabels(report: Report, edges: readonly EdgeDefinition[]): void {
  const bySource = new Map<string, Map<Choice, Set<string>>>();
  for (const edge of edges) {
    if (edge.choice === undefined) continue;
    const choices = bySource.get(edge.from) ?? new Map<Choice, Set<string>>();
    bySource.set(edge.from, choices);
    const labels = choices.get(edge.choice) ?? new Set<string>();
    choices.set(edge.choice, labels);
    const label = edge.label ?? edge.to;
    if (labels.has(label)) {
      const message = `a second edge labelled ${JSON.stringify(label)} of the same choice`;
      report.error('G5', edgePlace(edge), message, 'give each edge of a choice a label of its own');
    }
    labels.add(label);
  }
}

/** Checks every edge. */
function validateEdges(report: Report, definition: GraphDefinition): void {
  const ids = new Set([START, END, ...definition.nodes.map((node) => node.id)]);
  for (const edge of definition.edges) {
    checkFields(report, edgePlace(edge), edge, edgeFields);
    checkEnds(report, edge, ids);
    checkRouting(report, edge);
  }
  checkLabels(report, definition.edges);
}

// Checks the reads that nodes declare: that each exists, and that it is written before the node runs (G7).

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
function validateReads(report: Report, definition: GraphDefinition, linked: LinkedGraph): void {
  const reads = collectReads(report, definition, linked);
  if (!linked.holdsOneToken) checkSideBySide(report, linked, reads);
}

// Checks the shape of the whole graph: reachability, joins and loops (G3, G4, G7).

const placeOf = (node: LinkedNode | undefined): string =>
  node?.definition === undefined ? (node?.id ?? '') : nodePlace(node.definition);

/** What is followed by a node of its own, in words. */
const followed = { onCancel: 'a cancel', onRunFailure: 'the failure of the run' } as const;

/** Checks the node that runs after a cancel or a failure: it is no part of the run's ways, so no edge may touch it (E7.4, E7.5). */
function checkFollowUp(report: Report, linked: LinkedGraph, policy: keyof typeof followed, named: unknown): void {
  const index = typeof named === 'string' ? linked.nodeIndex.get(named) : undefined;
  const node = index === undefined || index < 2 ? undefined : linked.nodes[index];
  if (node === undefined) {
    const message = `${policy} is ${JSON.stringify(named)}, which is no node`;
    return report.error('E7', 'policies', message, 'name a node of the graph');
  }
  const what = followed[policy];
  if (node.incoming.length + node.outgoing.length > 0)
    report.error(
      'E7',
      placeOf(node),
      `an edge leads to or from the node of ${policy}, which runs after ${what} and at no other time`,
      `remove its edges; what follows ${what} is done in this one node, or in a child run of it`,
    );
  for (const name of ['join', 'when'] as const)
    if (node.definition?.[name] !== undefined)
      report.error('E7', placeOf(node), `${name} of the node of ${policy} has no effect`, 'leave it out');
}

function checkFollowUps(report: Report, linked: LinkedGraph, policies: GraphDefinition['policies'] = {}): void {
  const { onCancel, onRunFailure } = policies;
  if (onCancel !== undefined) checkFollowUp(report, linked, 'onCancel', onCancel);
  if (onRunFailure !== undefined) checkFollowUp(report, linked, 'onRunFailure', onRunFailure);
  if (onCancel !== undefined && onCancel === onRunFailure)
    report.error('E7', 'policies', `onCancel and onRunFailure are both ${onCancel}`, 'name two nodes, one for each');
}

function checkReach(report: Report, linked: LinkedGraph, followUps: readonly unknown[]): void {
  const reached = new Set<number>([0]);
  const open = [0];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const edge of linked.nodes[node]?.outgoing ?? []) {
      if (!reached.has(edge.to)) open.push(edge.to);
      reached.add(edge.to);
    }
  }
  if (linked.nodes[0]?.outgoing.length === 0) {
    report.error('G1', 'graph', 'no entry', 'add an edge from START to the node that comes first');
    return;
  }
  for (const [index, node] of linked.nodes.entries()) {
    if (index < 2 || reached.has(index) || followUps.includes(node.id)) continue;
    report.error(
      'G7',
      placeOf(node),
      'the node can never run: nothing leads to it from START',
      'lead an edge to it, or remove it',
    );
  }
}

function checkFirstJoin(report: Report, node: LinkedNode): void {
  const join = node.definition?.join;
  if (typeof join !== 'object' || join === null) return;
  const count = node.incoming.filter((edge) => !edge.leadsBack).length;
  if (join.first > count) {
    const message = `join first ${join.first}, but only ${count} edges can settle before it starts`;
    report.error('G3', placeOf(node), message, 'ask for fewer, or add edges; edges that lead back do not count');
  }
}

function checkLoop(report: Report, linked: LinkedGraph, loop: Loop): void {
  if (loop.heads.length < 2) return;
  const heads = loop.heads.map((head) => linked.nodes[head]?.id).join(', ');
  const message = `the loop of ${loop.nodes.length} nodes has several heads: ${heads}`;
  report.warn(
    'G4',
    `loop ${loop.id}`,
    message,
    'each round starts those that an edge led back to; enter the loop at one node if that is not meant',
  );
}

const isUnconditional = (edge: GraphEdge): boolean =>
  edge.condition === undefined && edge.choice === undefined && edge.on !== 'failed' && !edge.always;

/** Checks what shows only in the linked graph. */
function validateShape(report: Report, definition: GraphDefinition, linked: LinkedGraph): void {
  checkFollowUps(report, linked, definition.policies);
  checkReach(report, linked, [definition.policies?.onCancel, definition.policies?.onRunFailure]);
  for (const node of linked.nodes) checkFirstJoin(report, node);
  if (linked.isTooDeep) {
    report.error('G4', 'graph', `loops are nested deeper than ${maxLoopDepth}`, 'put the inner loops into a subgraph');
  }
  for (const edge of linked.edges) {
    if (!edge.always || !edge.leadsBack) continue;
    const fix = 'remove `always`: it would start round after round for ever';
    report.error('G3', linked.edgePlaces[edge.index] ?? '', 'an always edge that leads back into its loop', fix);
  }
  if (definition.policies?.routing === 'first') return;
  for (const loop of linked.loops) checkLoop(report, linked, loop);
  for (const edge of linked.edges) {
    if (edge.exitOf === undefined || !isUnconditional(edge)) continue;
    const message = `an unconditional edge out of the loop ${linked.loops[edge.exitOf]?.id ?? ''}`;
    report.warn(
      'G4',
      linked.edgePlaces[edge.index] ?? '',
      message,
      'it fires once, after the loop is done; give it a condition if that is not meant',
    );
  }
}

const graphFields = [
  'id',
  'nodes',
  'edges',
  'reducers',
  'schemas',
  'policies',
  'text',
  'result',
  'migrations',
  'version',
  'webhooks',
];

/** Reports every violation in a definition, errors and warnings. `linked` holds the part of it that could be linked. */
export function validateGraph(definition: GraphDefinition, linked: LinkedGraph): readonly Violation[] {
  const report = createReport();
  checkFields(report, 'graph', definition, graphFields);
  const fault = idFault(definition.id);
  if (fault !== undefined) report.error('G1', 'graph', `the graph's id ${fault}`, 'give an id of 1 to 512 bytes');
  const { text } = definition;
  if (text !== undefined && typeof text !== 'string')
    report.error('G9', 'graph', 'the text is no text', 'give what the graph was compiled from, or leave it out');
  validateNodes(report, definition);
  validateEdges(report, definition);
  validateChannels(report, definition);
  validateShape(report, definition, linked);
  validateReads(report, definition, linked);
  validateDoubts(report, definition);
  return Object.freeze([...report.violations]);
}
