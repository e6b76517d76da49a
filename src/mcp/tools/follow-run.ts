/** Follows a run for a call and reports its progress. If the client leaves, the following ends but the run goes on. */
import { perform } from '../../operations/declare/perform.ts';
import { inspectRun } from '../../operations/runs/inspect-run.ts';
import type { RunStanding, WatchedEvent, WorkContext } from '../../operations/declare/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import type { ToolCall } from './tool.ts';

/** Reports progress as each block of the workflow settles. Blocks of child workflows count as part of the block that runs them. */
async function watchProgress({ context, report }: ToolCall, runId: string): Promise<WorkContext> {
  if (report === undefined) return context;
  const { progress } = await perform(inspectRun, context, { run: runId });
  const { nodes, completed, failed, skipped } = progress;
  const blocks = new Set(nodes);
  const settled = new Set([...completed, ...failed, ...skipped]);
  const watch = (event: WatchedEvent): void => {
    context.watch?.(event);
    if (event.type !== 'checkpoint') return;
    for (const { kind, node, status = 'completed', verdict = status } of event.change) {
      const [id, ...inner] = node ?? [];
      if (kind !== 'settle' || id === undefined || inner.length > 0 || !blocks.has(id) || settled.has(id)) continue;
      settled.add(id);
      report(settled.size, blocks.size, `${id}: ${verdict}`);
    }
  };
  return { ...context, watch };
}

/** A promise that rejects when the client stops waiting. */
function leaveWith(signal: AbortSignal): { readonly left: Promise<never>; readonly stay: () => void } {
  let leave: () => void = () => undefined;
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason instanceof Error ? signal.reason : new Error('the client no longer waits'));
  });
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return { left, stay: () => signal.removeEventListener('abort', leave) };
}

/** @throws the errors of a resume; or that the client left, while the run goes on in this process */
export async function followRun(
  call: ToolCall,
  runId: string,
  { retry = false }: { readonly retry?: boolean } = {},
): Promise<RunStanding> {
  const { left, stay } = leaveWith(call.signal);
  left.catch(() => undefined);
  const going = perform(resumeRun, await watchProgress(call, runId), {
    run: runId,
    ...(retry && { retry, by: 'model' }),
  });
  going.catch(() => undefined);
  try {
    return await Promise.race([going, left]);
  } finally {
    stay();
  }
}
