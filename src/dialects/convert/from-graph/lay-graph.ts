/** A graph whose nodes may run side by side, as steps of which each says when it starts. Ways back are omitted. */
import type { GraphEdge, GraphNode } from '../../../graph/graph.ts';
import type { Ended, LaidStep } from '../outline/lay-ways.ts';
import { chose, finish, decidedBy, plainStep, workByHand } from '../outline/outline.ts';
import { endIndex, failing, isPlain, type GraphReading } from './graph-reading.ts';
import type { NodeWork } from './node-work.ts';

export function layGraph(reading: GraphReading): readonly LaidStep[] {
  return new GraphLaying(reading).steps();
}

/** The step over whose ends an edge fires. The start is none: what follows it always runs. */
interface Source {
  readonly step: string | undefined;
  readonly ends: ReadonlySet<string>;
}

class GraphLaying {
  readonly #reading: GraphReading;
  readonly #sources = new Map<GraphEdge, Source>();

  constructor(reading: GraphReading) {
    this.#reading = reading;
  }

  steps(): readonly LaidStep[] {
    const steps: LaidStep[] = [];
    /** For each node, all steps that have ended when what follows it starts. */
    const endedAfter = new Map<number, ReadonlySet<string>>();
    for (const node of this.#order()) {
      const incoming = node.incoming.filter(({ leadsBack }) => !leadsBack);
      const ended = new Set(incoming.flatMap(({ from }) => [...(endedAfter.get(from) ?? [])]));
      const add = (step: Omit<LaidStep, 'isAfter'>): void => {
        const before = new Set(ended);
        steps.push({ ...step, isAfter: (other) => before.has(other) });
        ended.add(step.step.id);
      };
      const work = this.#reading.workOf(node);
      if (work !== undefined) add(this.#node(node, work, incoming));
      for (const question of this.#decisions(node, work)) add(question);
      endedAfter.set(node.index, ended);
    }
    return steps;
  }

  /** Each node behind those that lead to it; without the end. */
  #order(): readonly GraphNode[] {
    const { nodes } = this.#reading.graph;
    const open = nodes.map(({ incoming }) => incoming.filter(({ leadsBack }) => !leadsBack).length);
    const ready = nodes.filter((_, index) => open[index] === 0);
    const order: GraphNode[] = [];
    for (let node = ready.shift(); node !== undefined; node = ready.shift()) {
      if (node.index !== endIndex) order.push(node);
      for (const { to, leadsBack } of node.outgoing) {
        if (leadsBack) continue;
        open[to] = (open[to] ?? 0) - 1;
        const target = nodes[to];
        if (open[to] === 0 && target !== undefined) ready.push(target);
      }
    }
    return order;
  }

  #node(
    node: GraphNode,
    { step, completes, fails, isByHand }: NodeWork,
    incoming: readonly GraphEdge[],
  ): Omit<LaidStep, 'isAfter'> {
    this.#reading.noteWhen(node);
    this.#noteJoin(node);
    const isFatal = failing(node).length === 0 && (node.onFailure === 'fail-run' || node.onFailure === 'fail-last');
    // A person who works by hand is not offered to fail where that would only fail the run.
    const isDoneOnly = isByHand && isFatal;
    const sources = incoming.map((edge) => this.#sources.get(edge)).filter((source) => source !== undefined);
    const needed = node.join === 'all' ? incoming.length : node.join === 'some' ? 1 : node.join.first;
    return {
      step: isDoneOnly ? { ...step, work: workByHand(`${node.id} (${node.type})`, false) } : step,
      ends: [
        ...completes.map((on) => ({ on, isFatal: false })),
        ...(fails === undefined || isDoneOnly ? [] : [{ on: fails, isFatal }]),
      ],
      reads: sources.flatMap((source) => (source.step === undefined ? [] : [source.step])),
      condition: '',
      starts: (ended) => (sources.filter((source) => fires(source, ended)).length >= needed ? 'yes' : 'no'),
    };
  }

  #noteJoin(node: GraphNode): void {
    if (typeof node.join === 'object')
      this.#reading.notes.lost(
        'PARALLEL',
        this.#reading.placeOf(node),
        `${node.id} starts when all before it are over, not after the first ${node.join.first}`,
        'nothing, or use a parallel stage',
      );
  }

  /** The questions that decide on edges out of a node. It becomes known here over which ends each of these fires. */
  #decisions(node: GraphNode, work: NodeWork | undefined): readonly Omit<LaidStep, 'isAfter'>[] {
    const sourceOf = this.#sourcesOf(node, work);
    const questions: Omit<LaidStep, 'isAfter'>[] = [];
    /** The questions for choices that several edges share. */
    const chosen = new Map<unknown, string>();
    for (const edge of node.outgoing) {
      const own = sourceOf(edge);
      if (edge.leadsBack) this.#noteLoop(node, edge);
      else if (isPlain(edge)) this.#sources.set(edge, own);
      else {
        const known = edge.choice === undefined ? undefined : chosen.get(edge.choice);
        const question = known ?? this.#ask(node, edge, own, questions);
        if (edge.choice !== undefined) chosen.set(edge.choice, question);
        const answer = edge.choice === undefined ? 'yes' : edge.label;
        this.#sources.set(edge, { step: question, ends: new Set([chose(answer)]) });
      }
    }
    return questions;
  }

  /** For each edge, over which ends of its own node it fires. */
  #sourcesOf(node: GraphNode, work: NodeWork | undefined): (edge: GraphEdge) => Source {
    const isPassedOver = node.onFailure === 'continue' && failing(node).length === 0;
    const failed = work?.fails === undefined ? [] : [work.fails];
    const completes = [...(work?.completes ?? []), ...(isPassedOver ? failed : [])];
    const ends = { completed: completes, failed, any: [...completes, ...failed] };
    return ({ on }) => ({ step: work?.step.id, ends: new Set(ends[on]) });
  }

  /** Adds the question for an edge. @returns its id */
  #ask(node: GraphNode, edge: GraphEdge, source: Source, questions: Omit<LaidStep, 'isAfter'>[]): string {
    const decision = this.#reading.decisionOn(node, [edge]);
    const isShared = edge.choice !== undefined;
    const id = this.#reading.takeId(isShared ? `${node.id}_way` : `${node.id}_to_${this.#reading.targetOf(edge)}`);
    const question = isShared ? decision : `Does this hold after ${node.id}? ${edge.condition?.text ?? ''}`;
    const answers = isShared
      ? node.outgoing.filter(({ choice }) => choice === edge.choice).map(({ label }) => label)
      : ['yes', 'no'];
    const { work, ends } = decidedBy(question, new Map(answers.map((answer) => [answer, finish])));
    questions.push({
      step: { ...plainStep, id, place: this.#reading.placeOf(node), work },
      ends: ends.map(({ on }) => ({ on, isFatal: false })),
      reads: source.step === undefined ? [] : [source.step],
      condition: '',
      starts: (ended) => (fires(source, ended) ? 'yes' : 'no'),
    });
    return id;
  }

  #noteLoop(node: GraphNode, edge: GraphEdge): void {
    this.#reading.notes.lost(
      'LOOP',
      this.#reading.placeOf(node),
      `the way back from ${node.id} to ${this.#reading.targetOf(edge)} is left out`,
      'fork the run before that node, or keep this part in code',
    );
  }
}

function fires({ step, ends }: Source, ended: (id: string) => Ended): boolean {
  return step === undefined || ends.has(ended(step) ?? '');
}
