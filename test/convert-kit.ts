/** Helpers for tests of conversions: a text of either dialect is run in a world in which everything happens as it was decided before. */
import { agentBlock } from '../src/agents/block/agent-block.ts';
import { stageAgent } from '../src/agents/stage/stage-agent.ts';
import { convertText, type WrittenDialect } from '../src/dialects/convert/convert-text.ts';
import type { ConversionNote } from '../src/dialects/convert/outline/notes.ts';
import { readDot } from '../src/dialects/dot/index.ts';
import { checkCalledDot } from '../src/dialects/dot/read-dot.ts';
import type { TextWorkflow } from '../src/dialects/text-workflow.ts';
import { readWorkflow } from '../src/dialects/yaml/index.ts';
import { NodeFailure } from '../src/graph/contracts/node-contract.ts';
import type { NodeType } from '../src/graph/contracts/node-type.ts';
import { createScriptedModels } from '../src/models/scripted.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { systemClock } from '../src/app/process/system-clock.ts';
import type { Clock } from '../src/ports/clock.ts';
import { createBench, resumeToRest, runToRest } from './engine-kit.ts';

/** What happens, decided before anything runs. */
export interface World {
  /** Whether the command or the call succeeds at its nth time. @param what - the command or the prompt */
  readonly succeeds: (what: string, count: number) => boolean;
  /** Which of a number of choices is taken. @param node - the stage or block that asks */
  readonly chooses: (node: string, count: number) => number;
}

export interface WayOfRun {
  readonly status: string;
  /** All that was done, asked and said, in order. */
  readonly done: readonly string[];
}

const working = createNodeTypes();
const realTypes = [...working, agentBlock(working)];
const agent = stageAgent();

/** A shell that writes down what it would run, with the values of its variables in it. */
function toldShell(world: World, done: string[]): NodeType {
  const shell = realTypes.find(({ name }) => name === 'Shell') as NodeType;
  const counts = new Map<string, number>();
  return {
    ...shell,
    run: ({ inputs }) => {
      const { script, env } = inputs['command'] as {
        readonly script: string;
        readonly env: Readonly<Record<string, unknown>>;
      };
      const values: Readonly<Record<string, unknown>> = { ...(inputs['env'] as object | undefined), ...env };
      const told = script.replaceAll(/\$\{(\w+)\}|\$(\w+)/g, (word, braced?: string, plain?: string) =>
        Object.hasOwn(values, braced ?? plain ?? '') ? `<${String(values[braced ?? plain ?? ''])}>` : word,
      );
      const count = (counts.get(told) ?? 0) + 1;
      counts.set(told, count);
      const isStop = script.includes('does not let the run go on');
      if (!isStop) done.push(`$ ${told}${inputs['stdin'] === undefined ? '' : ` < ${inputs['stdin'] as string}`}`);
      const isGood = !isStop && world.succeeds(told, count);
      if (!isGood && String(inputs['continue-on-error']) !== 'true')
        throw new NodeFailure('the command exited with 1', { code: 'EXIT_CODE', applied: 'ended' });
      return { exit_code: isGood ? 0 : 1, stdout: '', stderr: '', success: isGood };
    },
  };
}

const dialectIn = (text: string): WrittenDialect => (/^\s*(?:\/\/.*\n\s*)*digraph\b/.test(text) ? 'dot' : 'yaml');

/** Texts of other workflows, by path. */
export type Files = Readonly<Record<string, string>>;

export function readText(text: string, nodeTypes: readonly NodeType[] = realTypes, files: Files = {}): TextWorkflow {
  const readFile = (path: string): string | undefined => files[path];
  if (dialectIn(text) === 'dot') return readDot(text, { nodeTypes, agent, source: 'w.dot', readFile });
  const nameOf = (other: string): string | undefined => /^(?:digraph|name:) (\w+)/m.exec(other)?.[1];
  return readWorkflow(text, {
    nodeTypes,
    source: 'w.yaml',
    workflows: {
      get: (name) =>
        Object.entries(files)
          .filter(([, other]) => nameOf(other) === name)
          .map(([source, other]) => ({ source, text: other }))[0],
      names: () => Object.values(files).flatMap((other) => nameOf(other) ?? []),
    },
    readOther: ({ text: other, source }) =>
      source.endsWith('.dot') ? checkCalledDot(other, { nodeTypes, agent, source, readFile }) : undefined,
  });
}

