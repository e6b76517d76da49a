/** The nodes of a graph, and what is said of the edges between them. What functions and expressions decide, a person decides. */
import type { Graph, GraphEdge, GraphNode } from '../../../graph/graph.ts';
import { freeId, failure, finish, type Target } from '../outline/outline.ts';
import type { Notes } from '../outline/notes.ts';
import { workOfNode, type NodeWork } from './node-work.ts';

/** The indexes of the nodes at which each graph begins and ends. */
const startIndex = 0;
export const endIndex = 1;

export class GraphReading {
  readonly graph: Graph;
  readonly notes: Notes;
  readonly #works: ReadonlyMap<number, NodeWork>;
  readonly #ids: Set<string>;

  constructor(graph: Graph, notes: Notes) {
    this.graph = graph;
    this.notes = notes;
    this.#ids = new Set(graph.nodes.map(({ id }) => id));
    const working = graph.nodes.filter(({ index }) => index !== startIndex && index !== endIndex);
    this.#works = new Map(working.map((node) => [node.index, workOfNode(node, this.placeOf(node), notes)]));
  }

  placeOf({ id }: GraphNode): string {
    return `${this.graph.id}/${id}`;
  }

  /** What a node does; undefined: it is the start or the end. */
  workOf({ index }: GraphNode): NodeWork | undefined {
    return this.#works.get(index);
  }

  targetOf({ to }: GraphEdge): Target {
    return to === endIndex ? finish : (this.graph.nodes[to]?.id ?? failure);
  }

  /** An id for a step that the graph does not have. */
  takeId(wanted: string): string {
    const id = freeId(wanted, this.#ids);
    this.#ids.add(id);
    return id;
  }

  noteWhen(node: GraphNode): void {
    if (node.when !== undefined)
      this.notes.lost(
        'CONDITION',
        this.placeOf(node),
        `${node.id} always runs where it is come to: ${node.when.text} is not asked`,
        'decide on the way to it',
      );
  }

  /** The question for a person who decides over edges, which is noted. */
  decisionOn(node: GraphNode, edges: readonly GraphEdge[]): string {
    const texts = edges.map(({ choice, condition }) => choice?.text ?? condition?.text);
    const names = [...new Set(texts.filter((text) => text !== undefined))].join(', ');
    const name = node.index === startIndex ? 'the start' : node.id;
    this.notes.lost(
      'CONDITION',
      this.placeOf(node),
      `the way after ${name} is decided by ${names}, which does not carry over; a person is asked`,
      'decide by an exit code, a verdict or an answer',
    );
    return `Which way after ${name}? It was decided by ${names}.`;
  }
}

export const completing = ({ outgoing }: GraphNode): readonly GraphEdge[] =>
  outgoing.filter(({ on }) => on !== 'failed');
export const failing = ({ outgoing }: GraphNode): readonly GraphEdge[] =>
  outgoing.filter(({ on }) => on !== 'completed');
/** Whether an edge is taken whenever its node ended as it asks. */
export const isPlain = ({ condition, choice }: GraphEdge): boolean => condition === undefined && choice === undefined;
