/** Reads a compiled graph as an outline: its order, its ways, and what of its nodes is data. */
import { CairnError } from '../../../errors.ts';
import type { Graph, GraphEdge, GraphNode } from '../../../graph/graph.ts';
import { layWays, type Ended, type LaidStep } from '../outline/lay-ways.ts';
import type { Notes } from '../outline/notes.ts';
import { chose, failure, finish, type Outline, type Step, type Target } from '../outline/outline.ts';
import { decidedBy, freeId, plainStep, reachableSteps } from '../outline/stand-in.ts';
import { workOfNode, type NodeWork } from './node-work.ts';

export function outlineOfGraph(graph: Graph, notes: Notes): Outline {
  const reading = new GraphReading(graph, notes);
  const ways = graph.holdsOneToken || reading.goesOneWay() ? reading.walk() : layWays(reading.laid(), notes);
  if (ways === undefined)
    throw new CairnError('GRAPH_INVALID', {
      graphId: graph.id,
      violations: [
        {
          rule: 'CV3',
          severity: 'error',
          place: graph.id,
          message: 'it has too many ways to be written one by one',
          fix: 'convert its parts one by one',
        },
      ],
    });
  if (graph.schemas.input !== undefined)
    notes.lost(
      'CODE',
      graph.id,
      'the schema of the input does not carry over: there are no inputs',
      'declare the inputs',
    );
  for (const path of Object.keys(graph.reducers))
    notes.lost(
      'CODE',
      graph.id,
      `the reducer of ${path} does not carry over`,
      'nothing, unless a command needs the value',
    );
  const { budget, onBudget } = graph.policies;
  return {
    name: graph.id,
    description: undefined,
    inputs: [],
    budget: budget === undefined ? {} : { budget, ...(onBudget !== undefined && { onBudget }) },
    first: ways.first,
    steps: reachableSteps(ways),
  };
}

const none = 'none of these';

class GraphReading {
  readonly #graph: Graph;
  readonly #notes: Notes;
  readonly #works = new Map<number, NodeWork>();
  readonly #ids: Set<string>;

  constructor(graph: Graph, notes: Notes) {
    this.#graph = graph;
    this.#notes = notes;
    this.#ids = new Set(graph.nodes.map(({ id }) => id));
    for (const node of graph.nodes.slice(2)) this.#works.set(node.index, workOfNode(node, this.#placeOf(node), notes));
  }

