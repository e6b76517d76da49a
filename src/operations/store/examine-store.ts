/** `doctor`: whether a store can be trusted with runs, and which runs need a person. */
import { listOf, objectOf, oneOf, text } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import type { Store, StoredStatus } from '../../ports/store.ts';
import type { Finding } from './finding.ts';
import { isStopped } from '../runs/list-runs.ts';
import { examineRuns } from './examine-runs.ts';
import type { HistoryContext, Operation, ReadContext } from '../declare/operation.ts';

export interface DoctorContext extends Omit<ReadContext, 'store'> {
  /** Versions, files, permissions, room. */
  readonly examinePlace: () => Promise<readonly Finding[]>;
  /** Undefined: there is no store there yet. */
  readonly openStore: () => Promise<Pick<HistoryContext, 'store' | 'blobs'> | undefined>;
}

export interface ExamineStoreOutput {
  readonly findings: readonly Finding[];
}

const countedRuns = 1_000;
const shownRuns = 5;

async function countRuns(store: Store, tenant: string): Promise<Finding> {
  const counts = new Map<StoredStatus, number>();
  const { rows, cursor } = await store.listRuns({ tenant, limit: countedRuns });
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts = [...counts].map(([status, count]) => `${count} ${status}`);
  const more = cursor === undefined ? '' : ` among the newest ${countedRuns}`;
  return { name: 'runs', verdict: 'ok', detail: parts.length === 0 ? 'none' : parts.join(', ') + more };
}

async function findStopped(store: Store, { tenant, isWorkerDead }: DoctorContext): Promise<Finding> {
  const { rows } = await store.listRuns({ tenant, status: ['running'], limit: countedRuns });
  const stopped = rows.filter((run) => isStopped(run, isWorkerDead)).map(({ runId }) => runId);
  if (stopped.length === 0) return { name: 'stopped runs', verdict: 'ok', detail: 'none' };
  return {
    name: 'stopped runs',
    verdict: 'warning',
    detail: `${stopped.length} without a process: ${stopped.slice(0, shownRuns).join(', ')}`,
    fix: `cairn resume ${stopped[0] ?? 'RUN'}`,
  };
}

async function findDoubts(store: Store, tenant: string): Promise<Finding> {
  const { rows } = await store.listWaits({ tenant, kinds: ['doubt'], limit: countedRuns });
  const runs = [...new Set(rows.map(({ runId }) => runId))];
  if (runs.length === 0) return { name: 'runs in doubt', verdict: 'ok', detail: 'none' };
  return {
    name: 'runs in doubt',
    verdict: 'warning',
    detail: `${runs.length}: ${runs.slice(0, shownRuns).join(', ')}`,
    fix: 'cairn inbox',
  };
}

function toFinding(error: unknown): Finding {
  if (!CairnError.is(error)) throw error;
  return { name: 'store', verdict: 'bad', detail: error.message, fix: error.hint, code: error.code };
}

async function examine(
  { store, blobs }: Pick<HistoryContext, 'store' | 'blobs'>,
  context: DoctorContext,
): Promise<readonly Finding[]> {
  const { durability, isShared } = store.capabilities;
  const detail = `${store.name}: survives ${durability === 'power' ? 'a power cut' : durability === 'process' ? 'a killed process' : 'nothing'}${isShared ? ', can be shared by processes' : ''}`;
  return [
    { name: 'store', verdict: 'ok', detail },
    await countRuns(store, context.tenant),
    await findStopped(store, context),
    await findDoubts(store, context.tenant),
    await examineRuns(store, blobs, context.tenant),
  ];
}

export const examineStore: Operation<object, ExamineStoreOutput, DoctorContext> = {
  name: 'doctor',
  summary: 'check the store, its files and the runs that need attention',
  input: {},
  output: 'what was found',
  outputSchema: objectOf({
    findings: listOf(
      objectOf({ name: text, verdict: oneOf('ok', 'warning', 'bad'), detail: text }, { fix: text, code: text }),
    ),
  }),
  isReadOnly: true,
  async run(context) {
    const findings = [...(await context.examinePlace())];
    try {
      const opened = await context.openStore();
      if (opened === undefined)
        return {
          findings: [...findings, { name: 'store', verdict: 'ok', detail: 'not there yet; the first run makes it' }],
        };
      try {
        findings.push(...(await examine(opened, context)));
      } finally {
        await opened.store.close();
      }
    } catch (error) {
      findings.push(toFinding(error));
    }
    return { findings };
  },
};
