/** Finds the functions of a built package that nearly every program calls, and has them compiled with their files. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileEarly, type FunctionPlace } from './compile-early.ts';

const program = join(import.meta.dirname, 'usual-runs.mjs');

/** What Node writes of a process: which parts of which functions were called, and how often. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly [{ readonly startOffset: number; readonly endOffset: number; readonly count: number }];
    }[];
  }[];
}

/** The functions that the usual runs call, by file. @param dist - the built package */
function calledFunctions(dist: string): ReadonlyMap<string, readonly FunctionPlace[]> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-build-'));
  try {
    const coverage = join(folder, 'coverage');
    for (const part of ['start', 'resume']) {
      const env = { ...process.env, NODE_V8_COVERAGE: coverage };
      const { status, stderr } = spawnSync(process.execPath, [program, dist, folder, part], { encoding: 'utf8', env });
      if (status !== 0) throw new Error(`the usual runs fail on the built package: ${stderr}`);
    }
    const called = new Map<string, FunctionPlace[]>();
    for (const name of readdirSync(coverage)) {
      const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as Coverage;
      for (const { url, functions } of result) {
        if (!url.startsWith(pathToFileURL(dist).href)) continue;
        const places = functions
          .filter(({ ranges: [whole] }) => whole.count > 0)
          .map(({ ranges: [{ startOffset: start, endOffset: end }] }) => ({ start, end }));
        const file = fileURLToPath(url);
        called.set(file, [...(called.get(file) ?? []), ...places]);
      }
    }
    return called;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param dist - the built package, whose files are changed */
export function compileFirstCalls(dist: string): void {
  for (const [file, called] of calledFunctions(dist))
    writeFileSync(file, compileEarly(readFileSync(file, 'utf8'), called));
}
