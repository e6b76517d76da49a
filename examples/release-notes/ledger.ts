/**
 * Stands for the world outside: a file to which each effect adds one line under its idempotency key. In your own graph this is a
 * payment, a mail, a call of a model. Whoever reads the file sees whether any effect happened twice.
 */
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Reconciliation } from '../../src/graph/contracts/node-contract.ts';

export interface LedgerEntry {
  readonly key: string;
  readonly effect: string;
  readonly output: unknown;
}

export async function readLedger(path: string): Promise<readonly LedgerEntry[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as LedgerEntry);
}

/** Adds a line; it is on the disk when this resolves. */
export async function writeLedger(path: string, entry: LedgerEntry): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a');
  try {
    await file.appendFile(`${JSON.stringify(entry)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Did the effect under this key happen? Asked after a crash, before anything is done again. */
export async function findInLedger(path: string, key: string): Promise<Reconciliation> {
  const entry = (await readLedger(path)).find((each) => each.key === key);
  return entry === undefined ? { happened: false } : { happened: true, output: entry.output };
}
