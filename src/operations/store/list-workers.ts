/** The operation `workers`: who advances the runs of a store. */
import { flag, listOf, objectOf, text, time, described, whole } from '../contract/output-shapes.ts';
import { listWorkers as readWorkers, readBacklog, type ListedWorker } from '../../history/read/list-workers.ts';
import type { Backlog } from '../../ports/store.ts';
import type { RoutedOperation } from '../contract/operation.ts';

export interface ListWorkersInput {
  readonly all?: boolean;
}

/** A worker, with its graphs as a list. */
export interface ShownWorker extends Omit<ListedWorker, 'graphs'> {
  readonly graphs: readonly { readonly graphId: string; readonly graphHash: string }[];
}

export interface ListWorkersOutput {
  readonly workers: readonly ShownWorker[];
  /** Runs that could go on now, if there were a worker for them: by this a fleet may be made larger or smaller. */
  readonly backlog: Backlog;
}

export const listWorkers: RoutedOperation<ListWorkersInput, ListWorkersOutput> = {
  name: 'list_workers',
  command: 'workers',
  summary: 'list the workers that are alive, what they serve and which runs they hold',
  details: 'A run that is queued for long has none.',
  input: {
    all: { type: 'flag', description: 'also those that stopped or died within the last day' },
  },
  output: 'the workers, and how many runs are ready for one',
  outputSchema: objectOf({
    workers: listOf(
      objectOf(
        {
          workerId: text,
          isAlive: flag,
          startedAt: time,
          seenAt: time,
          graphs: listOf(objectOf({ graphId: text, graphHash: text })),
          concurrency: whole,
          runs: described(listOf(text), 'ids of the runs that it has'),
        },
        { only: listOf(text), queues: listOf(text), version: text, isStopping: flag },
      ),
    ),
    backlog: objectOf({ ready: whole }, { oldestMs: whole }),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /workers',
  tool: {},
  async run(context, { all = false }) {
    const workers = await readWorkers(context);
    return {
      workers: workers
        .filter(({ isAlive }) => all || isAlive)
        .map(({ graphs, ...worker }) => ({
          ...worker,
          graphs: Object.entries(graphs).map(([graphId, graphHash]) => ({ graphId, graphHash })),
        })),
      backlog: await readBacklog(context.store, context.now(), { tenant: context.tenant }),
    };
  },
};
