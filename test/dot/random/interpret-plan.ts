/** What the rules say of a random pipeline: a walk over it on virtual time, without an engine. It shares nothing with the product. */
import { conditionHolds, factsOf, plainLabel, type BranchResult, type Context, type Ending } from './choose-way.ts';
import type { Attributes, EdgePlan, PipelinePlan, StagePlan, TaskEnd } from './pipeline-plan.ts';
import { oversee } from './oversee-child.ts';
import { finish, Running, sideBySide, type Work } from './virtual-time.ts';
import {
  begin,
  isGood,
  leave,
  resultOf,
  stageOf,
  Stopped,
  wayBack,
  type Failure,
  type RunEnd,
  type Sight,
  type Walk,
} from './walk.ts';

const emptyContext = (path: string): Context => ({
  outcome: '',
  label: '',
  flag: '',
  path,
  results: [],
  shortfall: '',
  childStatus: '',
  childOutcome: '',
});

const newSight = (): Sight => ({ before: [], words: [] });

export class Interpreter {
  /** Attempts of tasks that began, each with all that was reported before it. */
  readonly begun: string[] = [];
  readonly #picks: ReadonlyMap<string, readonly number[]>;
  readonly #asked = new Map<string, number>();
  #children: PipelinePlan['children'] = {};

  /** @param picks - by stage, the numbers that the people drew who were asked there, in order */
  constructor(picks: ReadonlyMap<string, readonly number[]>) {
    this.#picks = picks;
  }

  /** @returns also how long the run took, in virtual milliseconds */
  interpret(plan: PipelinePlan): RunEnd & { readonly tookMs: number } {
    this.#children = plan.children;
    const { result, tookMs } = finish(this.#run(plan, '', [newSight()]));
    return { ...result, tookMs };
  }

  /** @param sights - the first is that of the run itself */
  *#run(plan: PipelinePlan, path: string, sights: readonly Sight[]): Work<RunEnd> {
    const counts = new Map<string, number>();
    const sight = sights[0] as Sight;
    const { before } = sight;
    let walk: Walk;
    let entry = 'start';
    for (let restarts = 0; ; restarts += 1) {
      walk = begin(plan, { context: emptyContext(path), restarts, sights });
      sight.walk = walk;
      const { history, context, failures } = walk;
      try {
        const target = yield* this.#walk(walk, entry);
        if (target === undefined)
          return {
            result: resultOf(walk, [...before, ...failures], restarts),
            failures: failuresIn(sight),
            history,
            context,
          };
        counts.set(target, (counts.get(target) ?? 0) + 1);
        if ((counts.get(target) ?? 0) > Number(plan.attributes['max_restarts'] ?? 5))
          return { because: ['restarted at', target], failures: failuresIn(sight), history, context };
        before.push(...failures);
        entry = target;
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        const told = [...failuresIn(sight), { stage: error.stage, led_to: null }];
        return { because: error.because, failures: told, history, context };
      }
    }
  }

