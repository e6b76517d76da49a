/** Labels of runs and tags of checkpoints. */
import { CairnError } from '../../errors.ts';
import type { RunKey, Store } from '../../ports/store.ts';
import type { RedisServer } from './server.ts';

const runOf = ({ tenant, runId }: RunKey): RunKey => ({ tenant, runId });

export const notFound = ({ runId }: RunKey): CairnError => new CairnError('RUN_NOT_FOUND', { runId });

export const noCheckpoint = (runId: string, seq: number): CairnError =>
  new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${runId}@${seq}` });

export function createRedisNames(
  server: RedisServer,
): Required<Pick<Store, 'labelRun' | 'tagCheckpoint' | 'removeTag'>> {
  return {
    labelRun: async ({ labels, meta, oldMeta, ...key }) => {
      const query = { ...runOf(key), labels: Object.entries(labels) };
      const bytes = [Buffer.from(oldMeta), Buffer.from(meta)];
      const [isWritten] = await server.call('label', query, bytes, () => notFound(key));
      return isWritten === 1;
    },
    tagCheckpoint: async (key, { name, seq }) => {
      await server.call('tag', { ...runOf(key), name, seq }, [], () => noCheckpoint(key.runId, seq));
    },
    removeTag: async (key, name) => {
      await server.call('untag', { ...runOf(key), name });
    },
  };
}
