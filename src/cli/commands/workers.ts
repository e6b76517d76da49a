/** `cairn workers` */
import { withReading } from '../../app/open-store/open-reading.ts';
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { noteNone, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTable, type Cell } from '../text/text-table.ts';
import { describeWorker } from '../../app/process/process-ids.ts';
import { listWorkers, type ListWorkersInput, type ListWorkersOutput } from '../../operations/store/list-workers.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { formatAge } from '../../operations/format/time.ts';

const workerColumns = [
  { title: 'WORKER', canShrink: true },
  { title: 'STATE' },
  { title: 'SERVES', canShrink: true },
  { title: 'RUNS', isRight: true },
  { title: 'HEARD OF', isRight: true },
] as const;

function stateOf({ isAlive, isStopping }: ListWorkersOutput['workers'][number]): Cell {
  if (isAlive) return isStopping === true ? { text: 'stopping', tone: 'warn' } : { text: 'alive', tone: 'good' };
  return isStopping === true ? { text: 'stopped', tone: 'dim' } : { text: 'gone', tone: 'bad' };
}

function workOf({ only, queues, graphs }: ListWorkersOutput['workers'][number]): string {
  const ids = only ?? ['everything', ...graphs.map(({ graphId }) => graphId)];
  return printable([...ids, ...(queues ?? []).map((queue) => `queue ${queue}`)].join(', '));
}

function printWorkers({ screen }: Session, { workers }: ListWorkersOutput, now: number): void {
  const rows = workers.map((worker) => [
    printable(describeWorker(worker.workerId)),
    stateOf(worker),
    workOf(worker),
    `${worker.runs.length}/${worker.concurrency}`,
    formatAge(now - worker.seenAt),
  ]);
  screen.print(formatTable(workerColumns, rows, screen));
  for (const { workerId, runs, isAlive, lostLeases = 0, blocked } of workers) {
    const name = printable(describeWorker(workerId));
    if (blocked !== undefined) {
      const { node, graphId, runId, heldMs, at } = blocked;
      const which = `node ${node} of ${graphId} (run ${runId}) held its event loop for ${(heldMs / 1_000).toFixed(1)} s`;
      screen.print(screen.paint('warn', `${name}: ${printable(which)}, ${formatAge(now - at)} ago`));
    }
    if (lostLeases > 0) screen.print(screen.paint('warn', `${name} has lost ${countOf(lostLeases, 'lease')}`));
    if (runs.length === 0) continue;
    const verb = isAlive ? 'holds' : 'held';
    screen.print(`${name} ${verb} ${runs.map((runId) => printable(runId)).join(', ')}`);
  }
}

const versionColumns = [
  { title: 'GRAPH', canShrink: true },
  { title: 'VERSION', canShrink: true },
  { title: 'OPEN RUNS', isRight: true },
  { title: 'WORKERS', isRight: true },
  { title: '' },
] as const;

function wordOf({ isDrained, workers, graphHash }: ListWorkersOutput['versions'][number]): Cell {
  if (isDrained === true) return { text: 'drained', tone: 'dim' };
  return workers === 0 && graphHash !== undefined ? { text: 'no worker', tone: 'warn' } : '';
}

/** The open runs of each version, where versions have names or a graph has several. */
function printVersions({ screen }: Session, { versions }: ListWorkersOutput): void {
  const graphs = new Set(versions.map(({ graphId }) => graphId));
  if (versions.length === graphs.size && versions.every(({ version }) => version === undefined)) return;
  const rows = versions.map((one) => [
    printable(one.graphId),
    printable(one.version ?? one.graphHash?.slice(0, 12) ?? 'any'),
    String(one.runs),
    String(one.workers),
    wordOf(one),
  ]);
  screen.print(formatTable(versionColumns, rows, screen));
}

/** How many runs wait for a worker, and for how long: a backlog that grows needs another worker. */
function printBacklog({ screen }: Session, { backlog: { ready, oldestMs = 0 } }: ListWorkersOutput): void {
  if (ready === 0) return;
  const age = formatAge(oldestMs);
  screen.print(screen.paint('warn', `${countOf(ready, 'run')} ready for a worker, the oldest for ${age}`));
}

export const workersCommand: Command<ListWorkersInput> = {
  ...ofOperation(listWorkers),
  details:
    'Workers tell the store that they are alive, what they serve and hold, three times a lease. One that was not heard of for a lease is gone: others take over what it held. "everything": it takes up runs of any graph whose text is recorded, or that its folder has.',
  examples: [
    { line: 'cairn workers', does: 'who is alive' },
    { line: 'cairn workers --all --json', does: 'also who stopped or died within a day, for a program' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listWorkers, context, input);
      if (session.isJson) session.printJson(output);
      else {
        if (output.workers.length === 0) await noteNone(session, 'No worker is alive');
        else printWorkers(session, output, context.now());
        printVersions(session, output);
        printBacklog(session, output);
      }
      return 0;
    });
  },
};