export interface Converted {
  readonly text: string;
  /** `code message` of all that is lost. */
  readonly lost: readonly string[];
  readonly notes: readonly ConversionNote[];
}

/** The text in the other dialect. */
export function converted(text: string, files: Files = {}): Converted {
  const from = dialectIn(text);
  const workflow = readText(text, realTypes, files);
  const given = { text, source: from === 'dot' ? 'w.dot' : 'w.yaml', workflow, from, nodeTypes: realTypes };
  const { notes, ...written } = convertText(given, from === 'dot' ? 'yaml' : 'dot');
  const lost = notes.filter(({ severity }) => severity === 'lost').map(({ code, message }) => `${code} ${message}`);
  return { ...written, notes, lost };
}

/** Time that passes faster than outside, so that delays are short and commands do not come to their limits. */
const haste = 20;
const fastClock: Clock = {
  ...systemClock,
  now: () => began + (systemClock.now() - began) * haste,
  monotonic: () => systemClock.monotonic() * haste,
  setTimer: (delayMs, callback) => systemClock.setTimer(delayMs / haste, callback),
};
const began = systemClock.now();

const request = '\n\nEnd your answer with one JSON object';

/** Runs a text to its end in a world. */
export async function wayOf(text: string, world: World, input: unknown = {}, files: Files = {}): Promise<WayOfRun> {
  const done: string[] = [];
  const counts = new Map<string, number>();
  const models = createScriptedModels(({ messages, schema }) => {
    const said = messages.findLast(({ role }) => role === 'user')?.content;
    const whole = typeof said === 'string' ? said : JSON.stringify(said);
    const prompt = whole.split(request)[0] ?? '';
    const count = (counts.get(prompt) ?? 0) + 1;
    counts.set(prompt, count);
    done.push(`? ${prompt}`);
    if (world.succeeds(prompt, count)) return JSON.stringify({ outcome: 'success' });
    const isAsked = schema !== undefined || whole.includes(request) || messages.some(({ role }) => role === 'system');
    if (isAsked) return JSON.stringify({ outcome: 'fail' });
    return new NodeFailure('no answer', { code: 'MODEL_UNAVAILABLE' });
  });
  const nodeTypes = [...realTypes.filter(({ name }) => name !== 'Shell'), toldShell(world, done)];
  const { graph } = readText(text, nodeTypes, files);
  const { engine } = createBench({ models, clock: fastClock, findGraph: () => Promise.resolve(graph) });
  let result = await runToRest(engine, graph, input);
  for (let turn = 0; turn < 50 && result.status === 'paused'; turn += 1) {
    const wait = result.waits.find(({ kind }) => kind === 'question');
    if (wait === undefined) break;
    const { choices = [] } = wait;
    // A copy of a stage is answered as what it is a copy of.
    const name = wait.node.join('/').replace(/_\d+$/, '');
    const values = choices.map((choice) =>
      typeof choice === 'object' ? (choice as { readonly value: unknown }).value : choice,
    );
    const answer = values.length === 0 ? 'said' : values[world.chooses(name, values.length)];
    done.push(`> ${name}: ${String(answer).toLowerCase()}`);
    await engine.answer(result.runId, wait.waitId, answer);
    result = await resumeToRest(engine, result.runId, graph);
  }
  return { status: result.status, done };
}

/** A world in which everything hangs on a number. */
export function worldOf(seed: number): World {
  const at = (text: string): number => {
    let hash = seed | 0;
    for (const sign of text) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 0x5bd1e995) ^ (hash >>> 13);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    return (hash ^ (hash >>> 12)) >>> 0;
  };
  return {
    succeeds: (what, count) => at(`${what} ${count}`) % 5 < 3,
    chooses: (node, count) => at(node) % count,
  };
}
