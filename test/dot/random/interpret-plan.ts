/** What the rules say of a random pipeline: a walk over it, without an engine. It shares nothing with the product. */
import { chooseWay, conditionHolds, plainLabel, type BranchResult, type Context, type Ending } from './choose-way.ts';
import type { Attributes, EdgePlan, PipelinePlan, StagePlan, TaskEnd } from './pipeline-plan.ts';

interface Failure {
  readonly stage: string;
  readonly led_to: string | null;
}

/** What the result of a run, its failures without their reasons, must be. */
export interface PipelineEnd {
  readonly status: string;
  readonly gates: Readonly<Record<string, string>>;
  readonly failures: readonly Failure[];
  readonly restarts?: number;
}

/** How a run ends: with its result, or for a reason that names what is in `because`. */
export interface RunEnd {
  readonly result?: PipelineEnd;
  readonly because?: readonly string[];
  /** The stages that ended, with their outcomes, and the results of the last branches. Not of a pipeline that restarts. */
  readonly history: readonly string[];
  readonly results: readonly BranchResult[];
}

/** Why a walk ends short of its goal: in the stage, for a reason that names these. */
class Stopped extends Error {
  readonly stage: string;
  readonly because: readonly string[];

  constructor(stage: string, because: readonly string[]) {
    super(because.join(' '));
    this.stage = stage;
    this.because = because;
  }
}

/** One run of stages: a pipeline's, or that of a branch. */
interface Walk {
  readonly plan: PipelinePlan;
  readonly context: Context;
  readonly restarts: number;
  /** Where a branch ends. */
  readonly join?: string;
  /** The stages among which it may jump; undefined: all. */
  readonly inside?: ReadonlySet<string>;
  readonly visits: Map<string, number>;
  readonly jumps: Map<string, number>;
  readonly gates: Map<string, string>;
  readonly failures: Failure[];
  readonly history: string[];
}

const isGood = (status: string | undefined): boolean => status === 'success' || status === 'partial_success';
const emptyContext = (path: string): Context => ({
  outcome: '',
  label: '',
  flag: '',
  path,
  results: [],
  shortfall: '',
});

export class Interpreter {
  /** Attempts of tasks that began, each with all that was reported before it. */
  readonly begun: string[] = [];
  readonly #picks: ReadonlyMap<string, readonly number[]>;
  readonly #asked = new Map<string, number>();

  /** @param picks - by stage, the numbers that the people drew who were asked there, in order */
  constructor(picks: ReadonlyMap<string, readonly number[]>) {
    this.#picks = picks;
  }

  run(plan: PipelinePlan, path = ''): RunEnd {
    const counts = new Map<string, number>();
    const failures: Failure[] = [];
    let walk = begin(plan, emptyContext(path), 0);
    let entry = 'start';
    try {
      for (let restarts = 0; ; restarts += 1) {
        walk = begin(plan, emptyContext(path), restarts);
        const target = this.#walk(walk, entry);
        failures.push(...walk.failures);
        const { history, context } = walk;
        if (target === undefined)
          return { result: resultOf(walk, failures, restarts), history, results: context.results };
        counts.set(target, (counts.get(target) ?? 0) + 1);
        if ((counts.get(target) ?? 0) > Number(plan.attributes['max_restarts'] ?? 5))
          throw new Stopped(target, ['restarted at', target]);
        entry = target;
      }
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      return { because: error.because, history: walk.history, results: walk.context.results };
    }
  }

