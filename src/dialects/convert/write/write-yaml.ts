/** Writes an outline as a YAML workflow: a block for each step, which depends on those that lead to it. */
import type { RetryPolicy } from '../../../graph/contracts/node-contract.ts';
import { reservedIds } from '../../yaml/file/format.ts';
import { printDocument } from '../../yaml/file/write-document.ts';
import type { Names } from '../../yaml/expression/template.ts';
import type { Notes } from '../outline/notes.ts';
import {
  failure,
  finish,
  type Budget,
  type Outline,
  type OutlineInput,
  type Step,
  type Text,
} from '../outline/outline.ts';
import { stepsInBranches, withStops } from '../outline/stand-in.ts';
import { longestCall, verdictSchema } from '../outline/verdict.ts';
import { withoutLoops } from './break-loops.ts';
import { withFittingIds } from './rename-steps.ts';
import { Starts, type Start } from './yaml-start.ts';
import { yamlCommand, yamlText } from './yaml-text.ts';

type Fields = Readonly<Record<string, unknown>>;

export function writeYaml(given: Outline, notes: Notes): string {
  const outline = withFittingIds(withoutLoops(withStops(withoutLoops(given, notes), true), notes), fittingId, notes);
  const { name, description, inputs, steps, budget, first } = outline;
  const starts = new Starts(steps);
  const inBranches = stepsInBranches(steps);
  const fitting = fittingName(name);
  if (fitting !== name)
    notes.changed(
      'NAME',
      'the name',
      `the workflow ${name} is called ${fitting}`,
      'nothing, or give both the same name',
    );
  const writer = new BlockWriter(inputs, steps);
  const blocks =
    first === finish
      ? [{ id: 'nothing', type: 'EchoBlock', inputs: { message: 'nothing to do' } }]
      : steps
          .filter(({ work }) => work.kind !== 'parallel')
          .map((step) => writer.block(step, starts.of(step.id), inBranches.has(step.id)));
  return printDocument({
    name: fitting,
    ...(description !== undefined && { description }),
    ...(inputs.length > 0 && { inputs: Object.fromEntries(inputs.map(inputField)) }),
    ...budgetFields(budget),
    blocks,
  });
}

function fittingId(id: string): string {
  const plain = id.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d|__)/, 'n');
  return (reservedIds.includes(plain) ? `${plain}_step` : plain || 'step').slice(0, 90);
}

function fittingName(name: string): string {
  return (
    name
      .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
      .replace(/^[^A-Za-z_]*/, '')
      .slice(0, 90) || 'workflow'
  );
}

function inputField({ name, default: initial }: OutlineInput): readonly [string, Fields] {
  return [name, { type: 'str', ...(initial !== undefined && { default: initial }) }];
}

function budgetFields({ budget, onBudget }: Budget): Fields {
  return budget === undefined ? {} : { budget, on_budget: onBudget ?? 'ask' };
}

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
  block(step: Step, start: Start, isInBranch: boolean): Fields {
    const { id, title, work, retry, isIdempotent, budget, ends } = step;
    const failing = ends.find(({ on }) => on === 'fail');
    // A failure that leads on does not end the run.
    const isTaken = failing !== undefined && (isInBranch || failing.to !== failure);
    const written = this.#work(step);
    return {
      id,
      type: written.type,
      ...(title !== undefined && { description: title }),
      ...start,
      ...(isTaken && { continue_on_error: true }),
      ...(work.kind === 'command' && step.timeoutMs !== undefined && { timeout: duration(step.timeoutMs) }),
      ...(work.kind === 'command' && isIdempotent && { idempotent: true }),
      ...(retry !== undefined && { retry: retryFields(retry) }),
      ...budgetFields(budget),
      inputs: written.inputs,
    };
  }

  #text(text: Text): string {
    return yamlText(text, (id) => {
      const { work } = this.#steps.get(id) as Step;
      return work.kind === 'text' ? `blocks.${id}.input_value` : `blocks.${id}.response.content`;
    });
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
}

function duration(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

function retryFields({ attempts, backoff, delayMs, delayMsMax, factor, jitter }: RetryPolicy): Fields {
  return {
    attempts,
    ...(backoff !== undefined && { backoff }),
    ...(factor !== undefined && { factor }),
    ...(delayMs !== undefined && { delay: duration(delayMs) }),
    ...(delayMsMax !== undefined && { max_delay: duration(delayMsMax) }),
    ...(jitter !== undefined && { jitter }),
  };
}
