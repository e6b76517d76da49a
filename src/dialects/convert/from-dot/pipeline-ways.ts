/** Which way a pipeline goes from each end of a stage, found by its own rules. Diamonds are gone through: they decide, and do nothing. */
import { parseCondition } from '../../dot/model/edge-condition.ts';
import type { Pipeline, Stage } from '../../dot/model/pipeline.ts';
import { retryTargets, type Layout } from '../../dot/model/layout.ts';
import { chooseEdge, wayLabel, type Way } from '../../dot/run/stage/choose-edge.ts';
import type { Notes } from '../outline/notes.ts';
import { failure, finish, type Step, type Target, freeId, decidedBy, plainStep } from '../outline/outline.ts';

/** How a stage ended, as far as its edges can tell. */
export interface Ending {
  readonly outcome: 'success' | 'partial_success' | 'fail';
  readonly label?: string;
  readonly suggested?: readonly string[];
  /** What the context holds of it. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A condition reads what is known only in a run. */
class Unknown extends Error {
  readonly key: string;
  constructor(key: string) {
    super(key);
    this.key = key;
  }
}

/** The most diamonds in a row. */
const diamondsMax = 1_000;

export interface WaysOptions {
  readonly pipeline: Pipeline;
  readonly layout: Layout;
  readonly notes: Notes;
  readonly placeOf: (at: number) => string;
}

export class PipelineWays {
  /** Questions that stand in for decisions which cannot be made from how a stage ended. */
  readonly questions: Map<string, Step> = new Map();
  readonly #options: WaysOptions;
  readonly #params: ReadonlySet<string>;
  /** The stage at which the branch ends that is walked through. */
  #join: string | undefined;

  constructor(options: WaysOptions) {
    this.#options = options;
    this.#params = new Set(['goal', ...options.pipeline.params.map(({ name }) => name)]);
  }

  edgesOf(id: string): readonly Way[] {
    const { layout, pipeline } = this.#options;
    return (layout.outgoing.get(id) ?? []).map(({ index, to, attributes }) => ({
      label: wayLabel(index),
      to,
      caption: attributes.text('label'),
      clauses: parseCondition(attributes.text('condition')).clauses ?? [],
      weight: attributes.integer('weight') ?? 0,
      takesFailures: pipeline.stages.get(to)?.type === 'conditional',
    }));
  }

  /** Where a run goes when a stage ended so. @param isChosen - whether a person chose among the edges */
  leave(stage: Stage, ending: Ending, isChosen = false): Target {
    this.#join = joinAround(stage.id, this.#options.layout);
    return this.#leave(stage, ending, isChosen, 0);
  }

  /** Where a run goes that comes to a stage from inside of branches, or from their end. */
  arriveFrom(parallel: Stage, id: string, ending: Ending): Target {
    this.#join = joinAround(parallel.id, this.#options.layout);
    return this.#arrive(id, ending, 0);
  }

  /** The step at which a branch begins. */
  firstOf(entry: string, join: string): Target {
    this.#join = join;
    return this.#arrive(entry, { outcome: 'success' }, 0);
  }

  #leave(stage: Stage, ending: Ending, isChosen: boolean, depth: number): Target {
    const edges = this.edgesOf(stage.id).map((edge) => (isChosen ? { ...edge, clauses: [] } : edge));
    const { outcome, label, suggested } = ending;
    try {
      const way = chooseEdge(
        { edges, isChosen },
        {
          outcome,
          ...(label !== undefined && { preferred_label: label }),
          ...(suggested !== undefined && { suggested_next_ids: suggested }),
        },
        (key) => this.#valueOf(key, stage, ending),
      );
      if (way !== undefined) return this.#arrive(way.to, ending, depth);
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      return this.#ask(stage, ending, error.key, depth);
    }
    const jump = outcome === 'fail' ? retryTargets(stage).find((to) => this.#stageOf(to) !== undefined) : undefined;
    return jump === undefined ? failure : this.#arrive(jump, { outcome: 'success' }, depth);
  }

  #stageOf(id: string): Stage | undefined {
    return this.#options.pipeline.stages.get(id);
  }

  #arrive(id: string, ending: Ending, depth: number): Target {
    const stage = this.#stageOf(id);
    if (id === this.#join) return finish;
    if (stage === undefined || depth > diamondsMax) return failure;
    if (stage.type === 'exit') return finish;
    if (stage.type !== 'conditional') return id;
    const { outcome, label, context } = ending;
    const passed = { outcome, ...(label !== undefined && { label }), ...(context !== undefined && { context }) };
    return this.#leave(stage, passed, false, depth + 1);
  }

  #valueOf(key: string, stage: Stage, { context = {} }: Ending): unknown {
    if (Object.hasOwn(context, key)) return context[key];
    // A condition on context.NAME is read under both names; keys with the prefix are not written by the language.
    if (key.startsWith('context.')) return undefined;
    if (key === 'current_node' || key === 'last_stage') return stage.id;
    const attribute = /^graph\.(.+)$/.exec(key)?.[1];
    if (attribute === undefined || this.#params.has(attribute)) throw new Unknown(key);
    return this.#options.pipeline.attributes.text(attribute);
  }

  /** A person is asked which edge to take. A diamond's question has its place. */
  #ask(stage: Stage, ending: Ending, key: string, depth: number): Target {
    const { pipeline, notes, placeOf } = this.#options;
    const id = stage.type === 'conditional' ? stage.id : freeId(`${stage.id}_way`, pipeline.stages);
    if (this.questions.has(id)) return id;
    const place = placeOf(stage.at);
    const ways = new Map<string, Target>();
    const question = { ...plainStep, id, place, title: undefined };
    this.questions.set(id, { ...question, ...decidedBy('', ways) });
    for (const edge of this.#options.layout.outgoing.get(stage.id) ?? []) {
      const name = edge.attributes.text('label') || edge.attributes.text('condition') || edge.to;
      ways.set(freeId(name, ways), this.#arrive(edge.to, ending, depth + 1));
    }
    this.questions.set(id, { ...question, ...decidedBy(`Which way after ${stage.id}?`, ways) });
    notes.lost(
      'CONDITION',
      place,
      `the way after ${stage.id} hangs on ${key}, which only a pipeline keeps; a person is asked at ${id}`,
      'decide by a field of a block in its place',
    );
    return id;
  }
}

/** The stage at which the innermost branch around a stage ends. */
function joinAround(id: string, { branches }: Layout): string | undefined {
  const around = [...branches.values()].filter(({ stages }) => stages.has(id));
  return around.toSorted((a, b) => a.stages.size - b.stages.size)[0]?.join;
}