  /** Goes from stage to stage to the exit or the join. @returns the stage at which the pipeline is to begin again, if it is */
  #walk(walk: Walk, entry: string): string | undefined {
    const { plan, context, visits } = walk;
    for (let at = entry; at !== walk.join;) {
      const stage = stageOf(plan, at);
      const visit = (visits.get(at) ?? 0) + 1;
      visits.set(at, visit);
      const isGate = stage.attributes['goal_gate'] === true;
      if (visit > Number(stage.attributes['max_visits'] ?? plan.attributes['max_node_visits'] ?? 1_000)) {
        throw new Stopped(at, ['maxVisits']);
      }
      if (stage.kind === 'exit') {
        const back = wayBack(walk);
        if (back === undefined) return undefined;
        at = back;
        continue;
      }
      const before = { ...context };
      const ending = this.#end(walk, stage, visit);
      if (isGate) walk.gates.set(at, ending.status);
      if (stage.kind !== 'diamond' && ending.status !== 'skipped') {
        context.outcome = ending.status;
        context.label = ending.label ?? '';
      }
      if (ending.status !== 'fail') walk.history.push(`${at} ${ending.status}`);
      const { to, edge, because } = leave(walk, stage, ending);
      if (because !== undefined) {
        // A resume tries a stage again that failed the run: it leaves nothing behind.
        if (ending.status === 'fail') Object.assign(context, before);
        throw new Stopped(at, because);
      }
      if (ending.status === 'fail') walk.history.push(`${at} fail`);
      if (ending.status === 'fail' && stage.kind !== 'diamond') walk.failures.push({ stage: at, led_to: to });
      if (edge?.restarts === true) return to;
      at = to;
    }
    return undefined;
  }

  #end(walk: Walk, stage: StagePlan, visit: number): Ending {
    const { context } = walk;
    switch (stage.kind) {
      case 'task':
        return this.#task(walk, stage, visit);
      case 'diamond':
        return { status: context.outcome || 'success', label: context.label, reason: '' };
      case 'human':
        return this.#human(walk, stage);
      case 'parallel':
        return this.#parallel(walk, stage);
      case 'fan_in':
        if (!context.results.some(({ outcome }) => isGood(outcome)))
          return { status: 'fail', reason: context.results.length > 0 ? 'all branches failed' : 'no results' };
        return context.shortfall === '' ? { status: 'success' } : { status: 'fail', reason: context.shortfall };
      case 'child':
        return this.#child(walk, stage);
      default:
        return { status: 'success' };
    }
  }

  #task({ plan, context, restarts }: Walk, { id, attributes, ends = [] }: StagePlan, visit: number): Ending {
    const attempts = attemptsOf(plan, attributes);
    for (let attempt = 1; ; attempt += 1) {
      const end = endAt(ends, visit, attempt);
      this.begun.push(beginning(context.path, id, restarts, visit, attempt));
      const isAgain = end.status === 'retry' || end.status === 'throws';
      if (isAgain && attempt < attempts) continue;
      if (end.status === 'throws') return { status: 'fail', reason: `${id} throws` };
      context.path = `${context.path} ${id}`;
      context.flag = end.flag ?? context.flag;
      const isPartial = end.status === 'retry' && attributes['allow_partial'] === true;
      const status = end.status !== 'retry' ? end.status : isPartial ? 'partial_success' : 'fail';
      return {
        status,
        label: end.label,
        next: end.next === undefined ? [] : [end.next],
        reason: `${id} says ${end.status}`,
      };
    }
  }

  /** A person is asked as often as the stage has attempts, and may leave each question to its end. */
  #human(walk: Walk, { id, attributes }: StagePlan): Ending {
    const { plan, context } = walk;
    const form = attributes['human.type'];
    const facts = { outcome: context.outcome, preferred_label: context.label, 'context.flag': context.flag };
    const own = plan.edges.filter((edge) => edge.from === id);
    const unlabelled = own.filter(({ label }) => label === undefined);
    const open = own.filter((edge) => conditionHolds(edge, facts));
    const captions = open.map(({ label, to }) => plainLabel(label ?? to));
    const offered = open.filter((_, index) => captions.indexOf(captions[index] as string) === index);
    const isFree = form === 'freeform';
    const labelled = offered.filter(({ label }) => label !== undefined);
    const choices: readonly (EdgePlan | string)[] =
      form === undefined ? offered : isFree ? [...labelled, 'any text'] : ['Yes', 'No'];
    if (choices.length === 0) return { status: 'fail', reason: 'there is nothing to choose' };
    const late = String(attributes['human.default_choice'] ?? '');
    const isLate = ({ label, to }: EdgePlan): boolean =>
      to === late || [to, label ?? to].some((said) => plainLabel(said) === plainLabel(late));
    const fallback = form === undefined ? offered.find(isLate) : late && 'Yes';
    const attempts = attemptsOf(plan, attributes);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const pick = this.#pick(id);
      const chosen = choices[pick % (choices.length + (attributes['timeout'] === undefined ? 0 : 1))] ?? fallback;
      if (chosen === undefined || chosen === '') continue;
      if (typeof chosen !== 'string' && isFree) return { status: 'success', label: chosen.label, next: [chosen.to] };
      if (typeof chosen !== 'string') return { status: 'success', label: chosen.label ?? chosen.to, chosen };
      // A text that says no label asks for the edges without one, whatever their conditions.
      if (isFree) return { status: 'success', next: unlabelled.map(({ to }) => to) };
      const isRefused = form === 'confirmation' && chosen === 'No';
      return { status: isRefused ? 'fail' : 'success', label: chosen, reason: 'it was not confirmed' };
    }
    const status = attributes['allow_partial'] === true ? 'partial_success' : 'fail';
    const reason = 'nobody answered';
    return isFree ? { status, reason } : { status, unanswered: form === undefined ? 'edge' : 'yes and no', reason };
  }

  #pick(id: string): number {
    const count = this.#asked.get(id) ?? 0;
    this.#asked.set(id, count + 1);
    const pick = this.#picks.get(id)?.[count];
    if (pick === undefined) throw new Stopped(id, [`${id} should have asked a person once more`]);
    return pick;
  }

  #parallel(walk: Walk, { id, attributes, join = '' }: StagePlan): Ending {
    const { plan, context } = walk;
    const entries = [...new Set(plan.edges.filter(({ from }) => from === id).map(({ to }) => to))];
    const needed = neededOf(String(attributes['join_policy'] ?? 'wait_all'), entries.length);
    const policy = attributes['error_policy'];
    const done: BranchResult[] = [];
    const count = (is: (outcome: string) => boolean): number => done.filter(({ outcome }) => is(outcome)).length;
    for (const entry of entries) {
      const isDecided = count(isGood) >= needed || (policy === 'fail_fast' && count((one) => one === 'fail') > 0);
      done.push(isDecided ? { id: entry, outcome: 'skipped', path: undefined } : this.#branch(walk, entry, join, id));
    }
    context.results = done;
    const [good, bad] = [count(isGood), count((one) => one === 'fail')];
    const isShort = needed < Infinity && good < needed;
    const isIgnored = bad === 0 || policy === 'ignore';
    const why = policy === 'fail_fast' ? 'a branch failed' : good === 0 ? 'all branches failed' : '';
    context.shortfall = isShort ? 'are needed' : isIgnored ? '' : why;
    if (context.shortfall !== '') return { status: 'fail', reason: context.shortfall };
    return { status: isIgnored || needed < Infinity ? 'success' : 'partial_success' };
  }

  #branch(outer: Walk, entry: string, join: string, parallel: string): BranchResult {
    if (entry === join) return { id: entry, outcome: 'success', path: undefined };
    const { plan, context, restarts } = outer;
    // What was inherited is what a diamond at the beginning passes on.
    const own: Context = { ...context };
    const walk: Walk = { ...begin(plan, own, restarts), join, inside: branchStages(plan, parallel, join) };
    let outcome: string;
    try {
      this.#walk(walk, entry);
      outcome = walk.history.some((line) => countsAsEnd(plan, line)) ? own.outcome : 'success';
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      walk.failures.push({ stage: error.stage, led_to: null });
      // A gate at which its branch failed has failed, however its last visit ended.
      if (stageOf(plan, error.stage).attributes['goal_gate'] === true) walk.gates.set(error.stage, 'fail');
      outcome = 'fail';
    }
    outer.failures.push(...walk.failures);
    for (const [gate, status] of walk.gates) outer.gates.set(gate, status);
    return { id: entry, outcome, path: own.path === context.path ? undefined : own.path };
  }

  #child({ plan, context, failures }: Walk, { id, attributes }: StagePlan): Ending {
    const child = plan.children[String(attributes['stack.child_dotfile'])] as PipelinePlan;
    const { result, because = [] } = this.run(child, context.path);
    if (result === undefined) return { status: 'fail', reason: because.join(' ') };
    failures.push(...result.failures.map((one) => ({ ...one, stage: `${id}/${one.stage}` })));
    return { status: result.status };
  }
}

