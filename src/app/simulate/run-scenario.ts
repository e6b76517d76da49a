/** Runs one scenario: an engine in memory on virtual time advances the run as far as the scenario goes. */
import { nextDueOf } from '../../state/tree.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import type { StageEnding } from '../../dialects/dot/index.ts';
import type { Scenario, ScriptedStages } from '../../dialects/dot/simulate/scenario.ts';
import type { Engine, RunHandle, RunResult } from '../../engine/api.ts';
import { createEngine } from '../../engine/engine.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import type { Models } from '../../ports/model.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';

/** How a scenario ended. */
export interface SimulatedRun {
  readonly name: string;
  /** `waiting`: a person is asked, and the scenario has no answer. */
  readonly status: 'success' | 'partial_success' | 'failed' | 'waiting';
  /** The stages in the order in which they ended, and where the run went on after each. */
  readonly path: readonly StageEnding[];
  /** Why it failed, or what is asked. */
  readonly reason?: string;
  /** Id of the stage that asks. */
  readonly waitsAt?: string;
  /** Ids of stages for which the scenario has more endings than were used. */
  readonly unused: readonly string[];
}

/** The model for a fan-in that asks which branch is best. It gives no answer, so that the rank decides. */
const undecided: Models = createScriptedModels(() => '');

/** The most answers and waiting times in one run; a pipeline might ask forever. */
const turnsMax = 200;

/** @param path - filled by the graph with the stages that have ended */
export async function runScenario(
  graph: Graph,
  { name, input = {} }: Scenario,
  script: ScriptedStages,
  path: readonly StageEnding[],
): Promise<SimulatedRun> {
  const clock = createVirtualClock({ isAutomatic: true });
  const engine = createEngine({
    store: createMemoryStore({ now: clock.now }),
    blobs: createMemoryBlobs(),
    clock,
    ids: { createRunId: () => 'simulation', workerId: 'simulation', random: () => 0.5, isWorkerDead: () => undefined },
    bounds: { holdTimersMs: 0 },
    models: undecided,
    findGraph: () => Promise.resolve(graph),
  });
  try {
    const result = await bringToRest({ engine, clock, script, name }, await engine.start(graph, input));
    const taken = path.map((ending) => ending);
    return { name, ...endOf(result), path: taken, unused: script.unused() };
  } finally {
    await engine.close();
  }
}

interface Simulation {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  readonly script: ScriptedStages;
  /** The scenario's. */
  readonly name: string;
}

async function bringToRest(simulation: Simulation, begun: RunHandle): Promise<RunResult> {
  let handle = begun;
  let result = await handle.result();
  for (let turn = 0; turn < turnsMax && result.status === 'paused'; turn += 1) {
    if (!(await attend(simulation, result))) return result;
    handle = await simulation.engine.resume(result.runId, { retryFailed: false });
    result = await handle.result();
  }
  return result;
}

/** Gives one answer, or advances time to the next deadline. @returns false if neither is possible */
async function attend({ engine, clock, script, name }: Simulation, { runId, waits }: RunResult): Promise<boolean> {
  for (const { kind, node, waitId } of waits) {
    const stage = node.at(-1) ?? '';
    const answer = kind === 'question' ? script.nextAnswer(stage) : undefined;
    if (typeof answer !== 'string') continue;
    await engine.answer(runId, waitId, answer).catch((error: unknown) => {
      throw refusedAnswer(error, `the scenario ${name} answers ${stage} with ${JSON.stringify(answer)}`);
    });
    return true;
  }
  const due = waits.flatMap((wait) => nextDueOf(wait) ?? []);
  if (due.length === 0) return false;
  clock.timeMs = Math.max(clock.timeMs + 1, Math.min(...due));
  return true;
}

/** An answer that does not fit is a fault of the scenario: its name and its stage are reported. Any other error stays as it was. */
function refusedAnswer(error: unknown, what: string): unknown {
  if (!CairnError.is(error, 'ANSWER_INVALID')) return error;
  return new CairnError('USAGE_INVALID', { reason: `${what}: ${error.message}` }, { cause: error });
}

/** Whether a scenario gave an answer that does not fit. */
export function isRefusedAnswer(error: unknown): boolean {
  return error instanceof CairnError && CairnError.is(error.cause, 'ANSWER_INVALID');
}

function endOf({ status, state, error, waits }: RunResult): Pick<SimulatedRun, 'status' | 'reason' | 'waitsAt'> {
  if (status === 'paused') {
    const [wait] = waits;
    const at = wait?.node.at(-1);
    return {
      status: 'waiting',
      ...(wait?.prompt !== undefined && { reason: wait.prompt }),
      ...(at !== undefined && { waitsAt: at }),
    };
  }
  if (status !== 'completed') return { status: 'failed', reason: error?.message ?? status };
  const { status: outcome } = state.outputs['outputs'] as { readonly status: 'success' | 'partial_success' };
  return { status: outcome };
}
