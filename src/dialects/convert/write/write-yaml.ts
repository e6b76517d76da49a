/** Writes an outline as a YAML workflow: a block for each step, which depends on those that lead to it. */
import type { Notes } from '../outline/notes.ts';
import {
  failure,
  nextOf,
  type Outline,
  type Step,
  type Target,
  reachableSteps,
  type Text,
  freeId,
  finish,
  type End,
  stepsInBranches,
  shellWord,
  plainStep,
  writingTools,
  type AgentTools,
  type Budget,
  type OutlineInput,
  longestCall,
  verdictSchema,
  isVerdict,
} from '../outline/outline.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import type { Names } from '../../yaml/expression/template.ts';
import { type Start, yamlCommand, yamlText, Starts } from './yaml-start.ts';
import { reservedIds } from '../../yaml/file/format.ts';
import { printDocument } from '../../yaml/file/write-document.ts';

// An outline without ways back, for dialects in which a run comes to each step once.

/** Ways back fail the run. Steps are in an order in which each comes before those that it leads to. */
function withoutLoops(outline: Outline, notes: Notes): Outline {
  const byId = new Map(outline.steps.map((step) => [step.id, step]));
  const back = new Set<string>();
  const order: Step[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const open: { readonly step: Step; readonly next: Target[] }[] = [];
  const enter = (id: string): void => {
    const step = byId.get(id);
    if (step === undefined) return;
    state.set(id, 'open');
    // The last first: what the first end leads to then comes first in the order.
    open.push({ step, next: [...nextOf(step)] });
  };
  enter(outline.first);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const to = top.next.pop();
    if (to === undefined) {
      state.set(top.step.id, 'done');
      order.push(top.step);
      open.pop();
    } else if (state.get(to) === 'open') back.add(wayOf(top.step.id, to));
    else if (!state.has(to)) enter(to);
  }
  const cut = (step: Step): Step => ({
    ...step,
    ends: step.ends.map((end) => {
      if (!back.has(wayOf(step.id, end.to))) return end;
      notes.lost(
        'LOOP',
        step.place,
        `${step.id} leads back to ${end.to} (${end.on}); here the run fails in its place`,
        'fork the run before that step, or keep this part in a dialect with loops',
      );
      return { ...end, to: failure };
    }),
  });
  const steps = order.toReversed().map(cut);
  return { ...outline, steps: reachableInOrder({ ...outline, steps }) };
}

function reachableInOrder(outline: Outline): readonly Step[] {
  const reached = new Set(reachableSteps(outline).map(({ id }) => id));
  return outline.steps.filter(({ id }) => reached.has(id));
}

const wayOf = (from: string, to: string): string => `${from}\n${to}`;

// Ids of steps that the dialect which is written can have.

/** @param fit - the id as it may be written; the same if it may be */
export function withFittingIds(outline: Outline, fit: (id: string) => string, notes: Notes): Outline {
  const taken = new Set(outline.steps.map(({ id }) => id).filter((id) => fit(id) === id));
  const names = new Map<string, string>();
  for (const { id, place } of outline.steps) {
    if (taken.has(id)) continue;
    const name = freeId(fit(id), taken);
    taken.add(name);
    names.set(id, name);
    notes.changed('NAME', place, `${id} is called ${name}`, 'nothing, or give both the same name');
  }
  const nameOf = (id: string): string => names.get(id) ?? id;
  const renamed = (text: Text): Text =>
    text.map((piece) =>
      typeof piece === 'object' && 'answerOf' in piece ? { answerOf: nameOf(piece.answerOf) } : piece,
    );
  const workOf = (work: Step['work']): Step['work'] => {
    if (work.kind === 'model') return { ...work, prompt: renamed(work.prompt) };
    if (work.kind === 'command' && work.stdin !== undefined) return { ...work, stdin: renamed(work.stdin) };
    return work.kind === 'parallel' ? { ...work, branches: work.branches.map(nameOf) } : work;
  };
  const step = (each: Step): Step => ({
    ...each,
    id: nameOf(each.id),
    work: workOf(each.work),
    ends: each.ends.map((end) => ({ ...end, to: nameOf(end.to) })),
  });
  return names.size === 0 ? outline : { ...outline, first: nameOf(outline.first), steps: outline.steps.map(step) };
}

// Steps that fail the run in place of ends which, in the dialect that is written, cannot do so themselves.

/**
 * The outline in which an end that fails the run, but cannot do so itself, leads to a command that does. Branches stay as they are:
 * where one of them fails, only the branch ends.
 *
 * @param failsRun - whether an end of this step can fail the run by itself
 */
