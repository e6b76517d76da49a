/** Signals a run, and starts it first if there is none of its id, in one write (W5.7). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { postSealed } from '../../history/stored/messages.ts';
import type { RunRow } from '../../ports/store.ts';
import { isRunOver } from '../../state/tree.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import type { SignalWithStartOptions } from '../api.ts';
import { takeFiles } from '../validate/admit-input.ts';
import { prepareAdmission } from './admit-run.ts';
import { admitSignal, misfitOf, refuseOther } from './signal.ts';

/** The signal, and what the run is started with if there is none. */
export interface FirstSignal {
  readonly runId: string;
  readonly input: unknown;
  readonly name: string;
  readonly value: unknown;
}

/**
 * @returns whether the run was started
 * @throws RUN_ENDED and records nothing; RUN_EXISTS the run is of another graph; INPUT_INVALID, SIGNAL_INVALID, ID_INVALID, VALUE_UNSTORABLE,
 * FILE_NOT_FOUND
 */
export async function postSignalWithStart(
  env: EngineEnvironment,
  graph: Graph,
  first: FirstSignal,
  options: SignalWithStartOptions,
): Promise<boolean> {
  const { store, tenant } = env;
  const { runId, input } = first;
  const message = admitSignal(env, runId, first, options);
  const run = await store.readRun({ tenant, runId });
  // Of a run that is there, nothing is stored again: its graph, its input.
  const admission =
    run === undefined ? (await prepareAdmission(env, graph, input, { ...options, runId })).admission : undefined;
  if (run !== undefined) await checkFit(env, graph, run, message.name, first);
  await takeFiles(env, message.value, 'the signal');
  const { value: _, ...posted } = message;
  const reply = await postSealed(store, { ...posted, isForOpen: true, ...(admission && { admission }) }).catch(
    (error: unknown) => {
      // It was removed meanwhile.
      if (run === undefined || !CairnError.is(error, 'RUN_NOT_FOUND')) throw error;
    },
  );
  if (reply === undefined) return postSignalWithStart(env, graph, first, options);
  if (reply.status === 'ended') throw await ended(env, runId);
  if (options.isOnlyThis === true) refuseOther(message, reply);
  return reply.status === 'accepted' && reply.created === true;
}

async function ended({ store, tenant }: EngineEnvironment, runId: string): Promise<CairnError> {
  const status = (await store.readRun({ tenant, runId }))?.status ?? 'removed';
  return new CairnError('RUN_ENDED', { runId, status });
}

/** @throws RUN_EXISTS, SIGNAL_INVALID */
async function checkFit(
  env: EngineEnvironment,
  graph: Graph,
  run: RunRow,
  id: string,
  { name, value }: FirstSignal,
): Promise<void> {
  const { runId, graphId } = run;
  if (graphId !== graph.id)
    throw new CairnError('RUN_EXISTS', { runId, difference: 'graph', stored: graphId, requested: graph.id });
  const misfit = isRunOver(run.status) ? undefined : await misfitOf(env, runId, { name, value });
  if (misfit !== undefined && !(await env.store.hasMessage(run, { kind: 'signal', name: id }))) throw misfit;
}
