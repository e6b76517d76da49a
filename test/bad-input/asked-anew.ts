/** What the history tells of model calls that were made anew. */
import type { Engine } from '../../src/engine/api.ts';

export async function countAskedAnew(engine: Engine, runId: string): Promise<number> {
  let count = 0;
  for await (const event of engine.events(runId))
    if (event.type === 'checkpoint')
      count += event.change.filter(({ kind, name }) => kind === 'event' && name === 'model-asked-anew').length;
  return count;
}