/** The name of an attempt, which tells the way to it. */
export function beginning(path: string, id: string, restarts: number, visit: number, attempt: number): string {
  return `${path} > ${id}, visit ${visit}, attempt ${attempt}, after ${restarts} restarts`;
}

export function endAt(ends: readonly TaskEnd[], visit: number, attempt: number): TaskEnd {
  return ends[Math.min(visit + attempt - 2, ends.length - 1)] ?? { status: 'success' };
}

function begin(plan: PipelinePlan, context: Context, restarts: number): Walk {
  const counts = { visits: new Map<string, number>(), jumps: new Map<string, number>() };
  return { plan, context, restarts, ...counts, gates: new Map(), failures: [], history: [] };
}

/** Attempts of each preset; a number of retries wins over it. */
const presets: Readonly<Record<string, number>> = { none: 1, standard: 5, linear: 3, patient: 3 };

function attemptsOf(plan: PipelinePlan, { max_retries: own, retry_policy: preset }: Attributes): number {
  if (own !== undefined) return 1 + Number(own);
  return preset === undefined
    ? 1 + Number(plan.attributes['default_max_retries'] ?? 0)
    : (presets[String(preset)] ?? 1);
}

function stageOf({ stages }: PipelinePlan, id: string): StagePlan {
  const stage = stages.find((one) => one.id === id);
  if (stage === undefined) throw new Error(`there is no stage ${id}`);
  return stage;
}

