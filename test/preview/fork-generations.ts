/** Forks a run, then the fork, then the fork of the fork, each from anywhere in its history, and previews each before it is made. */
import type { ForkOptions, OpenQuestion, PreviewRow } from '../../src/engine/api.ts';
import { CairnError } from '../../src/errors.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import { findPreviewFaults, type PreviewFault } from './find-preview-faults.ts';
import { tenant, type ForkTrial } from './fork-trial.ts';
import { readForkVisits, restingNodes } from './visits.ts';

/** Draws what a fork changes. @param asked - questions that were asked so far */
export type DrawChange = (random: SeededRandom, asked: readonly OpenQuestion[]) => ForkOptions;

const generations = 3;
/** What the kind of a fault ends with if the fork point is not the named run's own, but an ancestor's. */
const atAncestor = " (the fork point is an ancestor's)";
/** How often the original is resumed if it fails. */
const resumesMost = 3;

/** The mismatches of three generations of forks. What a preview of a fork of a fork says from where an ancestor's history still counts is a kind of its own. */
export async function findFaultsOfForks(
  trial: ForkTrial,
  random: SeededRandom,
  drawChange: DrawChange,
): Promise<readonly PreviewFault[]> {
  const { engine, store, graph, drive, asked } = trial;
  const faults: PreviewFault[] = [];
  const told: string[] = [];
  let runId = 'original';
  let { seq } = await drive(runId, resumesMost);
  for (let generation = 1; generation <= generations; generation += 1) {
    const at = random.integer(seq + 1);
    const change = drawChange(random, asked);
    told.push(`${runId}@${at} ${JSON.stringify(change)}`);
    const from = { runId, seq: at };
    const rows = await codeOr(() => engine.preview(from, { ...change, graph, asFork: true }));
    const fork = await codeOr(() => engine.fork(from, change));
    if (typeof fork === 'string' || typeof rows === 'string') {
      if (rows === fork) continue;
      faults.push({ kind: 'refused by one of the two', told: `${told.join(', ')}: ${refusals(rows, fork)}` });
      return faults;
    }
    const resting = await restingNodes(trial, fork);
    const result = await drive(fork.runId);
    const isInherited = (await store.readRun({ tenant, runId: fork.runId }))?.parent?.runId !== runId;
    const visits = await trial.read(() => readForkVisits(trial, fork));
    for (const fault of findPreviewFaults(rows, { visits, isFailed: result.status === 'failed', resting }))
      faults.push({
        kind: isInherited ? `${fault.kind}${atAncestor}` : fault.kind,
        told: `forked ${told.join(', ')}: ${fault.told}`,
      });
    ({ runId, seq } = { runId: fork.runId, seq: result.seq });
  }
  return faults;
}

async function codeOr<Value>(work: () => Promise<Value>): Promise<Value | string> {
  try {
    return await work();
  } catch (error) {
    if (CairnError.is(error)) return error.code;
    throw error;
  }
}

function refusals(rows: readonly PreviewRow[] | string, fork: object | string): string {
  const said = (reply: object | string): string => (typeof reply === 'string' ? reply : 'nothing');
  return `the preview says ${said(rows)}, and the fork ${said(fork)}`;
}
