/**
 * Measures one group in this process and prints what it found as one line of JSON: `node bench/run-group.ts GROUP REPS`.
 * A process of its own, so that one group's compiled code and garbage are not the next one's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { NotMeasured, type Repetition } from './group.ts';
import { groups } from './groups.ts';

export type GroupReport = { readonly repetitions: readonly Repetition[] } | { readonly notMeasured: string };

/** On the disk of the project, since a temporary folder may be in memory, where a sync costs nothing. */
const folderPrefix = resolve(import.meta.dirname, '../node_modules/.cache/cairn-bench-');

async function measure(name: string, count: number): Promise<GroupReport> {
  const group = groups[name];
  if (group === undefined) throw new Error(`there is no group ${name}`);
  const folder = mkdtempSync(folderPrefix);
  try {
    const bench = await group.prepare(folder);
    const repetitions: Repetition[] = [];
    for (let done = 0; done < (group.warmUps ?? 1); done += 1) await bench.repeat();
    while (repetitions.length < count) repetitions.push(await bench.repeat());
    await bench.close?.();
    return { repetitions };
  } catch (error) {
    if (error instanceof NotMeasured) return { notMeasured: error.message };
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [name = '', count = '5'] = process.argv.slice(2);
  console.log(JSON.stringify(await measure(name, Number(count))));
}