export function withStops(outline: Outline, failsRun: (step: Step, end: End) => boolean): Outline {
  const taken = new Set(outline.steps.map(({ id }) => id));
  const stops: Step[] = [];
  const stopFor = (step: Step): string => {
    const id = freeId(`${step.id}_stop`, taken);
    taken.add(id);
    stops.push(stop(id, step));
    return id;
  };
  const inBranches = stepsInBranches(outline.steps);
  const steps = outline.steps.map((step) => {
    let own: string | undefined;
    if (inBranches.has(step.id)) return step;
    const ends = step.ends.map((end) =>
      end.to !== failure || failsRun(step, end) ? end : { ...end, to: (own ??= stopFor(step)) },
    );
    return { ...step, ends };
  });
  return { ...outline, steps: [...steps, ...stops] };
}

/** A command that fails the run after a step. */
function stop(id: string, { id: before, place }: Step): Step {
  const reason = shellWord(`${before} does not let the run go on`);
  return {
    ...plainStep,
    id,
    place,
    work: { kind: 'command', script: `printf '%s\\n' ${reason} >&2; exit 1` },
    timeoutMs: 60_000,
    isIdempotent: true,
    ends: [
      { on: 'success', to: finish },
      { on: 'fail', to: failure },
    ],
  };
}

