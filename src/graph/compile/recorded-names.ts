/** Nodes and steps that the code names otherwise than waiting runs have them on record (G15). */
import type { EdgeDefinition, Graph, GraphDefinition, NodeDefinition, Violation } from '../graph.ts';
import { nearest } from '../nearest.ts';
import { idFault } from '../validate/violations.ts';

interface Recorded {
  /** The definition under the recorded names. */
  readonly definition: GraphDefinition;
  readonly violations: readonly Violation[];
}

/** What `renamed` says, by the node's name in the code. */
interface Renames {
  readonly nodes: ReadonlyMap<string, string>;
  readonly steps: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly violations: readonly Violation[];
}

/**
 * Gives each renamed node the id that runs have on record, everywhere in the definition, so that keys, waits, hashes and the replay index
 * stay as they are. A rewritten state would change all of them.
 */
export function withRecordedNames(written: GraphDefinition): Recorded {
  const { renamed, ...definition } = written;
  if (renamed === undefined || Object.keys(renamed).length === 0) return { definition, violations: [] };
  const renames = readRenames(definition.nodes, renamed);
  const idOf = (name: string): string => renames.nodes.get(name) ?? name;
  const { onCancel, onRunFailure } = definition.policies ?? {};
  const followUps = {
    ...(onCancel !== undefined && { onCancel: idOf(onCancel) }),
    ...(onRunFailure !== undefined && { onRunFailure: idOf(onRunFailure) }),
  };
  return {
    definition: {
      ...definition,
      nodes: definition.nodes.map((node) => recordedNode(node, renames)),
      edges: definition.edges.map((edge) => recordedEdge(edge, idOf)),
      ...(definition.policies !== undefined && { policies: { ...definition.policies, ...followUps } }),
    },
    violations: renames.violations,
  };
}

function readRenames(nodes: readonly NodeDefinition[], renamed: Readonly<Record<string, string>>): Renames {
  const names = nodes.map(({ id }) => id);
  const known = new Map<string, string>();
  const steps = new Map<string, Map<string, string>>();
  const violations: Violation[] = [];
  const refuse = (name: string, message: string, fix: string): void => {
    const place = nodes.find(({ id }) => id === name)?.place ?? `renamed ${name}`;
    violations.push({ rule: 'G15', severity: 'error', place, message, fix });
  };
  for (const [name, recorded] of Object.entries(renamed)) {
    const fault = idFault(recorded);
    if (fault !== undefined) {
      refuse(name, `the recorded name ${fault}`, 'give the name that runs have on record');
      continue;
    }
    if (names.includes(name)) {
      known.set(name, recorded);
      continue;
    }
    const node = names.filter((id) => name.startsWith(`${id}/`)).reduce((a, b) => (b.length > a.length ? b : a), '');
    if (node !== '')
      steps.set(node, (steps.get(node) ?? new Map<string, string>()).set(name.slice(node.length + 1), recorded));
    else {
      const guess = nearest(name, names);
      const fix = `${guess === undefined ? '' : `did you mean ${guess}? `}write { NEW: 'OLD' } for a node, { 'NODE/NEW': 'OLD' } for a step of it`;
      refuse(name, `there is no node ${JSON.stringify(name)}`, fix);
    }
  }
  const taken = new Set(names.filter((id) => !known.has(id)));
  for (const [name, recorded] of known) {
    if (taken.has(recorded)) {
      refuse(name, `another node is ${JSON.stringify(recorded)} already`, 'give the other node a name of its own');
      known.delete(name);
    }
    taken.add(recorded);
  }
  return { nodes: known, steps, violations };
}

function recordedNode(node: NodeDefinition, { nodes, steps: stepsOf }: Renames): NodeDefinition {
  const id = nodes.get(node.id) ?? node.id;
  const steps = stepsOf.get(node.id) ?? new Map<string, string>();
  const reads = node.reads?.map((channel) => recordedChannel(channel, nodes));
  const more = { ...node, ...(reads !== undefined && { reads }) };
  if (id === node.id && steps.size === 0) return more;
  // An output that has the name of its node is renamed with it.
  const isNamedAlike = node.outputAs === node.id && id !== node.id;
  return {
    ...more,
    id,
    ...(isNamedAlike && { outputAs: id }),
    inCode: { node: node.id, steps, ...(isNamedAlike && { outputAs: node.id }) },
  };
}

function recordedChannel(channel: string, nodes: ReadonlyMap<string, string>): string {
  for (const area of ['outputs.', 'failures.', 'artifacts.'])
    for (const [name, id] of nodes) {
      const own = `${area}${name}`;
      if (channel === own || channel.startsWith(`${own}.`)) return `${area}${id}${channel.slice(own.length)}`;
    }
  return channel;
}

function recordedEdge(edge: EdgeDefinition, idOf: (name: string) => string): EdgeDefinition {
  const [from, to] = [idOf(edge.from), idOf(edge.to)];
  if (from === edge.from && to === edge.to) return edge;
  // Functions go on to return the label by which they know the edge.
  return { ...edge, from, to, label: edge.label ?? edge.to };
}

/** The id of the node that the code calls by a name; the name itself, if there is none. */
export function recordedIdOf({ nodes }: Graph, name: string): string {
  return nodes.find(({ id, inCode }) => (inCode?.node ?? id) === name)?.id ?? name;
}
