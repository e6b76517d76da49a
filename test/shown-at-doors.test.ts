/** The doors show what operations give: each one is done by `perform`, which masks what is shown (C2.1). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../src');

function filesOf(folder: string): readonly string[] {
  return readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(source, folder, name));
}

/** Ways around `perform`, by file. */
function waysAround(file: string, text: string): readonly string[] {
  const imports = [...text.matchAll(/import \{([^}]*)\} from '[^']*\/operations\/[^']*'/gu)];
  const names = imports.flatMap(([, list = '']) =>
    list.split(',').map((part) => part.trim().split(' as ').at(-1) ?? ''),
  );
  const calls = [...text.matchAll(/\b(\w+)\.run\(/gu)].filter(([, name = '']) => names.includes(name));
  const engines = [
    ...text.matchAll(/\b(?:context|app)\.(?:engine|store|blobs)\b|\{[^}]*\bengine\b[^}]*\} = (?:context|app)\b/gu),
  ];
  return [...calls, ...engines].map(([found]) => `${file.slice(source.length + 1)}: ${found}`);
}

test('C2.1 no door does an operation but by `perform`, and none asks the engine itself', () => {
  const files = [...filesOf('cli'), ...filesOf('mcp')];
  const texts = files.map((file) => [file, readFileSync(file, 'utf8')] as const);
  expect(texts.flatMap(([, text]) => text.match(/\bperform\(/gu) ?? []).length).toBeGreaterThan(30);
  expect(texts.flatMap(([file, text]) => waysAround(file, text))).toEqual([
    // What a store says of itself, and nothing of a run.
    'cli/commands/identity.ts: context.store',
    'cli/commands/run.ts: app.store',
    // The worker's own, which takes runs up and shows none.
    'cli/commands/worker.ts: app.store',
    // The thread that renews leases, and probes, which ask only whether the store answers.
    'mcp/serve/start-mcp-server.ts: app.engine',
    'mcp/serve/start-mcp-server.ts: app.store',
  ]);
});

test('C2.1 a way around is found', () => {
  const text =
    "import { x, resume as go } from '../operations/runs/a.ts';\nawait go.run(app, {});\nawait call.context.engine.inspect(run);";
  expect(waysAround(`${source}/a.ts`, text)).toEqual(['a.ts: go.run(', 'a.ts: context.engine']);
});