/** Writes a duration as both dialects read it: in its largest unit of whole minutes, seconds or milliseconds. */
export function durationText(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

// What a step of an outline is as a block of a workflow file: its fields.

export type Fields = Readonly<Record<string, unknown>>;

class BlockWriter {
  readonly #inputs: readonly string[];
  readonly #names: Names;
  readonly #steps: ReadonlyMap<string, Step>;

  constructor(inputs: readonly OutlineInput[], steps: readonly Step[]) {
    this.#inputs = inputs.map(({ name }) => name);
    this.#steps = new Map(steps.map((step) => [step.id, step]));
    this.#names = {
      inputs: this.#inputs,
      blocks: steps.map(({ id }) => id),
      fieldsOf: () => undefined,
      secrets: [],
      hasEach: false,
    };
  }

  /** @param isInBranch - whether its failure is that of its branch alone */
  fieldsOf(step: Step, start: Start, isInBranch: boolean): Fields {
    const { id, title, renamedFrom, work, retry, isIdempotent, budget, ends } = step;
    const failing = ends.find(({ on }) => on === 'fail');
    // A failure that leads on does not end the run.
    const isTaken = failing !== undefined && (isInBranch || failing.to !== failure);
    const written = this.#work(step);
    return {
      id,
      type: written.type,
      ...(renamedFrom !== undefined && { renamed_from: renamedFrom }),
      ...(title !== undefined && { description: title }),
      ...start,
      ...(isTaken && { continue_on_error: true }),
      ...(work.kind === 'command' && step.timeoutMs !== undefined && { timeout: durationText(step.timeoutMs) }),
      ...(work.kind === 'command' && isIdempotent && { idempotent: true }),
      ...(retry !== undefined && { retry: retryFields(retry) }),
      ...budgetFields(budget),
      inputs: written.inputs,
    };
  }

  #work({ id, work, timeoutMs }: Step): { readonly type: string; readonly inputs: Fields } {
    switch (work.kind) {
      case 'command':
        return {
          type: 'Shell',
          inputs: {
            command: yamlCommand(work.script, this.#names),
            ...(work.folder !== undefined && { working_dir: yamlText([work.folder], String) }),
            ...(this.#inputs.length > 0 && {
              env: Object.fromEntries(this.#inputs.map((name) => [name, `\${inputs.${name}}`])),
            }),
            ...(work.stdin !== undefined && { stdin: this.#text(work.stdin) }),
          },
        };
      case 'model':
        if (work.agent !== undefined)
          return { type: 'Agent', inputs: agentInputs(this.#text(work.prompt), work, work.agent) };
        return {
          type: 'LLMCall',
          inputs: {
            prompt: this.#text(work.prompt),
            ...(work.model.includes(':') ? { model: work.model } : work.model !== 'default' && { profile: work.model }),
            ...(work.verdict !== undefined && { response_schema: verdictSchema(work.verdict) }),
            max_retries: 1,
            timeout: timeoutMs === undefined ? longestCall : Math.min(longestCall, Math.max(0.01, timeoutMs / 1_000)),
          },
        };
      case 'child':
        return {
          type: 'Workflow',
          inputs: {
            workflow: yamlText([work.name], String),
            ...(work.inputs.length > 0 && {
              inputs: Object.fromEntries(work.inputs.map((name) => [name, `\${inputs.${name}}`])),
            }),
          },
        };
      case 'choice':
        return {
          type: 'AskChoice',
          inputs: {
            question: this.#text(work.question),
            choices: work.choices.map((choice) => yamlText([choice], String)),
          },
        };
      case 'confirm':
        return { type: 'ConfirmOperation', inputs: { message: this.#text(work.question), operation: id } };
      case 'text':
        return { type: 'GetInput', inputs: { prompt: this.#text(work.question) } };
      default:
        throw new Error(`${id} is no block`);
    }
  }

  #text(text: Text): string {
    return yamlText(text, (id) => {
      const { work } = this.#steps.get(id) as Step;
      return work.kind === 'text' ? `blocks.${id}.input_value` : `blocks.${id}.response.content`;
    });
  }
}

function agentInputs(
  prompt: string,
  { model, verdict }: Extract<Step['work'], { readonly kind: 'model' }>,
  { files, shell, asks, allow, loopsMax, refusesChanges }: AgentTools,
): Fields {
  const allowed = [...(allow.includes('write') ? writingTools : []), ...(allow.includes('shell') ? ['shell'] : [])];
  return {
    prompt,
    ...(model !== 'default' && { model }),
    ...(files !== undefined && {
      files: yamlText([files.folder], String),
      ...(files.isReadOnly && { files_read_only: true }),
    }),
    ...(shell && { shell: true }),
    ...(!asks && { ask_person: false }),
    ...(allowed.length > 0 && { allow: allowed }),
    max_loops: loopsMax,
    ...(refusesChanges === true && { on_change: 'refuse' }),
    ...(verdict !== undefined && { output_schema: verdictSchema(verdict) }),
  };
}

/** The budget of a workflow or a block. */
function budgetFields({ budget, onBudget }: Budget): Fields {
  return budget === undefined ? {} : { budget, on_budget: onBudget ?? 'ask' };
}

function retryFields({ attempts, backoff, delayMs, delayMsMax, factor, jitter }: RetryPolicy): Fields {
  return {
    attempts,
    ...(backoff !== undefined && { backoff }),
    ...(factor !== undefined && { factor }),
    ...(delayMs !== undefined && { delay: durationText(delayMs) }),
    ...(delayMsMax !== undefined && { max_delay: durationText(delayMsMax) }),
    ...(jitter !== undefined && { jitter }),
  };
}

export function writeYaml(outline: Outline, notes: Notes): string {
  // The first pass cuts ways back, which may need stops; the second puts these into the order of the blocks.
  const stopped = withoutLoops(withStops(withoutLoops(outline, notes), failsRun), notes);
  const { name, description, inputs, steps, budget, webhooks = [], first } = withFittingIds(stopped, fittingId, notes);
  const starts = new Starts(steps);
  const inBranches = stepsInBranches(steps);
  const writer = new BlockWriter(inputs, steps);
  const blocks =
    first === finish
      ? [{ id: 'nothing', type: 'EchoBlock', inputs: { message: 'nothing to do' } }]
      : steps
          .filter(({ work }) => work.kind !== 'parallel')
          .map((step) => writer.fieldsOf(step, starts.of(step.id), inBranches.has(step.id)));
  return printDocument({
    name: fittingName(name, notes),
    ...(description !== undefined && { description }),
    ...(inputs.length > 0 && { inputs: Object.fromEntries(inputs.map(inputField)) }),
    ...budgetFields(budget),
    ...(webhooks.length > 0 && { webhooks }),
    blocks,
  });
}

/** A block fails the run if its command or its call fails. A verdict is an answer, with which the block completes. */
function failsRun({ work }: Step, { on }: End): boolean {
  return on === 'fail' && work.kind !== 'parallel' && !isVerdict(work);
}

function fittingId(id: string): string {
  const plain = id.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d|__)/, 'n');
  return (reservedIds.includes(plain) ? `${plain}_step` : plain || 'step').slice(0, 90);
}

function fittingName(name: string, notes: Notes): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '-').replace(/^[^A-Za-z_]*/, '');
  const fitting = plain.slice(0, 90) || 'workflow';
  if (fitting !== name)
    notes.changed(
      'NAME',
      'the name',
      `the workflow ${name} is called ${fitting}`,
      'nothing, or give both the same name',
    );
  return fitting;
}

function inputField({ name, default: initial }: OutlineInput): readonly [string, Fields] {
  return [name, { type: 'str', ...(initial !== undefined && { default: initial }) }];
}
