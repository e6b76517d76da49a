/** What the rules say of a stage that looks at the pipeline that it runs, steers it and stops it (DOT25). It shares nothing with the product. */
import { conditionHolds, factsOf } from './choose-way.ts';
import { lookAt, type StagePlan } from './pipeline-plan.ts';
import { passBeside, type Running, type Work } from './virtual-time.ts';
import type { RunEnd, Sight, Walk } from './walk.ts';

/** Why a pipeline was stopped, and how that ends its stage. */
export interface Stop {
  readonly status: 'success' | 'fail';
  readonly reason: string;
}

/**
 * Lets a pipeline run, with looks at it between.
 *
 * @param draw - the number that the model drew at its next look
 * @returns undefined: it ended by itself
 */
export function* oversee(
  { attributes, stops = [], looksMs = 0 }: StagePlan,
  child: Running<RunEnd>,
  sight: Sight,
  draw: () => number,
): Work<Stop | undefined> {
  const pollMs = Number(/^\d+/.exec(String(attributes['manager.poll_interval'] ?? '45000ms'))?.[0]);
  const cycles = Number(attributes['manager.max_cycles'] ?? 1_000);
  const isSteering = attributes['manager.actions'] !== undefined && attributes['prompt'] !== undefined;
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    yield* passBeside(child, pollMs);
    if (child.end !== undefined) return undefined;
    if (stops.length > 0 && conditionHolds(stops, seenOf(sight.walk as Walk))) return { status: 'success', reason: '' };
    if (!isSteering) continue;
    const said = lookAt(draw());
    const leftMs = yield* passBeside(child, looksMs);
    if (leftMs > 0) yield leftMs;
    // A pipeline that ended meanwhile is neither stopped nor told anything.
    if (child.end !== undefined) return undefined;
    if (said?.outcome === 'fail') return { status: 'fail', reason: said.message ?? 'its overseer stopped it' };
    if (said?.message !== undefined) sight.words.push(said.message);
  }
  return { status: 'fail', reason: `did not end within ${cycles} cycles of ${pollMs / 1_000} s` };
}

/** What a condition may ask for. The context is that of the pipeline that is looked at. */
function seenOf({ context, current, history }: Walk): Readonly<Record<string, string>> {
  return {
    ...factsOf(context),
    'context.stack.child.status': 'running',
    'context.stack.child.outcome': context.outcome,
    'context.stack.child.current_node': current,
    'context.stack.child.stages': String(history.length),
  };
}
