/** Lays a workflow's steps out as nodes and edges, one after another. */
import { START, type Choice, type EdgeDefinition, type NodeDefinition, type Reducer } from '../../graph/graph.ts';
import type { Tools } from '../../graph/tool.ts';
import { Faults } from './faults.ts';
import type { Drafting } from './node-draft.ts';

/** An edge that has no target yet: the next node laid is its target. */
interface LooseEnd {
  readonly from: string;
  readonly choice?: Choice;
  readonly label?: string;
}

/** What the trails of one workflow share. */
export interface Layout extends Drafting {
  readonly nodes: NodeDefinition[];
  readonly edges: EdgeDefinition[];
  readonly reducers: Map<string, Reducer>;
}

/**
 * One line of steps. A branch and a parallel part walk several trails over one layout, and go on where these end.
 *
 * Ids of nodes that the author did not name are made from names of the author's beside them, never from a count, so a step
 * added elsewhere changes none of them.
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

  /** The id of the last named place; names what comes after it. */
  get name(): string {
    return this.#name;
  }

  get isForked(): boolean {
    return this.#ends.length > 1;
  }

  /** Lays a node at the end of the trail. */
  lay(node: NodeDefinition): void {
    this.layout.nodes.push(node);
    this.leadTo(node.id, node.place);
    this.#ends = [{ from: node.id }];
    this.#name = node.id;
  }

  /** Ties every loose end to a node. */
  leadTo(to: string, place?: string): void {
    for (const end of this.#ends) this.layout.edges.push({ ...end, to, ...(place === undefined ? {} : { place }) });
  }

  /** A trail that starts where this one ends, under a name of its own; over the edge of a choice if one is given. */
  split(name: string, choice?: Choice): Trail {
    const ends = choice === undefined ? this.#ends : this.#ends.map((end) => ({ ...end, choice, label: name }));
    return new Trail(this.layout, ends, name);
  }

  /** Goes on where all of these trails end. */
  gather(trails: readonly Trail[]): void {
    this.#ends = trails.flatMap((trail) => trail.#ends);
  }
}
