/** Every whole workflow that the pages show is one: it is read without a fault, and without a warning. Those with a file's name are run by the transcripts of their page. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkWorkflow } from '../src/dialects/yaml/index.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';

const root = join(import.meta.dirname, '..');
const guides = readdirSync(join(root, 'docs/guide'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/guide/${name}`);
const shown = guides.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```yaml\n(name:.*?)^```$/gmsu)].map((match) => ({
    place: `${page}:${text.slice(0, match.index).split('\n').length}`,
    workflow: match[1] ?? '',
  }));
});

test('the first page on YAML shows a workflow', () => {
  expect(shown.map(({ place }) => place.split(':')[0])).toContain('docs/guide/yaml.md');
});

test.each(shown)('the workflow at $place is read without a fault', ({ place, workflow }) => {
  const { violations } = checkWorkflow(workflow, { nodeTypes: createNodeTypes({}), source: place });
  expect(violations).toEqual([]);
});
