/** Stands for the world outside: a model's bill and a bank, each a file that gains one line a call. Whoever reads them sees what happened twice. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the files are; each trial of the crash test has a folder of its own. */
const folder = (): string => process.env['OUTSIDE'] ?? '.';

export function addLine(file: 'bill' | 'bank', line: string): void {
  appendFileSync(join(folder(), `${file}.txt`), `${line}\n`);
}

export function readLines(file: 'bill' | 'bank', from: string = folder()): readonly string[] {
  const path = join(from, `${file}.txt`);
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
}
