/** Helpers for tests of whole YAML workflows: an engine over a store with the built-in blocks, and runs that go on until they stop. */
import { systemClock } from '../src/app/process/system-clock.ts';
import { readBundle, type TextWorkflow } from '../src/dialects/yaml/index.ts';
import type { Engine, EngineOptions, OpenQuestion, RunResult } from '../src/engine/api.ts';
import type { NodeType } from '../src/graph/contracts/node-type.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { afterCrash, createBench, runToRest, type Bench } from './engine-kit.ts';
import { read, type Others } from './yaml-kit.ts';

export interface YamlBench extends Bench {
  readonly read: (text: string, others?: Others) => TextWorkflow;
  readonly start: (text: string, inputs?: object, options?: StartOptions) => Promise<RunResult>;
  /** Answers the question of the given block, or the only open one, and lets the run go on. */
  readonly answer: (runId: string, value: unknown, block?: string) => Promise<RunResult>;
  readonly resume: (runId: string) => Promise<RunResult>;
  /** The same store in another process, which knows that this process is dead. */
  readonly afterDeath: () => YamlBench;
}

export interface StartOptions {
  readonly runId?: string;
  readonly others?: Others;
}

/** @param own - blocks in addition to the built-in ones */
export function yamlBench(own: readonly NodeType[] = [], more: Partial<EngineOptions> = {}): YamlBench {
  const nodeTypes = [...createNodeTypes({}), ...own];
  const findGraph: EngineOptions['findGraph'] = async (_id, _hash, _meta, readText) => {
    const text = await readText();
    return text === undefined ? undefined : readBundle(text, { nodeTypes }).graph;
  };
  // Blocks start real processes, so the clock is real too.
  return overBench(createBench({ findGraph, clock: systemClock, ...more }), nodeTypes);
}

function overBench(bench: Bench, nodeTypes: readonly NodeType[]): YamlBench {
  const { engine } = bench;
  const readHere: YamlBench['read'] = (text, others = {}) => read(text, { nodeTypes, others });
  const resume = async (runId: string): Promise<RunResult> => (await engine.resume(runId)).result();
  return {
    ...bench,
    read: readHere,
    resume,
    start: async (text, inputs = {}, { runId, others } = {}) =>
      runToRest(engine, readHere(text, others).graph, inputs, runId),
    answer: async (runId, value, block) => {
      const wait = await findQuestion(engine, runId, block);
      await engine.answer(runId, wait.waitId, value);
      return resume(runId);
    },
    afterDeath: () => overBench({ ...bench, engine: afterCrash(bench) }, nodeTypes),
  };
}

export async function findQuestion(engine: Engine, runId: string, block?: string): Promise<OpenQuestion> {
  const open = (await engine.waits(runId)).filter(({ node }) => block === undefined || node.includes(block));
  const [wait] = open;
  if (wait === undefined || open.length > 1)
    throw new Error(`${open.length} questions ${block === undefined ? '' : `of ${block} `}are open in ${runId}`);
  return wait;
}

/** The outputs of the workflow in a run's result. */
export function outputsOf(result: RunResult): unknown {
  return result.state.outputs['outputs'];
}

/** Prompts of the open questions, in the order of their blocks. */
export function promptsOf(result: RunResult): readonly (string | undefined)[] {
  return result.waits.map(({ prompt }) => prompt);
}
