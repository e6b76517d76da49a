/** Records which stages and edges of a pipeline the runs of a simulation reached. */
import type { Layout } from '../model/layout.ts';
import type { Pipeline, PipelineEdge } from '../model/pipeline.ts';
import type { StageEnding } from '../run/stage/stage-parts.ts';

export interface UncoveredEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly condition: string;
  /** The place as `file:line:column`. */
  readonly place: string;
}

export interface Coverage {
  readonly stages: { readonly count: number; readonly missed: readonly string[] };
  readonly edges: { readonly count: number; readonly missed: readonly UncoveredEdge[] };
}

/** The stages and edges that the runs so far reached. */
export class Covered {
  readonly #pipeline: Pipeline;
  readonly #layout: Layout;
  readonly stages: Set<string> = new Set();
  readonly edges: Set<number> = new Set();

  constructor(pipeline: Pipeline, layout: Layout) {
    this.#pipeline = pipeline;
    this.#layout = layout;
  }

  get count(): number {
    return this.stages.size + this.edges.size;
  }

  /** Whether there is nothing left to come to. */
  get isWhole(): boolean {
    return this.count === this.#pipeline.stages.size + this.#pipeline.edges.length;
  }

  /**
   * @param begun - the stages of one run that began: one that is cancelled does not end
   * @param endings - those that ended
   */
  add(begun: ReadonlySet<string>, endings: readonly StageEnding[]): void {
    for (const { edge } of endings) if (edge !== undefined) this.edges.add(edge);
    for (const stage of begun) {
      this.stages.add(stage);
      // The edges to branches are all taken, without a choice. Their first stages tell whether the branches began.
      const branches = this.#layout.branches.get(stage);
      for (const { index, to } of branches === undefined ? [] : (this.#layout.outgoing.get(stage) ?? []))
        if (to === branches?.join || begun.has(to)) this.edges.add(index);
    }
  }
}

export function coverageOf({ stages, edges }: Pipeline, covered: Covered, placeOf: (at: number) => string): Coverage {
  const missed = ({ from, to, attributes, at }: PipelineEdge): UncoveredEdge => ({
    from,
    to,
    label: attributes.text('label'),
    condition: attributes.text('condition'),
    place: placeOf(at),
  });
  return {
    stages: { count: stages.size, missed: [...stages.keys()].filter((id) => !covered.stages.has(id)) },
    edges: { count: edges.length, missed: edges.filter(({ index }) => !covered.edges.has(index)).map(missed) },
  };
}
