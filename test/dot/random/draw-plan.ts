/** Draws random pipelines: chains of stages with edges across, and branches that are chains themselves. The same for the same seed. */
import { createSeededRandom, type SeededRandom } from '../../../src/testing/seeded-random.ts';
import type { Attributes, EdgePlan, PipelinePlan, StagePlan, TaskEnd } from './pipeline-plan.ts';

/** Where a chain of stages lies. */
interface Room {
  readonly depth: number;
  /** Nothing in it waits: no person, no second attempt, no child. Then branches that run one at a time end in their order. */
  readonly isPlain: boolean;
}

/** Part of a chain: a stage, or a parallel stage with all up to its join. */
interface Link {
  readonly entry: string;
  readonly last: string;
}

export function drawPlan(seed: number): PipelinePlan {
  const random = createSeededRandom(seed);
  const children: Record<string, PipelinePlan> = {};
  return { ...new Drawing(random, 'main', children).draw(), children };
}

const clauses = [
  ['outcome=success'],
  ['outcome=fail'],
  ['outcome!=success'],
  ['outcome=partial_success'],
  ['outcome=skipped'],
  ['context.flag=yes'],
  ['context.flag!=yes'],
  ['preferred_label=left'],
  ['outcome=success', 'context.flag=yes'],
] as const;
const captions = ['Left', '[R] Right', 'Go on'] as const;
const wanted = ['left', ' RIGHT ', '[G] go on', 'nowhere'] as const;

class Drawing {
  readonly #random: SeededRandom;
  readonly #name: string;
  readonly #children: Record<string, PipelinePlan>;
  readonly #stages: StagePlan[] = [];
  readonly #edges: EdgePlan[] = [];
  /** Entries of the chain of the run itself: where a restart may begin. */
  #main: readonly string[] = [];

  constructor(random: SeededRandom, name: string, children: Record<string, PipelinePlan>) {
    this.#random = random;
    this.#name = name;
    this.#children = children;
  }

  draw(): PipelinePlan {
    const random = this.#random;
    const first = this.#chain('exit', { depth: this.#name === 'main' ? 0 : 2, isPlain: false });
    const inside = this.#stages.map(({ id }) => id);
    const attributes: Attributes = {
      max_node_visits: 2 + random.integer(3),
      ...(random.chance(0.5) && { max_retry_jumps: random.integer(3) }),
      ...(random.chance(0.3) && { default_max_retries: 1 + random.integer(2) }),
      ...(random.chance(0.3) && { retry_target: random.pick(inside) }),
      ...(random.chance(0.15) && { fallback_retry_target: random.pick(inside) }),
      ...(random.chance(0.5) && { max_restarts: random.integer(3) }),
      ...(this.#name !== 'main' && { params: 'path=' }),
    };
    const suggesting = this.#stages.map((stage) =>
      stage.ends === undefined ? stage : { ...stage, ends: stage.ends.map((end) => this.#suggest(end, inside)) },
    );
    return {
      name: this.#name,
      attributes,
      stages: [
        { id: 'start', kind: 'start', attributes: {} },
        ...suggesting,
        { id: 'exit', kind: 'exit', attributes: {} },
      ],
      edges: [{ from: 'start', to: first, clauses: [] }, ...this.#edges],
      children: {},
    };
  }

  #suggest(end: TaskEnd, ids: readonly string[]): TaskEnd {
    return this.#random.chance(0.12) ? { ...end, next: this.#random.pick([...ids, 'exit', 'gone']) } : end;
  }

  /** Adds a chain of stages that leads to a stage. @returns its first stage */
  #chain(to: string, room: Room): string {
    const random = this.#random;
    const links = Array.from({ length: 1 + random.integer(room.depth === 0 ? 4 : 2) }, () => this.#link(room));
    const entries = links.map(({ entry }) => entry);
    if (room.depth === 0) this.#main = entries;
    for (const [index, { last }] of links.entries()) {
      const next = entries[index + 1] ?? to;
      this.#edge(last, next, random.chance(0.15));
    }
    for (let extra = random.integer(4); extra > 0; extra -= 1) {
      const from = random.pick(links).last;
      this.#edge(from, random.pick([...entries, to]), true, room.depth === 0);
    }
    for (const { last } of links) this.#aim(last, entries);
    return entries[0] as string;
  }

  #edge(from: string, to: string, isPicky: boolean, mayRestart = false): void {
    const random = this.#random;
    this.#edges.push({
      from,
      to,
      clauses: isPicky && random.chance(0.7) ? random.pick(clauses) : [],
      ...(random.chance(0.3) && { label: random.pick(captions) }),
      ...(random.chance(0.3) && { weight: random.pick([-1, 1, 2]) }),
      ...(mayRestart && this.#main.includes(to) && random.chance(0.2) && { restarts: true }),
    });
  }