/** Whether a line of the history is of a stage that leaves its outcome in the context. */
function countsAsEnd(plan: PipelinePlan, line: string): boolean {
  const [id = '', status] = line.split(' ');
  return status !== 'skipped' && stageOf(plan, id).kind !== 'diamond';
}

function neededOf(policy: string, count: number): number {
  if (policy === 'first_success') return 1;
  if (policy === 'quorum') return Math.floor(count / 2) + 1;
  const [digits] = /\d+/.exec(policy) ?? [];
  return digits === undefined ? Infinity : Number(digits);
}

/** All stages that the edges of a parallel stage lead to, up to its join. */
function branchStages({ edges }: PipelinePlan, parallel: string, join: string): ReadonlySet<string> {
  const found = new Set<string>([parallel]);
  for (const id of found) for (const { from, to } of edges) if (from === id && to !== join) found.add(to);
  found.delete(parallel);
  return found;
}

/** Where a stage leads, along an edge or back to a retry target; or why the run fails there. */
function leave(walk: Walk, stage: StagePlan, ending: Ending): Leaving {
  const { plan, context, inside } = walk;
  const { id, join } = stage;
  // From a parallel stage the run goes on at the join, which decides about failures itself.
  if (join !== undefined) return { to: join };
  const isStage = (id: string): boolean => plan.stages.some((one) => one.id === id);
  const own = plan.edges.filter(({ from }) => from === id);
  const edge = chooseWay(own, ending, context, (to) => plan.stages.find((one) => one.id === to)?.kind);
  if (edge !== undefined) return { to: edge.to, edge };
  if (ending.status !== 'fail') return { to: '', because: [id, 'ended with'] };
  const targets = [stage.attributes['retry_target'], stage.attributes['fallback_retry_target']].map(String);
  const known = targets.filter((target) => isStage(target) && inside?.has(target) !== false);
  const target = takeJump(walk, id, known);
  if (target === undefined) return { to: '', because: ending.reason === undefined ? [id] : [ending.reason] };
  return { to: target };
}

interface Leaving {
  readonly to: string;
  readonly edge?: EdgePlan;
  readonly because?: readonly string[];
}

/** The first target that was not jumped to too often, and counts the jump. */
function takeJump({ plan, jumps }: Walk, from: string, targets: readonly string[]): string | undefined {
  const most = Number(plan.attributes['max_retry_jumps'] ?? 10);
  const target = targets.find((one) => (jumps.get(`${from} ${one}`) ?? 0) < most);
  if (target !== undefined) jumps.set(`${from} ${target}`, (jumps.get(`${from} ${target}`) ?? 0) + 1);
  return target;
}

const gatesOf = ({ stages }: PipelinePlan): readonly StagePlan[] =>
  stages.filter(({ attributes }) => attributes['goal_gate'] === true);

/** At the exit: where an unsatisfied gate leads back to; undefined: all that were visited are satisfied. @throws Stopped */
function wayBack(walk: Walk): string | undefined {
  const { plan, gates, failures } = walk;
  const open = gatesOf(plan).find(({ id }) => gates.has(id) && !isGood(gates.get(id)));
  if (open === undefined) return undefined;
  const targets = [open, plan].flatMap(({ attributes }) =>
    ['retry_target', 'fallback_retry_target'].flatMap((name) => (name in attributes ? [String(attributes[name])] : [])),
  );
  const known = [...new Set(targets)].filter((target) => plan.stages.some(({ id }) => id === target));
  const target = takeJump(walk, `exit for ${open.id}`, known);
  if (target === undefined) throw new Stopped('exit', ['the goal gate', open.id]);
  failures.push({ stage: open.id, led_to: target });
  return target;
}

function resultOf({ plan, gates }: Walk, failures: readonly Failure[], restarts: number): PipelineEnd {
  const told = gatesOf(plan).map(({ id }) => [id, gates.get(id) ?? 'not visited'] as const);
  const isWhole = failures.length === 0 && told.every(([, status]) => status === 'success');
  return {
    status: isWhole ? 'success' : 'partial_success',
    gates: Object.fromEntries(told),
    failures,
    ...(restarts > 0 && { restarts }),
  };
}
