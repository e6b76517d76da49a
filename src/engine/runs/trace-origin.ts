/** What `start` and `resume` record about their origin: the library's version, and the trace they belong to. */
import { CairnError } from '../../errors.ts';
import { decodeOrNothing } from '../../history/stored/chain.ts';
import type { RunRow } from '../../ports/store.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

export interface Origin {
  readonly version?: string;
  readonly traceparent?: string;
}

const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/u;

/** @param given - W3C trace context; default: the caller's according to the telemetry. @throws CONFIG_INVALID it is malformed */
export function originOf({ version, telemetry }: EngineEnvironment, given: string | undefined): Origin {
  if (given !== undefined && !form.test(given))
    throw new CairnError('CONFIG_INVALID', {
      path: 'traceparent',
      reason: 'it must be a W3C traceparent of version 00',
    });
  const traceparent = given ?? callersTrace(telemetry);
  return { ...(version !== undefined && { version }), ...(traceparent !== undefined && { traceparent }) };
}

function callersTrace(telemetry: EngineEnvironment['telemetry']): string | undefined {
  try {
    const traceparent = telemetry?.traceparent?.();
    return traceparent !== undefined && form.test(traceparent) ? traceparent : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The trace that a span of a run belongs to: the caller's, else the one under which the run was started. Undefined if there is none, or the
 * start was pruned.
 */
export async function parentTrace(
  env: EngineEnvironment,
  run: RunRow,
  given: string | undefined,
): Promise<string | undefined> {
  const { traceparent } = originOf(env, given);
  if (traceparent !== undefined) return traceparent;
  const [row] = await env.store.readCheckpoints(run, { from: 0, to: 0, limit: 1 }).catch(() => []);
  const change = row && decodeOrNothing(run, row)?.change;
  return change?.find(({ kind }) => kind === 'start')?.traceparent;
}
