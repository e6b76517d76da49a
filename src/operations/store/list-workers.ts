/** The operation `workers`: who advances the runs of a store. */
import { flag, listOf, objectOf, text, time, described, whole } from '../contract/output-shapes.ts';
import {
  listVersions,
  listWorkers as readWorkers,
  readBacklog,
  type ListedVersion,
  type ListedWorker,
} from '../../history/read/list-workers.ts';
import { readCode } from '../../ports/graph-code.ts';
import type { Backlog } from '../../ports/run-counts.ts';
import type { RoutedOperation } from '../contract/operation.ts';

export interface ListWorkersInput {
  readonly all?: boolean;
}

/** A worker, with its graphs as a list. */
export interface ShownWorker extends Omit<ListedWorker, 'graphs'> {
  readonly graphs: readonly { readonly graphId: string; readonly graphHash: string; readonly version?: string }[];
}

export interface ListWorkersOutput {
  readonly workers: readonly ShownWorker[];
  /** The open runs of each version of the graphs that they know. */
  readonly versions: readonly ListedVersion[];
  /** Runs that could go on now, if there were a worker for them: by this a fleet may be made larger or smaller. */
  readonly backlog: Backlog;
}

function graphVersionOf(graphId: string, code: string): ShownWorker['graphs'][number] {
  const { hash, version } = readCode(code);
  return { graphId, graphHash: hash, ...(version !== undefined && { version }) };
}

export const listWorkers: RoutedOperation<ListWorkersInput, ListWorkersOutput> = {
  name: 'list_workers',
  command: 'workers',
  summary: 'list the workers that are alive, what they serve and which runs they hold',
  details: 'A run that is queued for long has none.',
  input: {
    all: { type: 'flag', description: 'also those that stopped or died within the last day' },
  },
  output: 'the workers, the open runs of each version, and how many runs are ready for one',
  outputSchema: objectOf({
    workers: listOf(
      objectOf(
        {
          workerId: text,
          isAlive: flag,
          startedAt: time,
          seenAt: time,
          graphs: listOf(objectOf({ graphId: text, graphHash: text }, { version: text })),
          concurrency: whole,
          runs: described(listOf(text), 'ids of the runs that it has'),
        },
        {
          only: listOf(text),
          queues: listOf(text),
          versioning: text,
          version: text,
          isStopping: flag,
          lostLeases: described(whole, 'how many leases it has lost since it was started'),
          blocked: described(
            objectOf({ runId: text, graphId: text, node: text, heldMs: described(whole, 'for how long'), at: time }),
            'the node that held its event loop last for over a second',
          ),
        },
      ),
    ),
    versions: listOf(
      objectOf(
        {
          graphId: text,
          runs: described(whole, 'how many runs are open'),
          workers: described(whole, 'how many live workers have it'),
        },
        { graphHash: text, version: text, isDrained: flag },
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
          graphs: Object.entries(graphs).map(([graphId, code]) => graphVersionOf(graphId, code)),
        })),
      versions: await listVersions(context, workers),
      backlog: await readBacklog(context.store, context.now(), { tenant: context.tenant }),
    };
  },
};