  #placeOf({ id }: GraphNode): string {
    return `${this.#graph.id}/${id}`;
  }

  /** Whether each node leads to one other at most, however its edges are chosen. */
  goesOneWay(): boolean {
    return this.#graph.nodes.every((node) => {
      const [first, ...others] = completing(node);
      const isShared = first?.choice !== undefined && others.every(({ choice }) => choice === first.choice);
      return others.length === 0 || isShared;
    });
  }

  /** A walk from node to node, with its loops. */
  walk(): { readonly first: Target; readonly steps: readonly Step[] } {
    const [start, ...nodes] = this.#graph.nodes.filter(({ index }) => index !== 1) as [GraphNode, ...GraphNode[]];
    const asked: Step[] = [];
    const after = (node: GraphNode): Target => this.#after(node, completing(node), asked);
    const first = after(start);
    const steps = nodes.map((node): Step => {
      const { step, completes, fails } = this.#workOf(node);
      this.#noteWhen(node);
      const to = after(node);
      const ends = completes.map((on) => ({ on, to }));
      if (fails === undefined) return { ...step, ends };
      const failing = failingEdges(node);
      const failed = failing.length > 0 ? this.#after(node, failing, asked) : unmended(node, to);
      return withoutUnusedFailure({ ...step, ends: [...ends, { on: fails, to: failed }] }, fails);
    });
    return { first, steps: [...steps, ...asked] };
  }

  #workOf(node: GraphNode): NodeWork {
    return this.#works.get(node.index) as NodeWork;
  }

  #noteWhen(node: GraphNode): void {
    if (node.when !== undefined)
      this.#notes.lost(
        'CONDITION',
        this.#placeOf(node),
        `${node.id} always runs where it is come to: ${node.when.text} is not asked`,
        'decide on the way to it',
      );
  }

  #targetOf({ to }: GraphEdge): Target {
    return to === 1 ? finish : (this.#graph.nodes[to]?.id ?? failure);
  }

  /** Where the run goes over one of these edges; a person decides what a function or an expression did. */
  #after(node: GraphNode, edges: readonly GraphEdge[], asked: Step[]): Target {
    const [first] = edges;
    if (first === undefined) return finish;
    if (isPlain(first)) return this.#targetOf(first);
    const ways = new Map<string, Target>();
    for (const edge of edges) {
      ways.set(freeId(this.#sayingOf(edge), ways), this.#targetOf(edge));
      if (isPlain(edge)) break;
    }
    const isWhole = first.choice !== undefined || edges.some(isPlain);
    if (!isWhole) ways.set(none, finish);
    const question = this.#question(node, edges);
    const id = freeId(`${node.id}_way`, this.#ids);
    this.#ids.add(id);
    asked.push({ ...plainStep, id, place: this.#placeOf(node), ...decidedBy(question, ways) });
    return id;
  }

  #sayingOf(edge: GraphEdge): string {
    if (edge.choice !== undefined) return edge.label;
    return edge.condition?.text || `otherwise to ${this.#targetOf(edge) === finish ? 'the end' : this.#targetOf(edge)}`;
  }

  #question(node: GraphNode, edges: readonly GraphEdge[]): string {
    const texts = new Set(
      edges.map(({ choice, condition }) => choice?.text ?? condition?.text).filter((text) => text !== undefined),
    );
    const said = [...texts].join(', ');
    const name = node.index === 0 ? 'the start' : node.id;
    this.#notes.lost(
      'CONDITION',
      this.#placeOf(node),
      `the way after ${name} is decided by ${said}, which does not carry over; a person is asked`,
      'decide by an exit code, a verdict or an answer',
    );
    return `Which way after ${name}? It was decided by ${said}.`;
  }

  /** Nodes that may run side by side, one after the other. Ways back are left out. */
  laid(): readonly LaidStep[] {
    const order = this.#order();
    const after = new Map<number, ReadonlySet<string>>();
    const laid: LaidStep[] = [];
    /** For each edge, the step and the ends over which it fires. */
    const fires = new Map<GraphEdge, { readonly step: string; readonly ends: ReadonlySet<string> }>();
    for (const node of order) {
      const incoming = node.incoming.filter(({ leadsBack }) => !leadsBack);
      const before = new Set(incoming.flatMap(({ from }) => [...(after.get(from) ?? [])]));
      if (node.index > 1) {
        this.#noteWhen(node);
        laid.push(this.#laidNode(node, incoming, fires, new Set(before)));
        before.add(node.id);
      }
      after.set(node.index, before);
      for (const question of this.#decisions(node, fires)) {
        laid.push({ ...question, after: new Set(before) });
        before.add(question.step.id);
      }
    }
    return laid;
  }

  #laidNode(
    node: GraphNode,
    incoming: readonly GraphEdge[],
    fires: ReadonlyMap<GraphEdge, { readonly step: string; readonly ends: ReadonlySet<string> }>,
    after: ReadonlySet<string>,
  ): LaidStep {
    const { step, completes, fails } = this.#workOf(node);
    const isFatal = failingEdges(node).length === 0 && node.onFailure === 'fail-run';
    const sources = incoming.map((edge) => fires.get(edge));
    const needed = node.join === 'all' ? incoming.length : node.join === 'some' ? 1 : node.join.first;
    if (typeof node.join === 'object')
      this.#notes.lost(
        'PARALLEL',
        this.#placeOf(node),
        `${node.id} starts when all before it are over, not after the first ${needed}`,
        'nothing, or use a parallel stage',
      );
    const isByHand = fails !== undefined && fails !== 'fail';
    const taken = isByHand && isFatal ? [] : fails === undefined ? [] : [{ on: fails, isFatal }];
    const work = isByHand && isFatal && step.work.kind === 'choice' ? { ...step.work, choices: ['done'] } : step.work;
    return {
      step: { ...step, work },
      ends: [...completes.map((on) => ({ on, isFatal: false })), ...taken],
      reads: sources.flatMap((source) => (source === undefined || source.step === '' ? [] : [source.step])),
      after,
      condition: '',
      starts: (ended: (id: string) => Ended) => {
        const fired = sources.filter(
          (source) => source !== undefined && (source.step === '' || source.ends.has(ended(source.step) ?? '')),
        );
        return fired.length >= needed ? 'yes' : 'no';
      },
    };
  }

  /** The questions that decide on edges out of a node. */
  #decisions(
    node: GraphNode,
    fires: Map<GraphEdge, { readonly step: string; readonly ends: ReadonlySet<string> }>,
  ): readonly Omit<LaidStep, 'after'>[] {
    const work = this.#works.get(node.index);
    const id = work?.step.id ?? '';
    const questions: Omit<LaidStep, 'after'>[] = [];
    const failed = new Set(work?.fails === undefined ? [] : [work.fails]);
    const passes = node.onFailure === 'continue' && failingEdges(node).length === 0;
    const completes = new Set([...(work?.completes ?? ['']), ...(passes ? failed : [])]);
    const chosen = new Map<unknown, { readonly step: string }>();
    for (const edge of node.outgoing) {
      if (edge.leadsBack) {
        this.#notes.lost(
          'LOOP',
          this.#placeOf(node),
          `the way back from ${node.id} to ${this.#targetOf(edge)} is left out`,
          'fork the run before that node, or keep this part in code',
        );
        continue;
      }
      const own =
        edge.on === 'completed' ? completes : edge.on === 'failed' ? failed : new Set([...completes, ...failed]);
      if (isPlain(edge)) {
        fires.set(edge, { step: id, ends: own });
        continue;
      }
      const labels =
        edge.choice === undefined
          ? ['yes', 'no']
          : node.outgoing.filter(({ choice }) => choice === edge.choice).map(({ label }) => label);
      const known = edge.choice === undefined ? undefined : chosen.get(edge.choice);
      const step =
        known?.step ??
        freeId(edge.choice === undefined ? `${node.id}_to_${this.#targetOf(edge)}` : `${node.id}_way`, this.#ids);
      if (known === undefined) {
        this.#ids.add(step);
        if (edge.choice !== undefined) chosen.set(edge.choice, { step });
        const question =
          edge.choice === undefined
            ? `Does this hold after ${node.id}? ${edge.condition?.text ?? ''}`
            : this.#question(node, [edge]);
        if (edge.choice === undefined) this.#question(node, [edge]);
        const { work: asks, ends } = decidedBy(question, new Map(labels.map((label) => [label, finish])));
        questions.push({
          step: { ...plainStep, id: step, place: this.#placeOf(node), work: asks },
          ends: ends.map(({ on }) => ({ on, isFatal: false })),
          reads: id === '' ? [] : [id],
          condition: '',
          starts: (ended) => (id === '' || own.has(ended(id) ?? '') ? 'yes' : 'no'),
        });
      }
      fires.set(edge, { step, ends: new Set([chose(edge.choice === undefined ? 'yes' : edge.label)]) });
    }
    return questions;
  }

  /** Each node behind those that lead to it; END is left out. */
  #order(): readonly GraphNode[] {
    const { nodes } = this.#graph;
    const open = nodes.map(({ incoming }) => incoming.filter(({ leadsBack }) => !leadsBack).length);
    const ready = nodes.filter((_, index) => open[index] === 0);
    const order: GraphNode[] = [];
    for (let node = ready.shift(); node !== undefined; node = ready.shift()) {
      if (node.index !== 1) order.push(node);
      for (const { to, leadsBack } of node.outgoing) {
        if (leadsBack) continue;
        open[to] = (open[to] ?? 0) - 1;
        const target = nodes[to];
        if (open[to] === 0 && target !== undefined) ready.push(target);
      }
    }
    return order;
  }
}

const completing = ({ outgoing }: GraphNode): readonly GraphEdge[] => outgoing.filter(({ on }) => on !== 'failed');
const failingEdges = ({ outgoing }: GraphNode): readonly GraphEdge[] => outgoing.filter(({ on }) => on !== 'completed');
const isPlain = ({ condition, choice }: GraphEdge): boolean => condition === undefined && choice === undefined;

/** Where a failure leads that no edge takes. */
function unmended({ onFailure }: GraphNode, completed: Target): Target {
  if (onFailure === 'continue') return completed;
  return onFailure === 'fail-run' ? failure : finish;
}

/** A person who works by hand is not offered to fail where that would only fail the run. */
function withoutUnusedFailure(step: Step, fails: string): Step {
  const isUnused = fails !== 'fail' && step.ends.some(({ on, to }) => on === fails && to === failure);
  if (!isUnused || step.work.kind !== 'choice') return step;
  return {
    ...step,
    work: { ...step.work, choices: step.work.choices.filter((choice) => chose(choice) !== fails) },
    ends: step.ends.filter(({ on }) => on !== fails),
  };
}
