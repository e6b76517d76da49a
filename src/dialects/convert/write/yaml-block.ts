/** What a step of an outline is as a block of a workflow file: its fields. */
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import type { Names } from '../../yaml/expression/template.ts';
import { writingTools, type AgentTools } from '../outline/agent-tools.ts';
import { failure, type Budget, type OutlineInput, type Step, type Text } from '../outline/outline.ts';
import { longestCall, verdictSchema } from '../outline/verdict.ts';
import { durationText } from './duration.ts';
import type { Start } from './yaml-start.ts';
import { yamlCommand, yamlText } from './yaml-text.ts';

export type Fields = Readonly<Record<string, unknown>>;

export class BlockWriter {
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
  { files, shell, asks, allow, loopsMax }: AgentTools,
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
    ...(verdict !== undefined && { output_schema: verdictSchema(verdict) }),
  };
}

/** The budget of a workflow or a block. */
export function budgetFields({ budget, onBudget }: Budget): Fields {
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
