/** Draws random pipelines: chains of stages with edges across, and branches that are chains themselves. The same for the same seed. */
import { createSeededRandom, type SeededRandom } from '../../../src/ports/seeded-random.ts';
import type { Attributes, EdgePlan, PipelinePlan, StagePlan, TaskEnd } from './pipeline-plan.ts';

/** Where a chain of stages lies. */
interface Room {
  readonly depth: number;
  /** Nothing in it waits: no person, no second attempt, no child. Then branches that run one at a time end in their order. */
  readonly isPlain: boolean;
  /** Others go on beside it. Then no task takes time: people answer only where the whole run rests. */
  readonly isBeside: boolean;
  /** It is that of a whole pipeline. */
  readonly isRoot?: true;
}

/** The pipeline that runs a pipeline, and how. */
interface Overseer {
  readonly depth: number;
  /** What is said to it is heard by one stage: of those that begin at once, nothing says which. */
  readonly isSteered: boolean;
  /** It is looked at a few times at the most, and so may never end. */
  readonly isBounded: boolean;
  readonly isBeside: boolean;
}

const nobody: Overseer = { depth: 0, isSteered: false, isBounded: false, isBeside: false };

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

/** A pipeline whose only stage oversees another one. */
export function drawOverseer(seed: number): PipelinePlan {
  const children: Record<string, PipelinePlan> = {};
  return { ...new Drawing(createSeededRandom(seed), 'main', children).drawOverseer(), children };
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
  ['context.stack.child.status=stopped'],
  ['context.stack.child.outcome!=fail'],
  ['outcome=success', 'context.flag=yes'],
] as const;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const captions = ['Left', '[R] Right', 'Go on'] as const;
const wanted = ['left', ' RIGHT ', '[G] go on', 'nowhere'] as const;

class Drawing {
  readonly #random: SeededRandom;
  readonly #name: string;
  readonly #children: Record<string, PipelinePlan>;
  readonly #overseer: Overseer;
  readonly #stages: StagePlan[] = [];
  readonly #edges: EdgePlan[] = [];
  /** Entries of the chain of the run itself: where a restart may begin. */
  #main: readonly string[] = [];

  constructor(random: SeededRandom, name: string, children: Record<string, PipelinePlan>, overseer = nobody) {
    this.#random = random;
    this.#name = name;
    this.#children = children;
    this.#overseer = overseer;
  }

  drawOverseer(): PipelinePlan {
    const { entry } = this.#child({ depth: 0, isPlain: false, isBeside: false });
    const always = { clauses: [] };
    return {
      name: this.#name,
      attributes: {},
      stages: [
        { id: 'start', kind: 'start', attributes: {} },
        ...this.#stages,
        { id: 'exit', kind: 'exit', attributes: {} },
      ],
      edges: [
        { from: 'start', to: entry, ...always },
        { from: entry, to: 'exit', ...always },
        { from: entry, to: 'exit', clauses: ['outcome=fail'] },
      ],
      children: {},
    };
  }