  /** Goes from stage to stage to the exit or the join. @returns the stage at which the pipeline is to begin again, if it is */
  *#walk(walk: Walk, entry: string): Work<string | undefined> {
    const { plan, context, visits } = walk;
    for (let at = entry; at !== walk.join;) {
      const stage = stageOf(plan, at);
      const visit = (visits.get(at) ?? 0) + 1;
      visits.set(at, visit);
      const isGate = stage.attributes['goal_gate'] === true;
      if (visit > Number(stage.attributes['max_visits'] ?? plan.attributes['max_node_visits'] ?? 1_000)) {
        throw new Stopped(at, ['max_visits' in stage.attributes ? 'max_visits' : 'max_node_visits']);
      }
      if (stage.kind === 'exit') {
        const back = wayBack(walk);
        if (back === undefined) return undefined;
        at = back;
        continue;
      }
      const before = { ...context };
      const ending = yield* this.#end(walk, stage, visit);
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
      walk.current = at;
      if (edge?.restarts === true) return to;
      at = to;
    }
    return undefined;
  }

  *#end(walk: Walk, stage: StagePlan, visit: number): Work<Ending> {
    const { context } = walk;
    switch (stage.kind) {
      case 'task':
        return yield* this.#task(walk, stage, visit);
      case 'pause':
        yield Number(stage.attributes['pause_ms'] ?? 0);
        return { status: 'success' };
      case 'diamond':
        return { status: context.outcome || 'success', label: context.label, reason: '' };
      case 'human':
        return yield* this.#human(walk, stage);
      case 'parallel':
        return yield* this.#parallel(walk, stage);
      case 'fan_in':
        if (!context.results.some(({ outcome }) => isGood(outcome)))
          return { status: 'fail', reason: context.results.length > 0 ? 'all branches failed' : 'no results' };
        return context.shortfall === '' ? { status: 'success' } : { status: 'fail', reason: context.shortfall };
      case 'child':
        return yield* this.#child(walk, stage);
      default:
        return { status: 'success' };
    }
  }

  *#task(walk: Walk, { id, attributes, ends = [] }: StagePlan, visit: number): Work<Ending> {
    const { plan, context, restarts } = walk;
    const attempts = attemptsOf(plan, attributes);
    const heard = walk.sights.flatMap(({ words }) => words.splice(0));
    for (let attempt = 1; ; attempt += 1) {
      const end = endAt(ends, visit, attempt);
      this.begun.push(beginning(context.path, { id, restarts, visit, attempt, heard }));
      yield end.takesMs ?? 0;
      const isAgain = end.status === 'retry' || end.status === 'throws';
      if (isAgain && attempt < attempts) {
        yield delayAfter(attempt, attributes);
        continue;
      }
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
  *#human(walk: Walk, { id, attributes }: StagePlan): Work<Ending> {
    const { plan, context } = walk;
    const form = attributes['human.type'];
    const facts = factsOf(context);
    const own = plan.edges.filter((edge) => edge.from === id);
    const unlabelled = own.filter(({ label }) => label === undefined);
    const open = own.filter((edge) => conditionHolds(edge.clauses, facts));
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
      const answer = choices[pick % (choices.length + (attributes['timeout'] === undefined ? 0 : 1))];
      if (answer === undefined) yield Number.parseInt(String(attributes['timeout']), 10);
      const chosen = answer ?? fallback;
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

  *#parallel(walk: Walk, { id, attributes, join = '' }: StagePlan): Work<Ending> {
    const { plan, context } = walk;
    const entries = [...new Set(plan.edges.filter(({ from }) => from === id).map(({ to }) => to))];
    const needed = neededOf(String(attributes['join_policy'] ?? 'wait_all'), entries.length);
    const policy = attributes['error_policy'];
    const done: BranchEnd[] = [];
    const count = (is: (outcome: string) => boolean): number => done.filter(({ outcome }) => is(outcome)).length;
    if (attributes['max_parallel'] === 1)
      for (const entry of entries) {
        const isDecided = count(isGood) >= needed || (policy === 'fail_fast' && count((one) => one === 'fail') > 0);
        done.push(isDecided ? skipped(entry) : yield* this.#branch(walk, entry, join, id));
      }
    else done.push(...(yield* sideBySide(entries.map((entry) => this.#branch(walk, entry, join, id)))));
    for (const { failures, gates } of done) {
      walk.failures.push(...failures);
      for (const [gate, status] of gates) walk.gates.set(gate, status);
    }
    context.results = done.map(({ id: entry, outcome, path }) => ({ id: entry, outcome, path }));
    const [good, bad] = [count(isGood), count((one) => one === 'fail')];
    const isShort = needed < Infinity && good < needed;
    const isIgnored = bad === 0 || policy === 'ignore';
    const why = policy === 'fail_fast' ? 'a branch failed' : good === 0 ? 'all branches failed' : '';
    context.shortfall = isShort ? 'are needed' : isIgnored ? '' : why;
    if (context.shortfall !== '') return { status: 'fail', reason: context.shortfall };
    return { status: isIgnored || needed < Infinity ? 'success' : 'partial_success' };
  }

  *#branch(outer: Walk, entry: string, join: string, parallel: string): Work<BranchEnd> {
    if (entry === join) return { ...skipped(entry), outcome: 'success' };
    const { plan, context, restarts, sights } = outer;
    // What was inherited is what a diamond at the beginning passes on.
    const own: Context = { ...context };
    const inside = branchStages(plan, parallel, join);
    const walk: Walk = { ...begin(plan, { context: own, restarts, sights }), join, inside };
    const { failures, gates } = walk;
    let outcome: string;
    try {
      yield* this.#walk(walk, entry);
      outcome = walk.history.some((line) => countsAsEnd(plan, line)) ? own.outcome : 'success';
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      failures.push({ stage: error.stage, led_to: null });
      // A gate at which its branch failed has failed, however its last visit ended.
      if (stageOf(plan, error.stage).attributes['goal_gate'] === true) gates.set(error.stage, 'fail');
      outcome = 'fail';
    }
    return { id: entry, outcome, path: own.path === context.path ? undefined : own.path, failures, gates };
  }

  *#child({ context, failures, sights }: Walk, stage: StagePlan): Work<Ending> {
    const plan = this.#children[String(stage.attributes['stack.child_dotfile'])] as PipelinePlan;
    const sight = newSight();
    const child = new Running(this.#run(plan, context.path, [sight, ...sights]));
    const stop = yield* oversee(stage, child, sight, () => this.#pick(stage.id));
    const end = child.end?.value;
    const inner = end?.failures ?? failuresIn(sight);
    failures.push(...inner.map((one) => ({ ...one, stage: `${stage.id}/${one.stage}` })));
    const { status, reason = '' }: Ending = stop ?? endOf(end as RunEnd);
    context.childStatus = stop !== undefined ? 'stopped' : end?.result === undefined ? 'failed' : 'completed';
    context.childOutcome = status;
    return { status, reason };
  }
}

/** How a branch ended, and what of it counts for the run. */
interface BranchEnd extends BranchResult, Pick<Walk, 'failures' | 'gates'> {}

function skipped(id: string): BranchEnd {
  return { id, outcome: 'skipped', path: undefined, failures: [], gates: new Map() };
}

/** What failed so far in a run that is looked at. */
function failuresIn({ before, walk }: Sight): readonly Failure[] {
  return [...before, ...(walk?.failures ?? [])];
}

/** How a pipeline ends the stage that runs it. */
function endOf({ result, because = [] }: RunEnd): Ending {
  return result === undefined ? { status: 'fail', reason: because.join(' ') } : { status: result.status };
}

/** The name of an attempt, which tells the way to it. */
export function beginning(path: string, { id, restarts, visit, attempt, heard }: Beginning): string {
  const told = heard.length === 0 ? '' : `, told ${heard.join(' and ')}`;
  return `${path} > ${id}, visit ${visit}, attempt ${attempt}, after ${restarts} restarts${told}`;
}

/** One attempt of a task. */
interface Beginning {
  readonly id: string;
  readonly restarts: number;
  readonly visit: number;
  readonly attempt: number;
  /** What the model had said that looks at its pipeline. */
  readonly heard: readonly string[];
}

export function endAt(ends: readonly TaskEnd[], visit: number, attempt: number): TaskEnd {
  return ends[Math.min(visit + attempt - 2, ends.length - 1)] ?? { status: 'success' };
}

/** The first delay of each preset, and how it grows. Where nobody draws by how much, it is in the middle. */
const delays: Readonly<Record<string, readonly [number, number]>> = { linear: [500, 1], patient: [2_000, 3] };

function delayAfter(attempt: number, { retry_policy: preset }: Attributes): number {
  const [firstMs, factor] = delays[String(preset)] ?? [200, 2];
  return firstMs * factor ** (attempt - 1);
}

/** Attempts of each preset; a number of retries wins over it. */
const presets: Readonly<Record<string, number>> = { none: 1, standard: 5, linear: 3, patient: 3 };

function attemptsOf(plan: PipelinePlan, { max_retries: own, retry_policy: preset }: Attributes): number {
  if (own !== undefined) return 1 + Number(own);
  return preset === undefined
    ? 1 + Number(plan.attributes['default_max_retries'] ?? 0)
    : (presets[String(preset)] ?? 1);
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
