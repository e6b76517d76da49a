/** Waits for the places that an attempt needs, before it is announced (FL5). */
import { CairnError } from '../../errors.ts';
import { knownLimit, limitsNamed, type LimitRef, type LimitSubject } from '../../graph/limit.ts';
import type { EnterProvider } from '../../ports/model.ts';
import type { Activation } from '../live-run/loop.ts';
import { limitAround, type Charge } from '../live-run/attempt-scope.ts';
import type { RunCore } from '../live-run/run-core.ts';
import type { Permit } from '../places/step-places.ts';
import { settleFailed } from '../settle/settle.ts';

/** What is under limits: a node, or one of its steps. */
interface Limited {
  readonly limit: LimitRef | readonly LimitRef[];
  readonly tokens?: number | undefined;
}

/** Why waiting for a place ends without one, though nothing is wrong: the run is given back as it is. */
const givenBack = Symbol('the run is given back');

const subjectOf = ({ frameRun }: Activation): LimitSubject => ({
  input: frameRun.frame.tree.input as LimitSubject['input'],
});

/** Waits for places. @returns undefined if the run is given back meanwhile. @throws why the activation is to stop; CONFIG_INVALID, STORE_UNSUPPORTED */
async function waitForPlaces(
  core: RunCore,
  activation: Activation,
  { limit, tokens }: Limited,
): Promise<Permit | undefined> {
  const { env, agenda, claim, standing } = core;
  const waiting = new AbortController();
  const giveBack = (): void => waiting.abort(givenBack);
  agenda.placeWaits.set(giveBack, env.clock.monotonic());
  if (standing.isYielding) giveBack();
  const signal = AbortSignal.any([activation.signal, waiting.signal]);
  try {
    return await env.places.enterStep(claim, limit, subjectOf(activation), { tokens, signal });
  } catch (error) {
    if (error === givenBack) return undefined;
    throw error;
  } finally {
    agenda.placeWaits.delete(giveBack);
  }
}

/** Waits for the places of a node's attempt, and then goes on with it. @param begin - begins the attempt */
export function enterNode(core: RunCore, activation: Activation, limit: Limited['limit'], begin: () => void): void {
  const { agenda, standing, loop } = core;
  waitForPlaces(core, activation, { limit, tokens: tokensOf(activation.node.atMost) })
    .then((permit) => {
      const isStopped = activation.isOver || standing.isStopping;
      if (permit === undefined || isStopped) permit?.leave();
      if (activation.isOver) return;
      if (permit === undefined || isStopped) return agenda.forget(activation);
      activation.permit = permit;
      begin();
    })
    .catch((error: unknown) => {
      if (activation.isOver) return;
      if (standing.isStopping || activation.signal.aborted) agenda.forget(activation);
      else settleFailed(core, activation, error);
    })
    .finally(() => loop.requestTurn());
}

/** Waits for the places of a step's attempt. @returns undefined if the run is given back. @throws NODE_CALL_REFUSED its node has a place */
export async function enterStep(core: RunCore, activation: Activation, limited: Limited): Promise<Permit | undefined> {
  if (activation.node.limit !== undefined)
    throw new CairnError('NODE_CALL_REFUSED', {
      call: 'step',
      node: activation.path.join('/'),
      reason: 'its node has a place of a limit already; name all limits at the step, or all at the node',
    });
  return waitForPlaces(core, activation, limited);
}

/** How calls of models wait for the places of their providers, where a limit has a provider's name. */
export function placesOfProviders(core: RunCore, activation: Activation): EnterProvider | undefined {
  const { claim, env } = core;
  const { places } = env;
  if (!places.isSupported) return undefined;
  return async (provider, tokens, signal) => {
    const limit = knownLimit(provider);
    if (limit === undefined) return undefined;
    const around = limitAround(activation);
    const subject = subjectOf(activation);
    const hold = (forMs: number): void => places.hold(limit, subject, forMs);
    // A node or a step that has a place of it makes its calls in that.
    if (around !== undefined && limitsNamed(around).includes(limit)) return { leave: () => undefined, hold };
    const permit = await places.enterStep(claim, limit, subject, { tokens, signal });
    return { leave: (used) => permit.leave(used), hold };
  };
}

/** The tokens that an attempt has used, if it says so: by itself, or by its calls of models. */
export function usedTokens({ spent = {} }: Charge): number | undefined {
  const { tokens, inputTokens, outputTokens } = spent;
  if (tokens !== undefined || inputTokens === undefined) return tokens;
  return inputTokens + (outputTokens ?? 0);
}

const tokensOf = (atMost: Activation['node']['atMost']): number | undefined =>
  atMost === undefined || atMost === 'nothing' ? undefined : atMost['tokens'];
