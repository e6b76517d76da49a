/** The crash kit: runs a graph once, then once for each point at which its process could be killed, and compares the results (P1, P2). */
import { compareTrials, findQuietFault } from './compare-trials.ts';
import { caseNames, type CrashCase, type CrashFault, type CrashKitOptions, type CrashReport } from './crash-case.ts';
import { runTrial, type CrashTrial } from './crash-trial.ts';
import type { CrashPoint } from './process-life.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/**
 * Kills a run's process at every point, simulated within this process and on virtual time, and resumes the run in a new one. Time stands
 * still while a function waits for something real, such as a command. It is fast enough for thousands of points. For real kills with
 * SIGKILL see {@link crashProcesses}.
 * @throws INTERNAL the run does not end even without a crash
 */
export async function crashEverywhere(crashCase: CrashCase, options: CrashKitOptions): Promise<CrashReport> {
  refuseUnknownKeys('the case of crashEverywhere', crashCase, caseNames);
  refuseUnknownKeys('crashEverywhere', options, ['open', 'choose', 'limits']);
  const expected = await crashFree(crashCase, options);
  const { points } = expected.firstLife;
  const fault = findQuietFault(expected.summary, crashCase.mayFail);
  if (fault !== undefined) return { points: points.length, trials: 0, faults: [{ points: [], faults: [fault] }] };
  const trials = options.choose?.(points) ?? points.map((point) => [point]);
  const faults: CrashFault[] = [];
  for (const chosen of trials) {
    const found = await faultsOf(crashCase, options, chosen, expected);
    if (found.length > 0) faults.push({ points: chosen, faults: found });
  }
  return { points: points.length, trials: trials.length, faults };
}

/** Runs a case once without a crash. Other trials are compared with it. @throws INTERNAL the run does not end */
export function crashFree(crashCase: CrashCase, options: CrashKitOptions): Promise<CrashTrial> {
  return runTrial(crashCase, options, []);
}

async function faultsOf(
  crashCase: CrashCase,
  options: CrashKitOptions,
  points: readonly CrashPoint[],
  expected: CrashTrial,
): Promise<readonly string[]> {
  try {
    const trial = await runTrial(crashCase, options, points);
    return [...trial.faults, ...compareTrials(crashCase.isScheduleFree ?? true, points.length, expected, trial)];
  } catch (error) {
    const met = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [`the resumed run met ${met}; expected: it ends, ${expected.summary.status}`];
  }
}
