/** The operation `doctor`: examines whether a store is in order, and which runs need a person. */
import { listOf, objectOf, oneOf, text } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { countUnneeded } from '../../history/retention/collect-blobs.ts';
import type { Finding, Progressed } from '../../history/verify/examine-runs.ts';
import { examinePlace } from '../../history/verify/examine-place.ts';
import type { HistoryContext, Operation, ReadContext } from '../contract/operation.ts';

export type { Finding } from '../../history/verify/examine-runs.ts';

export interface DoctorContext extends Omit<ReadContext, 'store'> {
  /** Examines versions, files, permissions and disk space. */
  readonly examinePlace: () => Promise<readonly Finding[]>;
  readonly progressed?: Progressed;
  /** Opens the store; undefined if it does not exist yet. */
  readonly openStore: () => Promise<Pick<HistoryContext, 'store' | 'blobs'> | undefined>;
}

export interface ExamineStoreOutput {
  readonly findings: readonly Finding[];
}

function toFinding(error: unknown, name = 'store'): Finding {
  if (!CairnError.is(error)) throw error;
  return { name, verdict: 'bad', detail: error.message, fix: error.hint, code: error.code };
}

/** Where large values are. It is asked for one that is not there, so a bucket that does not answer is known. */
async function findBlobs(blobs: HistoryContext['blobs'], tenant: string): Promise<Finding> {
  try {
    await blobs.has(tenant, '0'.repeat(64));
    return { name: 'blobs', verdict: 'ok', detail: `large values are in ${blobs.name}` };
  } catch (error) {
    return toFinding(error, 'blobs');
  }
}

/** More runs than these are not read to look for large values. */
const countedRuns = 1_000;

/** Large values that are old enough to go, where there are few enough runs to read all of them. */
async function findUnneeded(
  store: HistoryContext['store'],
  blobs: HistoryContext['blobs'],
  tenant: string,
): Promise<readonly Finding[]> {
  const { cursor } = await store.listRuns({ tenant, limit: countedRuns });
  if (cursor !== undefined) return [];
  const count = await countUnneeded(store, blobs, tenant).catch((error: unknown) => {
    // What is damaged is reported with the histories.
    if (CairnError.is(error, 'CHECKPOINT_CORRUPT', 'STORE_CORRUPT')) return 0;
    throw error;
  });
  if (count === 0) return [];
  const detail = `${count} to which nothing refers any more, and older than a day`;
  return [{ name: 'large values', verdict: 'warning', detail, fix: 'cairn cleanup' }];
}

export const examineStore: Operation<object, ExamineStoreOutput, DoctorContext> = {
  name: 'examine_store',
  command: 'doctor',
  summary: 'check the store, its files and the runs that need attention',
  input: {},
  output: 'what was found',
  outputSchema: objectOf({
    findings: listOf(
      objectOf({ name: text, verdict: oneOf('ok', 'warning', 'bad'), detail: text }, { fix: text, code: text }),
    ),
  }),
  isReadOnly: true,
  scope: 'admin',
  async run(context) {
    const findings = [...(await context.examinePlace())];
    try {
      const opened = await context.openStore();
      if (opened === undefined)
        return {
          findings: [...findings, { name: 'store', verdict: 'ok', detail: 'not there yet; the first run makes it' }],
        };
      try {
        const blobs = await findBlobs(opened.blobs, context.tenant);
        // Histories cannot be read without them.
        if (blobs.verdict !== 'ok') return { findings: [...findings, blobs] };
        findings.push(...(await examinePlace({ ...context, ...opened }, context.progressed)), blobs);
        findings.push(...(await findUnneeded(opened.store, opened.blobs, context.tenant)));
      } finally {
        await opened.store.close();
      }
    } catch (error) {
      findings.push(toFinding(error));
    }
    return { findings };
  },
};
