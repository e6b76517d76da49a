/** Kills a run somewhere, or lets it fail, and previews each resume before it is done. */
import type { PreviewOptions, PreviewRow, RunResult } from '../../src/engine/api.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import { findPreviewFaults, type PreviewFault } from './find-preview-faults.ts';
import { tenant, type ForkTrial } from './fork-trial.ts';
import { readResumeVisits, restingNodes } from './visits.ts';

const runId = 'original';
/** How often a run is killed and resumed at most, the last time to its end. */
const resumesMost = 3;
/** So many writes to the store a process lives at most, before it is killed. */
const writesMost = 25;

/** The mismatches of a run that is killed again and again, and resumed when it fails. */
export async function findFaultsOfResumes(trial: ForkTrial, random: SeededRandom): Promise<readonly PreviewFault[]> {
  const faults: PreviewFault[] = [];
  await trial.driveUntilKilled(runId, 1 + random.integer(writesMost));
  for (let resumes = 1; resumes <= resumesMost; resumes += 1) {
    const run = await trial.store.readRun({ tenant, runId });
    if (run === undefined || run.status === 'completed') break;
    const options = { retry: random.chance(0.5) };
    const rows = await trial.engine.preview({ runId, seq: run.head }, { ...options, graph: trial.graph });
    faults.push(...(await faultsOfResume(trial, run.head, rows, options)));
  }
  return faults;
}

async function faultsOfResume(
  trial: ForkTrial,
  head: number,
  rows: readonly PreviewRow[],
  options: PreviewOptions,
): Promise<readonly PreviewFault[]> {
  const { engine, graph } = trial;
  const resting = await restingNodes(trial, { runId, seq: head });
  await (await engine.resume(runId, { ...options, graph })).result();
  const result: RunResult = await trial.drive(runId);
  const visits = await trial.read(() => readResumeVisits(trial, { runId, seq: head + 1 }));
  const isFailed = result.status === 'failed';
  return findPreviewFaults(rows, { visits, isFailed, resting }).map(({ kind, told }) => ({
    kind,
    told: `resumed ${runId}@${head} ${JSON.stringify(options)}: ${told}`,
  }));
}
