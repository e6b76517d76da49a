/** Configurations of a folder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chooseStore } from '../open-store/open-reading.ts';
import { readConfig } from './read-config.ts';

let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-config-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(cwd, name), text);

test('D15 without a configuration all is default', async () => {
  expect(await readConfig({ cwd })).toEqual({ file: undefined });
  await expect(readConfig({ cwd, configFile: 'mine.json' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test.each([
  ['cairn.config.json', '{ "store": "sqlite:runs.db", "workflows": ["flows"], "checkpoint": { "ttl_seconds": 5 } }'],
  ['cairn.config.yaml', 'store: sqlite:runs.db\nworkflows: [flows]\ncheckpoint: { ttl_seconds: 5 }\n'],
  [
    'cairn.config.ts',
    `const seconds: number = 5;\nexport default { store: 'runs.db', workflows: ['flows'], checkpoint: { ttl_seconds: seconds } };\n`,
  ],
])('D15 %s says where runs and workflows are; paths start at its folder', async (name, text) => {
  write(name, text);
  expect(await readConfig({ cwd, runsConfig: true })).toEqual({
    file: join(cwd, name),
    store: `sqlite:${join(cwd, 'runs.db')}`,
    workflows: [join(cwd, 'flows')],
    checkpoint: { ttl_seconds: 5 },
  });
  expect(await chooseStore({ cwd, storeUrl: undefined, runsConfig: true })).toMatchObject({
    kind: 'sqlite',
    path: join(cwd, 'runs.db'),
  });
  expect(await chooseStore({ cwd, storeUrl: 'other.db' })).toMatchObject({ path: join(cwd, 'other.db') });
});

test('D15 every fault is told at once', async () => {
  write(
    'cairn.config.json',
    '{ "stores": 1, "workflows": [5, ""], "checkpoint": { "max_per_workflow": 0, "keep": true }, "models": { "a": "x", "b": { "modl": "y:z" } }, "prices": { "y:z": { "input": -1 } } }',
  );
  await expect(readConfig({ cwd })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    data: {
      path: join(cwd, 'cairn.config.json'),
      faults: [
        expect.stringMatching(/^stores is not known; known are store, /),
        'workflows[0] is integer, not string',
        'workflows[1] is shorter than 1',
        'prices.y:z.output is missing',
        'prices.y:z.input is below 0',
        expect.stringMatching(/^checkpoint\.keep is not known/),
        'checkpoint.max_per_workflow is below 1',
        'models.a does not match ^[^:]+:.+$',
        'models.b.modl is not known; known are model, temperature, tokensMax',
        'models.b.model is missing',
      ],
    },
  });
});

test.each([
  ['cairn.config.json', '[1]'],
  ['cairn.config.json', '{ nope'],
  ['cairn.config.yaml', 'store: [\n'],
  ['cairn.config.mjs', 'throw new Error("no");'],
  ['cairn.config.mjs', 'export default { nodeTypes: [{ name: "X" }], models: [] };'],
  ['cairn.config.mjs', 'export default { telemetry: { startSpan: () => {} } };'],
  ['cairn.config.json', '{ "telemetry": {} }'],
  ['cairn.config.json', '{ "hooks": {} }'],
  ['cairn.config.mjs', 'export default { hooks: { pay: { take() {} } } };'],
])('D15 %s that cannot be read is a typed error: %s', async (name, text) => {
  write(name, text);
  await expect(readConfig({ cwd, runsConfig: true })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('D16 code may bring blocks, models and a telemetry of its own', async () => {
  write(
    'cairn.config.mjs',
    `export default {
      nodeTypes: [{ name: 'Shout', description: 'x', inputs: {}, outputs: {}, effect: 'pure', run: () => ({}) }],
      models: { generate: async () => ({}) },
      telemetry: { startSpan: () => ({ end() {} }), count() {} },
    };`,
  );
  const config = await readConfig({ cwd, runsConfig: true });
  expect(config.nodeTypes?.map(({ name }) => name)).toEqual(['Shout']);
  expect([config.models, config.telemetry]).toEqual([expect.anything(), expect.anything()]);
});
