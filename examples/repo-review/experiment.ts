/**
 * `npm run demo -- experiment`: forty reviews of a repository are recorded; then the repository is gone, and an experiment says what a
 * cheaper model and a worse prompt would have reported. All answers of models are recorded or scripted: no account is needed.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exact, experiment, tableText, type Scorer } from '../../src/experiments/index.ts';
import { createScriptedModels, type Models } from '../../src/models/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { repoReview, reviewing, type Finding } from './graph.ts';
import { chooseModels } from './models.ts';
import { makeSampleRepository } from './sample-repository.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-experiment-'));
const repo = join(folder, 'sample');
const reviews = 40;

/** Stands for models that read less: one finds a single fault, the other none. */
const poor = createScriptedModels(({ model }) => ({
  text: JSON.stringify({
    findings:
      model === 'cheap'
        ? [{ file: 'a.js', line: 1, severity: 'low', title: 'Something is odd', advice: 'Look at it.' }]
        : [],
  }),
}));

/** The recorded reviewer answers what it was asked then, and the poor ones all else. */
function modelsOf(recorded: Models): Models {
  const generate: Models['generate'] = async (request, ...more) => {
    if (request.model === 'cheap' || JSON.stringify(request).includes('Be quick'))
      return poor.generate(request, ...more);
    return recorded.generate(request, ...more);
  };
  return { generate };
}

/** How many of the original's findings the changed review has. */
const recall: Scorer = {
  name: 'recall',
  score: (original, changed) => {
    const titles = (of: unknown): readonly string[] => (of as readonly Finding[]).map(({ title }) => title);
    const now = new Set(titles(changed));
    return titles(original).filter((title) => now.has(title)).length;
  },
};

async function record(): Promise<void> {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const app = repoReview.compile({ store, models: modelsOf(chooseModels(undefined)) });
  for (let review = 1; review <= reviews; review += 1) {
    const runId = `review-${review}`;
    await app.invoke({ repo, out: join(folder, `REVIEW-${review}.md`) }, { runId });
    await app.resume(runId, { answers: { keep: ['all', '1,3', 'none'][review % 3] ?? 'all' } });
  }
  await app.close();
  await store.close();
}

async function compare(): Promise<void> {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const app = repoReview.compile({ store, models: modelsOf(chooseModels(undefined)) });
  const answers = { keep: 'all' };

  const found = await experiment(app, {
    name: 'cheaper',
    dataset: {},
    undeclared: 'run',
    arms: {
      cheaper: { graph: reviewing({ model: 'cheap' }), answers, standIns: { write: () => 'written' } },
      hasty: { graph: reviewing({ words: 'Be quick.' }), answers, standIns: { write: () => 'written' } },
      keepNone: { answers: { keep: 'none' } },
    },
    scorers: [recall, exact()],
    output: ({ outputs }) => (outputs['review'] as { readonly findings: readonly Finding[] }).findings,
  });
  console.log(tableText(found));
  const [row] = found.rows;
  const pair = row?.arms['keepNone']?.[0];
  console.log(
    `\nOne pair, ${row?.item ?? ''} under keepNone: ${[pair?.verdict, ...(pair?.because ?? [])].join('\n  ')}`,
  );
  console.log(`\nThe repository is ${existsSync(repo) ? 'there' : 'gone'}, and nothing was written again.`);
  await app.close();
  await store.close();
}

try {
  makeSampleRepository(repo);
  console.log(`${reviews} reviews of a repository are recorded …`);
  await record();
  rmSync(repo, { recursive: true });
  for (let review = 1; review <= reviews; review += 1) rmSync(join(folder, `REVIEW-${review}.md`), { force: true });
  console.log(
    'The repository and the reports are removed. What if the model, the prompt, or a person had been another?\n',
  );
  await compare();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
