/** Helpers for tests of YAML workflows: a few small blocks, and running a workflow's text until it ends. */
import type { Engine, RunResult } from '../src/engine/api.ts';
import { NodeFailure } from '../src/graph/contracts/node-contract.ts';
import type { NodeType } from '../src/graph/contracts/node-type.ts';
import {
  checkWorkflow,
  readWorkflow,
  type ReadOptions,
  type WorkflowTexts,
  type TextWorkflow,
} from '../src/dialects/yaml/index.ts';
import { createBench, resumeToRest, runToRest } from './engine-kit.ts';

const any = { schema: {}, description: 'anything' };

/** A block that returns its input, or fails. */
export const note: NodeType = {
  name: 'Note',
  description: 'Gives a value back.',
  inputs: {
    value: any,
    text: { schema: { type: 'string' }, description: 'a text' },
    size: { schema: { type: 'integer', minimum: 0 }, description: 'a size' },
    fail: { schema: { type: ['boolean', 'string'] }, description: 'whether it fails' },
    mode: { schema: { enum: ['a', 'b'] }, description: 'a mode', kind: 'literal' },
    token: { schema: { type: 'string' }, description: 'a token', takesSecrets: true },
  },
  outputs: { value: any, text: any, size: any },
  effect: 'pure',
  check: ({ text, size }) =>
    text !== undefined && size !== undefined
      ? [{ input: 'size', message: 'text and size exclude each other', fix: 'give one' }]
      : [],
  run: ({ inputs }) => {
    if (inputs['fail'] === true || inputs['fail'] === 'true') throw new NodeFailure('it failed', { code: 'NOTED' });
    return { value: inputs['value'] ?? null, text: inputs['text'] ?? null, size: inputs['size'] ?? null };
  },
};

/** A block that asks a person and returns the answer. */
export const ask: NodeType = {
  name: 'Ask',
  description: 'Asks a person.',
  inputs: { prompt: { schema: { type: 'string' }, description: 'what is asked', isRequired: true } },
  outputs: { answer: any },
  effect: 'human',
  run: async (ctx) => ({ answer: await ctx.ask({ prompt: String(ctx.inputs['prompt']) }) }),
};

/** Records what the effects of {@link effectType} did. */
export interface Journal {
  readonly done: { readonly key: string; readonly value: unknown; readonly attempt: number }[];
}

/** A block type with an effect, which the journal records. */
function effectType(journal: Journal): NodeType {
  return {
    name: 'Effect',
    description: 'Does something that counts.',
    inputs: {
      value: any,
      command: { schema: { type: 'string' }, description: 'a command', kind: 'command' },
      fail: any,
    },
    outputs: { value: any },
    takesFileOutputs: true,
    effect: ({ value }) => (value === 'external' ? 'external' : 'write'),
    needs: () => [{ kind: 'shell' }],
    run: ({ inputs, idempotencyKey, attempt }) => {
      journal.done.push({ key: idempotencyKey, value: inputs['value'], attempt });
      if (inputs['fail'] === true) throw new NodeFailure('no effect', { applied: 'no', code: 'NOT_DONE' });
      return { value: inputs['value'] ?? null };
    },
  };
}

export const journal: Journal = { done: [] };
export const types: readonly NodeType[] = [note, ask, effectType(journal)];

/** Texts of workflows that other workflows may name. */
export type Others = Readonly<Record<string, string>>;
export type More = Partial<ReadOptions> & { readonly others?: Others };

/** The same texts in the form in which the dialect looks them up. */
export function textsOf(others: Others): WorkflowTexts {
  return {
    get: (name) => (others[name] === undefined ? undefined : { text: others[name], source: `${name}.yaml` }),
    names: () => Object.keys(others),
  };
}

/** Read options with workflows by name. */
export function optionsOf({ others = {}, ...more }: More = {}): ReadOptions {
  return { nodeTypes: types, source: 'f.yaml', workflows: textsOf(others), ...more };
}

export function read(text: string, more: More = {}): TextWorkflow {
  return readWorkflow(text, optionsOf(more));
}

/** Faults as lines: `line:column message | fix`. */
export function faultsOf(text: string, more: More = {}): readonly string[] {
  return checkWorkflow(text, optionsOf(more)).violations.map(
    ({ place, message, fix, severity }) =>
      `${place.replace('f.yaml:', '')} ${severity === 'warning' ? 'warning: ' : ''}${message} | ${fix}`,
  );
}

/** A run of a workflow. */
export interface Ran {
  readonly result: RunResult;
  readonly workflow: TextWorkflow;
  readonly engine: Engine;
  readonly outputs: Readonly<Record<string, unknown>> | undefined;
}

/** Runs a workflow until it ends or waits. */
export async function runText(text: string, input: unknown = {}, more: More = {}): Promise<Ran> {
  const workflow = read(text, more);
  const { engine } = createBench();
  return ranOf(await runToRest(engine, workflow.graph, input), workflow, engine);
}

/** Answers the open questions by their prompts, and lets the run go on. */
export async function answerAll(
  { result, workflow, engine }: Ran,
  answerOf: (prompt: string) => unknown,
): Promise<Ran> {
  for (const { waitId, prompt = '' } of result.waits) {
    const answer = answerOf(prompt);
    if (answer !== undefined) await engine.answer(result.runId, waitId, answer);
  }
  return ranOf(await resumeToRest(engine, result.runId, workflow.graph), workflow, engine);
}

function ranOf(result: RunResult, workflow: TextWorkflow, engine: Engine): Ran {
  return { result, workflow, engine, outputs: result.state.outputs['outputs'] as Ran['outputs'] };
}
