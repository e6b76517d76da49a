/** A graph in which a run is at one node at a time, as a walk from node to node, with its loops. */
import type { Graph, GraphEdge, GraphNode } from '../../../graph/graph.ts';
import { freeId, chose, failure, finish, type Step, type Target, decidedBy, plainStep } from '../outline/outline.ts';
import type { Ways } from '../outline/lay-ways.ts';
import { completing, failing, isPlain, type GraphReading } from './graph-reading.ts';
import type { NodeWork } from './node-work.ts';

/** Whether each node leads to one other at most, however its edges are chosen. */
export function goesOneWay({ nodes }: Graph): boolean {
  return nodes.every((node) => {
    const [first, ...others] = completing(node);
    const isShared = first?.choice !== undefined && others.every(({ choice }) => choice === first.choice);
    return others.length === 0 || isShared;
  });
}

export function walkGraph(reading: GraphReading): Ways {
  return new GraphWalk(reading).ways();
}

class GraphWalk {
  readonly #reading: GraphReading;
  /** The questions that stand in for what decided on edges. */
  readonly #questions: Step[] = [];

  constructor(reading: GraphReading) {
    this.#reading = reading;
  }

  ways(): Ways {
    const [start, , ...nodes] = this.#reading.graph.nodes as readonly [GraphNode, GraphNode, ...GraphNode[]];
    const first = this.#after(start, completing(start));
    const steps = nodes.map((node) => this.#step(node, this.#reading.workOf(node) as NodeWork));
    return { first, steps: [...steps, ...this.#questions] };
  }

  #step(node: GraphNode, { step, completes, fails }: NodeWork): Step {
    this.#reading.noteWhen(node);
    const to = this.#after(node, completing(node));
    const ends = completes.map((on) => ({ on, to }));
    if (fails === undefined) return { ...step, ends };
    const edges = failing(node);
    const failed = edges.length > 0 ? this.#after(node, edges) : unmended(node, to);
    return withoutUnusedFailure({ ...step, ends: [...ends, { on: fails, to: failed }] }, fails);
  }

  /** Where the run goes over one of these edges. */
  #after(node: GraphNode, edges: readonly GraphEdge[]): Target {
    const [first] = edges;
    if (first === undefined) return finish;
    if (isPlain(first)) return this.#reading.targetOf(first);
    const ways = new Map<string, Target>();
    for (const edge of edges) {
      ways.set(freeId(this.#sayingOf(edge), ways), this.#reading.targetOf(edge));
      if (isPlain(edge)) break;
    }
    const isWhole = first.choice !== undefined || edges.some(isPlain);
    if (!isWhole) ways.set('none of these', finish);
    const question = this.#reading.decisionOn(node, edges);
    const id = this.#reading.takeId(`${node.id}_way`);
    this.#questions.push({ ...plainStep, id, place: this.#reading.placeOf(node), ...decidedBy(question, ways) });
    return id;
  }

  #sayingOf(edge: GraphEdge): string {
    if (edge.choice !== undefined) return edge.label;
    const to = this.#reading.targetOf(edge);
    return edge.condition?.text || `otherwise to ${to === finish ? 'the end' : to}`;
  }
}

/** Where a failure leads that no edge takes. */
function unmended({ onFailure }: GraphNode, completed: Target): Target {
  if (onFailure === 'continue') return completed;
  return onFailure === 'fail-run' || onFailure === 'fail-last' ? failure : finish;
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
