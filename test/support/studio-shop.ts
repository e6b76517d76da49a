/** The studio over the shop of `test/studio/shop`, whose runs are operated. */
import { join } from 'node:path';
import type { StudioServer } from './studio.ts';

export const shopConfig: string = join(import.meta.dirname, '../studio/shop/cairn.config.ts');

/** Runs a graph of the shop until it rests. */
export async function runInShop(
  studio: StudioServer,
  workflow: string,
  runId: string,
  input: Readonly<Record<string, unknown>> = {},
  label: Readonly<Record<string, string>> = {},
): Promise<void> {
  await studio.call('POST', '/runs', { workflow, runId, input, label });
}
