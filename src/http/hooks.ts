/** Answers deliveries of other systems at `POST /v1/hooks/NAME`: each is verified, and becomes a run or a signal before it is answered. */
import type { Hook, HookAction, HookDelivery, HookReply } from '../app/webhooks/hook.ts';
import { CairnError } from '../errors.ts';
import { perform } from '../operations/contract/perform.ts';
import type { WorkContext } from '../operations/contract/operation.ts';
import { quotedRun } from '../operations/runs/find-run.ts';
import { startRun } from '../operations/runs/start-run.ts';
import { signalRun } from '../operations/waits/signal-run.ts';
import { signalWithStart } from '../operations/waits/signal-with-start.ts';
import type { Caller } from './authorize.ts';
import { answerHeaders, HttpRefused, jsonResponse } from './problem.ts';
import { readBytes } from './read-body.ts';

export type Hooks = Readonly<Record<string, Hook>>;

/**
 * A hook that was called, and who calls by it: a program with the hook's name. It starts runs and signals them, which may say what a person
 * would: whoever wrote the configuration has decided that.
 */
export interface CalledHook {
  readonly hook: Hook;
  readonly caller: Caller;
}

/** The hook that a request delivers to; undefined if it delivers to none. @param path - below the version of the interface */
export function calledHook(
  hooks: Hooks,
  method: string,
  [first, name = '', ...rest]: readonly string[],
): CalledHook | undefined {
  if (method !== 'POST' || first !== 'hooks' || rest.length > 0 || !Object.hasOwn(hooks, name)) return undefined;
  const hook = hooks[name] as Hook;
  const { tenant } = hook;
  const named = { principal: `hook:${name}`, kind: 'program', scopes: ['run', 'answer'] } as const;
  return { hook, caller: { ...named, ...(tenant !== undefined && { tenant }) } };
}

/**
 * Verifies a delivery and does what it says.
 * @throws 401 it is not verified; 413; errors of what is started or signalled
 */
export async function answerHook(
  { hook }: CalledHook,
  request: Request,
  context: WorkContext,
  bodyBytes: number,
): Promise<Response> {
  const body = await readBytes(request, bodyBytes);
  const text = new TextDecoder().decode(body);
  const delivery = { body, text, headers: request.headers, now: context.now() };
  if (!(await isVerified(hook, delivery)))
    throw new HttpRefused(401, 'the delivery is not verified', {}, 'DELIVERY_UNVERIFIED');
  const action = await hook.take(delivery);
  if (action === undefined) return new Response(null, { status: 204, headers: answerHeaders });
  if (!('reply' in action)) return jsonResponse({ runId: await act(action, { ...context, stayMs: 0 }) });
  return new Response(action.reply, { headers: { ...answerHeaders, 'content-type': 'text/plain; charset=utf-8' } });
}

/** Whoever sent a delivery is not told why it was refused. */
async function isVerified(hook: Hook, delivery: HookDelivery): Promise<boolean> {
  try {
    // Code without types may give back anything; only `true` is a yes.
    const verdict: unknown = await hook.verify(delivery);
    return verdict === true;
  } catch {
    return false;
  }
}

type Doing = Exclude<HookAction, HookReply>;

/** @returns the id of the run */
async function act(action: Doing, context: WorkContext): Promise<string> {
  requireIds(action);
  const { runId, input, labels } = action;
  const begun = { ...(input !== undefined && { input }), ...(labels && { label: labels }) };
  if (!('signal' in action)) {
    await perform(startRun, context, { file: action.start, runId, ...begun });
    return runId;
  }
  const { signal: name, id, value, start } = action;
  const signal = { name, id, ...(value !== undefined && { value }) };
  if (start === undefined) await perform(signalRun, context, { run: quotedRun(runId), ...signal });
  else await perform(signalWithStart, context, { workflow: start, runId, ...signal, ...begun });
  return runId;
}

/** Without ids, a delivery that comes twice would do it twice. @throws CONFIG_INVALID */
function requireIds(action: Doing): void {
  const ids: Readonly<Record<string, unknown>> =
    'signal' in action ? { runId: action.runId, id: action.id } : { runId: action.runId };
  const missing = Object.entries(ids).find(([, id]) => typeof id !== 'string' || id === '');
  if (missing !== undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'hooks', reason: `what take returned has no ${missing[0]}` });
}
