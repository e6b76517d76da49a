/**
 * Records the cassette anew: `node examples/repo-review/record.ts` with the stand-in of reviewer.ts, and
 * `node examples/repo-review/record.ts provider:model` with a real model, on the same repository.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCassetteModels, type Models } from '../../src/models/index.ts';
import { repoReview } from './graph.ts';
import { cassette, liveModels } from './models.ts';
import { createReviewer } from './reviewer.ts';
import { makeSampleRepository } from './sample-repository.ts';

/** Runs the review once, up to its question. @param path - of the cassette, which is replaced */
export async function recordCassette(path: string, record: Models): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-record-'));
  rmSync(path, { force: true });
  const compiled = repoReview.compile({
    models: createCassetteModels({ path, record }),
  });
  try {
    const repo = makeSampleRepository(join(folder, 'sample'));
    const { status, error } = await compiled.invoke({
      repo,
      out: join(folder, 'REVIEW.md'),
    });
    if (status === 'failed') throw error ?? new Error('the review failed');
  } finally {
    await compiled.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const [, , model] = process.argv;
  await recordCassette(cassette, model === undefined ? createReviewer() : liveModels(model));
}