  draw(): PipelinePlan {
    const random = this.#random;
    const { isBeside } = this.#overseer;
    const first = this.#chain('exit', { depth: this.#name === 'main' ? 0 : 2, isPlain: false, isBeside, isRoot: true });
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
    if (room.isRoot === true) this.#main = entries;
    for (const [index, { last }] of links.entries()) {
      const next = entries[index + 1] ?? to;
      this.#edge(last, next, random.chance(0.15));
    }
    for (let extra = random.integer(4); extra > 0; extra -= 1) {
      const from = random.pick(links).last;
      this.#edge(from, random.pick([...entries, to]), true, room.isRoot === true);
    }
    for (const { last } of links) this.#aim(last, entries);
    if (room.isRoot === true && random.chance(0.05)) {
      const deadEnd = this.#one('task', {}, [this.#end(room)]).entry;
      this.#edge(random.pick(links).last, deadEnd, true);
    }
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
    // Where somebody looks on, more takes time.
    const isOverseen = this.#overseer !== nobody;
    if (at < 0.2 && room.depth < 2) return this.#parallel(room);
    if (at < 0.32) return this.#one('diamond', {});
    if (at < 0.44 && !room.isPlain) return this.#human();
    if (at < (isOverseen ? 0.47 : 0.55) && this.#overseer.depth < 2) return this.#child(room);
    if (at < (isOverseen ? 0.7 : 0.58)) return this.#one('pause', { pause_ms: this.#lapseMs() });
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
      ...(!room.isBeside && random.chance(this.#overseer === nobody ? 0.1 : 0.4) && { takesMs: this.#lapseMs() }),
    };
  }

  /** Up to 40 minutes, or a month where that is cut short. No two of them end at the same millisecond, unless by rare chance. */
  #lapseMs(): number {
    const random = this.#random;
    return this.#overseer.isBounded && random.chance(0.15) ? 30 * dayMs : 1 + random.integer(40 * minuteMs);
  }

  #human(): Link {
    const random = this.#random;
    const isTimed = random.chance(0.5);
    const form = random.pick(['', '', '', 'yes_no', 'confirmation', 'freeform', 'freeform']);
    const link = this.#one('human', {
      ...(form !== '' && { 'human.type': form }),
      ...(isTimed && { timeout: `${1 + random.integer(60 * minuteMs)}ms` }),
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
    const isPlain = room.isPlain || this.#overseer.isSteered || random.chance(0.5);
    const isBeside = room.isBeside || !isPlain;
    const count = 2 + random.integer(2);
    for (let branch = 0; branch < count; branch += 1) {
      const to =
        random.chance(0.1) && branch > 0 ? join : this.#chain(join, { depth: room.depth + 1, isPlain, isBeside });
      this.#edges.push({ from: entry, to, clauses: [] });
    }
    const policies: Attributes = isPlain
      ? {
          max_parallel: 1,
          join_policy: random.pick(['wait_all', 'all', 'first_success', 'quorum', '2_of_n', 'k_of_n(1)']),
          error_policy: random.pick(['continue', 'fail_fast', 'ignore']),
        }
      : {
          error_policy: random.pick(['continue', 'ignore']),
          ...(this.#overseer === nobody && random.chance(0.3) && { max_parallel: 2 }),
        };
    this.#stages[index] = { id: entry, kind: 'parallel', attributes: policies, join };
    return { entry, last: join };
  }

  #child({ isBeside }: Room): Link {
    const random = this.#random;
    const name = `c${Object.keys(this.#children).length + 1}`;
    const file = `${name}.dot`;
    // Its place is taken before it is drawn: it may run others.
    this.#children[file] = { name, attributes: {}, stages: [], edges: [], children: {} };
    const isSteering = random.chance(0.4);
    const isBounded = random.chance(0.8);
    const { depth, ...around } = this.#overseer;
    const overseer: Overseer = {
      depth: depth + 1,
      isSteered: isSteering || around.isSteered,
      isBounded: isBounded || around.isBounded,
      isBeside,
    };
    this.#children[file] = new Drawing(random, name, this.#children, overseer).draw();
    const link = this.#one('child', {
      'stack.child_dotfile': file,
      'manager.poll_interval': `${2 * minuteMs + random.integer(20 * minuteMs)}ms`,
      ...(isBounded && { 'manager.max_cycles': 1 + random.integer(5) }),
      ...(isSteering && { 'manager.actions': 'observe,steer,wait' }),
      ...(random.chance(0.15) && { 'stack.child_autostart': false }),
      ...(random.chance(0.2) && { allow_partial: true }),
    });
    const stage = this.#stages.at(-1) as StagePlan;
    this.#stages[this.#stages.length - 1] = {
      ...stage,
      attributes: { ...stage.attributes, ...(isSteering && { prompt: `Watch ${stage.id}.` }) },
      ...(random.chance(0.75) && { stops: this.#stops(file) }),
      ...(isSteering &&
        !isBeside &&
        !this.#asks() &&
        random.chance(0.5) && { looksMs: 1 + random.integer(10 * minuteMs) }),
    };
    return link;
  }

  /** Whether a person is asked in one of the pipelines so far: nobody answers while a model looks. */
  #asks(): boolean {
    const plans = [{ stages: this.#stages }, ...Object.values(this.#children)];
    return plans.some(({ stages }) => stages.some(({ kind }) => kind === 'human'));
  }

  /** Clauses of a condition that stops a pipeline. */
  #stops(file: string): readonly string[] {
    const random = this.#random;
    const { stages = [] } = this.#children[file] ?? {};
    const seen = [
      [`context.stack.child.current_node=${random.pick(stages).id}`],
      [`context.stack.child.stages=${2 + random.integer(4)}`, 'context.stack.child.status=running'],
      [`context.stack.child.current_node=${random.pick(stages).id}`, 'outcome=success'],
      ['context.stack.child.outcome=fail'],
    ];
    return random.pick([...clauses, ...seen]);
  }
}