  /** Gives a stage ways back, and makes it a goal gate, now and then. */
  #aim(id: string, entries: readonly string[]): void {
    const random = this.#random;
    const index = this.#stages.findIndex((stage) => stage.id === id);
    const stage = this.#stages[index] as StagePlan;
    const target = (): string => random.pick(random.chance(0.9) ? entries : this.#stages.map((each) => each.id));
    const { label, to } = random.pick(this.#edges.filter(({ from }) => from === id));
    const isGate = random.chance(0.25);
    const chooses = stage.attributes['human.default_choice'] !== undefined && !('human.type' in stage.attributes);
    const attributes = {
      ...stage.attributes,
      ...(chooses && { 'human.default_choice': label ?? to }),
      ...(isGate && { goal_gate: true }),
      ...(random.chance(isGate ? 0.6 : 0.3) && { retry_target: target() }),
      ...(random.chance(0.15) && { fallback_retry_target: target() }),
      ...(random.chance(0.1) && { max_visits: 1 + random.integer(3) }),
    };
    this.#stages[index] = { ...stage, attributes };
  }

  #link(room: Room): Link {
    const random = this.#random;
    const at = random.next();
    if (at < 0.2 && room.depth < 2) return this.#parallel(room);
    if (at < 0.32) return this.#one('diamond', {});
    if (at < 0.44 && !room.isPlain) return this.#human();
    if (at < 0.5 && !room.isPlain && this.#name === 'main') return this.#child();
    const ends = Array.from({ length: 1 + random.integer(3) }, () => this.#end(room));
    const attributes: Attributes = {
      ...(room.isPlain ? { max_retries: 0 } : random.chance(0.3) && this.#retries()),
      ...(random.chance(0.2) && { allow_partial: true }),
    };
    return this.#one('task', attributes, random.chance(0.7) ? [...ends, { status: 'success' }] : ends);
  }

  /** A number of attempts, or a preset, which has one too: delays pass in virtual time. */
  #retries(): Attributes {
    const random = this.#random;
    const preset = random.pick(['', 'none', 'standard', 'linear', 'patient']);
    const max = { max_retries: random.integer(3) };
    return preset === '' ? max : { retry_policy: preset, ...(random.chance(0.3) && max) };
  }

  #one(kind: StagePlan['kind'], attributes: Attributes, ends?: readonly TaskEnd[]): Link {
    const id = this.#idOf(kind);
    this.#stages.push({ id, kind, attributes, ...(ends !== undefined && { ends }) });
    return { entry: id, last: id };
  }

  #idOf(kind: StagePlan['kind']): string {
    const place = this.#name === 'main' ? '' : `${this.#name}_`;
    return `${place}${kind.slice(0, 1)}${this.#stages.length + 1}`;
  }

  #end(room: Room): TaskEnd {
    const random = this.#random;
    const statuses = [
      'success',
      'success',
      'success',
      'success',
      'success',
      'fail',
      'fail',
      'partial_success',
    ] as const;
    const rare = ['skipped', ...(room.isPlain ? [] : (['retry', 'throws'] as const))] as const;
    return {
      status: random.chance(0.75) ? random.pick(statuses) : random.pick(rare),
      ...(random.chance(0.25) && { label: random.pick(wanted) }),
      ...(random.chance(0.25) && { flag: random.pick(['yes', 'no'] as const) }),
    };
  }

  #human(): Link {
    const random = this.#random;
    const isTimed = random.chance(0.5);
    const form = random.pick(['', '', '', 'yes_no', 'confirmation', 'freeform', 'freeform']);
    const link = this.#one('human', {
      ...(form !== '' && { 'human.type': form }),
      ...(isTimed && { timeout: '1h' }),
      ...(isTimed && random.chance(0.4) && { 'human.default_choice': 'yes' }),
      ...(random.chance(0.2) && { max_retries: 1 }),
      ...(random.chance(0.2) && { allow_partial: true }),
    });
    return link;
  }

  #parallel(room: Room): Link {
    const random = this.#random;
    const join = `j${this.#idOf('parallel')}`;
    const index = this.#stages.length;
    const entry = this.#one('parallel', {}).entry;
    this.#stages.push({ id: join, kind: 'fan_in', attributes: {} });
    const isPlain = room.isPlain || random.chance(0.5);
    const count = 2 + random.integer(2);
    for (let branch = 0; branch < count; branch += 1) {
      const to = random.chance(0.1) && branch > 0 ? join : this.#chain(join, { depth: room.depth + 1, isPlain });
      this.#edges.push({ from: entry, to, clauses: [] });
    }
    const policies: Attributes = isPlain
      ? {
          max_parallel: 1,
          join_policy: random.pick(['wait_all', 'all', 'first_success', 'quorum', '2_of_n', 'k_of_n(1)']),
          error_policy: random.pick(['continue', 'fail_fast', 'ignore']),
        }
      : { error_policy: random.pick(['continue', 'ignore']), ...(random.chance(0.3) && { max_parallel: 2 }) };
    this.#stages[index] = { id: entry, kind: 'parallel', attributes: policies, join };
    return { entry, last: join };
  }

  #child(): Link {
    const name = `c${Object.keys(this.#children).length + 1}`;
    this.#children[`${name}.dot`] = new Drawing(this.#random, name, this.#children).draw();
    return this.#one('child', { 'stack.child_dotfile': `${name}.dot` });
  }
}
