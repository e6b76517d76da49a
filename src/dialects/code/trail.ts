/** Lays out a workflow's steps as nodes and edges, one after another. */
import { START, type Choice, type EdgeDefinition, type NodeDefinition, type Reducer } from '../../graph/graph.ts';
import type { Tools } from '../../graph/tool.ts';
import { Faults } from './faults.ts';
import type { Drafting } from './node-draft.ts';

/** An edge that has no target yet. The node that is laid next becomes its target. */
interface LooseEnd {
  readonly from: string;
  readonly choice?: Choice;
  readonly label?: string;
}

/** What all trails of one workflow write to. */
export interface Layout extends Drafting {
  readonly nodes: NodeDefinition[];
  readonly edges: EdgeDefinition[];
  readonly reducers: Map<string, Reducer>;
}

/**
 * One line of steps. A branch or a parallel part walks several trails over the same layout, and continues where they end.
 *
 * Nodes that the author did not name get ids made from the names next to them, never from a counter, so that adding a step elsewhere does
 * not rename them.
 */
export class Trail {
  readonly layout: Layout;
  #ends: readonly LooseEnd[];
  #name: string;

  private constructor(layout: Layout, ends: readonly LooseEnd[], name: string) {
    this.layout = layout;
    this.#ends = ends;
    this.#name = name;
  }

  static begin(tools: Tools): Trail {
    return new Trail(
      { nodes: [], edges: [], reducers: new Map(), faults: new Faults(), tools },
      [{ from: START }],
      'start',
    );
  }

  /** Id of the last named node. Ids of unnamed nodes after it are made from this. */
  get name(): string {
    return this.#name;
  }

  get isForked(): boolean {
    return this.#ends.length > 1;
  }

  /** Adds a node at the end of the trail. */
  lay(node: NodeDefinition): void {
    this.layout.nodes.push(node);
    this.leadTo(node.id, node.place);
    this.#ends = [{ from: node.id }];
    this.#name = node.id;
  }

  /** Connects every loose end to a node. */
  leadTo(to: string, place?: string): void {
    for (const end of this.#ends) this.layout.edges.push({ ...end, to, ...(place === undefined ? {} : { place }) });
  }

  /** Begins a new trail with its own name where this one ends. If a choice is given, the new trail begins with an edge of that choice. */
  split(name: string, choice?: Choice): Trail {
    const ends = choice === undefined ? this.#ends : this.#ends.map((end) => ({ ...end, choice, label: name }));
    return new Trail(this.layout, ends, name);
  }

  /** Continues this trail from the ends of all the given trails. */
  gather(trails: readonly Trail[]): void {
    this.#ends = trails.flatMap((trail) => trail.#ends);
  }
}
