/**
 * How much a test does. The gate takes a sample of the seeds, cases and crash points, so that every change can wait for it; `npm run prove`
 * (CAIRN_PROVE=1) takes all. The line of a test file tells how many of how many were taken.
 */
import { TestRunner } from 'vitest';
import type { CrashPoint } from '../../src/testing/crash-kit/process-life.ts';

/** Whether this is `npm run prove`, and not the gate. For a test that the gate leaves out: `test.skipIf(!isProving)`, the reason in its title. */
export const isProving: boolean = process.env['CAIRN_PROVE'] === '1';

const { CAIRN_SEED: seed = '1', CAIRN_GRAPHS: ownCount } = process.env;

/** A number of rounds, items or kills: small in the gate, large in `npm run prove`. */
export function scale(gate: number, prove: number): number {
  return isProving ? prove : gate;
}

/** Seeds of a property test, the first ones in the gate. CAIRN_SEED=N is the first of them, CAIRN_GRAPHS=N how many. */
export function seeds(gate: number, prove: number): readonly number[] {
  const count = ownCount === undefined ? scale(gate, prove) : Number(ownCount);
  return Array.from({ length: count }, (_, index) => Number(seed) + index);
}

/**
 * Some of the cases in the gate, all in `npm run prove`. They are spread over the whole list, and each kind is among them at least once.
 * Other seeds choose other ones: CAIRN_SEED=N.
 *
 * @param gate - how many in the gate; more if there are more kinds
 */
export function sample<Case>(
  all: readonly Case[],
  gate: number,
  kindOf: (one: Case) => string = () => '',
): readonly Case[] {
  if (isProving || all.length <= gate) return noteSample(all, all.length);
  const kinds = Map.groupBy(all, kindOf);
  const chosen = [...kinds.values()].flatMap((cases) => spread(cases, Math.round((gate * cases.length) / all.length)));
  return noteSample(chosen, all.length);
}

/**
 * `choose` of `crashProcesses`: some of the points at which a process can die, of each kind, before and after. Fewer than there are kinds
 * are other ones in each test, so that the tests of a file together have all kinds.
 */
export function samplePoints(gate: number): (points: readonly CrashPoint[]) => readonly CrashPoint[] {
  return (points) => {
    const kindOf = ({ kind, when }: CrashPoint): string => `${when} ${kind}`;
    return new Set(points.map(kindOf)).size > gate ? sample(points, gate) : sample(points, gate, kindOf);
  };
}

/** `choose` of `crashEverywhere`: the same, each point a trial. */
export function sampleCrashes(gate: number): (points: readonly CrashPoint[]) => readonly (readonly CrashPoint[])[] {
  return (points) => samplePoints(gate)(points).map((point) => [point]);
}

/** Equally far from each other, from a start that the seed and the title of the test tell. */
function spread<Case>(cases: readonly Case[], wanted: number): readonly Case[] {
  const count = Math.max(1, wanted);
  const title = TestRunner.getCurrentTest()?.name ?? '';
  const turn = Buffer.from(title).reduce((total, byte) => (total * 31 + byte) % 1_000, 0);
  const start = ((Number(seed) + turn) * 0.618_034) % 1;
  return Array.from(
    { length: count },
    (_, index) => cases[Math.floor(((index + start) * cases.length) / count)] as Case,
  );
}

declare module 'vitest' {
  interface TaskMeta {
    /** How many cases the test took, and of how many. */
    sampled?: { taken: number; all: number };
  }
}

/** Adds to what the reporter tells of the running test; outside of one nobody is told. */
function noteSample<Case>(taken: readonly Case[], all: number): readonly Case[] {
  const meta = TestRunner.getCurrentTest()?.meta;
  if (meta !== undefined)
    meta.sampled = { taken: (meta.sampled?.taken ?? 0) + taken.length, all: (meta.sampled?.all ?? 0) + all };
  return taken;
}
