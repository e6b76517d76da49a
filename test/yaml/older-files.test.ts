/** What files of other versions of the format use, on real files and processes. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { createBench } from '../engine-kit.ts';
import { faultsOf, read, runText } from '../yaml-kit.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-older-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodeTypes = createNodeTypes();

/** Under real time: the work is that of real processes. */
async function outputsOf(text: string, input: unknown): Promise<unknown> {
  const { graph } = read(text, { nodeTypes });
  const { engine } = createBench({ clock: systemClock });
  const result = await (await engine.start(graph, input)).result();
  expect(result.error).toBeUndefined();
  return result.state.outputs['outputs'];
}

const release = `name: release-notes
description: Collects what changed, and lets a script make notes of it.
inputs:
  dir: { type: str }
  services: { type: json, default: '["api", "web"]' }
blocks:
  - id: state
    type: ReadJSONState
    inputs: { path: "\${inputs.dir}/state.json" }
  - id: template
    type: ReadFile
    inputs: { path: "\${inputs.dir}/notes.md" }
  - id: none
    type: ReadFile
    inputs: { path: "\${inputs.dir}/none.md", required: false }
  - id: build
    type: Shell
    for_each: "\${inputs.services}"
    for_each_mode: sequential
    continue_on_error: true
    depends_on: [state]
    inputs:
      command: |
        cat > "\${inputs.dir}/\${each.value}.txt" <<'EOF'
        service \${each.value} costs $5 and \\n is no newline
        last: \${blocks.state.outputs.state.last}
        EOF
        [ \${each.value} = api ]
  - id: report
    type: Shell
    depends_on: [{ block: build, required: false }, template]
    condition: "\${blocks.build.metadata.count} == 2 and \${blocks.build.metadata.status} == 'failed'"
    inputs:
      command: cat \${inputs.dir}/api.txt; printf '{"n":3}' > report.json
      working_dir: "\${inputs.dir}"
    outputs: { report: { type: json, path: report.json } }
outputs:
  text: "\${blocks.report.outputs.stdout}"
  exit: "\${blocks.report.metadata.exit_code}"
  report: "\${blocks.report.outputs.report.n}"
  template: "\${blocks.template.content}"
  found: "\${[blocks.template.found, blocks.none.found]}"
  state: "\${blocks.state.state.last}"
  build: "\${[blocks.build.succeeded, blocks.build.failed, blocks.build.metadata.succeeded]}"
  failed: "\${blocks.build.metadata.count_failed}/\${blocks.build.metadata.count} \${blocks.build.metadata.mode} \${blocks.build.error.code}"
  web: "\${[blocks.build['1'].succeeded, blocks.build['0'].metadata.outcome]}"
  parsed: { value: '[1, {"a": 2}]', type: json }
`;

test('Y3 Y10 T3 B21 a file with the names of older versions loads and runs', async () => {
  writeFileSync(join(folder, 'state.json'), '{"last":"1.2"}');
  writeFileSync(join(folder, 'notes.md'), '# Notes\n');
  expect(faultsOf(release, { nodeTypes })).toEqual([]);
  expect(await outputsOf(release, { dir: folder })).toEqual({
    text: 'service api costs $5 and \\n is no newline\nlast: 1.2\n',
    exit: 0,
    report: 3,
    template: '# Notes\n',
    found: [true, false],
    state: '1.2',
    build: [false, true, false],
    failed: '1/2 sequential EXIT_CODE',
    web: [false, 'success'],
    parsed: [1, { a: 2 }],
  });
});

test('Y3 an input of type json is any value, and text that is JSON is the value it says', async () => {
  const text = `name: w\ninputs: { x: { type: json } }\nblocks: [{ id: a, type: Note, inputs: { value: "\${x}" } }]\noutputs: { x: "\${a.value}" }\n`;
  const given = [{ a: 1 }, [1], 3, '{"a":1}', '[1, 2]', 'true', 'plain text'];
  const taken = await Promise.all(given.map(async (x) => (await runText(text, { x })).outputs?.['x']));
  expect(taken).toEqual([{ a: 1 }, [1], 3, { a: 1 }, [1, 2], true, 'plain text']);
});

test('T3 what metadata of a block does not have is a fault that lists what it has', () => {
  const text = (field: string): string =>
    `name: w\nblocks: [{ id: a, type: Note, for_each: [1] }, { id: b, type: Note }]\noutputs: { x: "\${${field}}" }\n`;
  expect(faultsOf(text('blocks.a.metadata.count_faild'))).toEqual([
    expect.stringMatching(/no field of a\.metadata: "count_faild" \| write count_failed/),
  ]);
  expect(faultsOf(text('b.metadata.duration_ms')).join()).toMatch(/no field of b\.metadata: "duration_ms"/);
  expect(
    ['b.metadata', 'b.metadata.status', 'a.metadata.mode', 'b.metadata.size'].flatMap((one) => faultsOf(text(one))),
  ).toEqual([]);
});

test('Y10 T6 a block whose items failed in part has failed, and its fields can be read', async () => {
  const text = (fails: string): string => `name: w
blocks: [{ id: l, type: Note, for_each: [false, ${fails}], continue_on_error: true, inputs: { fail: "\${each.value}", value: "\${each.key}" } }]
outputs: { s: "\${l.succeeded} \${l.failed} \${l.skipped} \${l.status}", n: "\${l.count_failed}", first: "\${l['0'].value}", e: "\${l.error}" }
`;
  expect((await runText(text('true'))).outputs).toEqual({
    s: 'false true false failed',
    n: 1,
    first: '0',
    e: { code: 'NOTED', message: 'it failed' },
  });
  expect((await runText(text('false'))).outputs).toEqual({
    s: 'true false false completed',
    n: 0,
    first: '0',
    e: null,
  });
});
