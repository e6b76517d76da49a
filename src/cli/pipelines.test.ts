/** The command line as a process: pipelines before they run. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const folder = openFolder();
const write = (name: string, text: string): void => folder.write(name, text);
write(
  'p.dot',
  'digraph p {\n graph [params="who"]\n start [shape=Mdiamond]\n exit [shape=Msquare]\n t [shape=parallelogram, tool_command="touch done.txt", retry_target=fix]\n fix [prompt=x]\n fix -> t\n start -> t -> exit\n}\n',
);

test('DOT30 a dry run does nothing, stores nothing, and tells the ways of several files and what they cover', () => {
  write('one.yaml', 'name: at once\nstages: { t: success }\n');
  write('two.json', '{ "scenarios": [{ "name": "mended", "stages": { "t": ["fail", "success"] } }] }');
  const args = ['run', 'p.dot', '--dry-run', '--input', 'who=me', '--simulate', 'one.yaml', '--simulate', 'two.json'];
  const { out, code } = folder.cairn(...args);
  expect(code).toBe(0);
  expect(out).toBe(
    'at once: success\n  start -> t -> exit\nmended: partial_success\n  start -> t (fail) -> fix -> t -> exit\n\nstages: 4 of 4\nedges:  3 of 3\n',
  );
  expect(folder.json(...args)).toMatchObject({
    runs: [{ name: 'at once', status: 'success' }, { path: [{}, { stage: 't', to: 'fix' }, {}, {}, {}] }],
    coverage: { stages: { count: 4, missed: [] }, edges: { count: 3, missed: [] } },
  });
  expect(['done.txt', '.cairn'].map((name) => existsSync(join(folder.path, name)))).toEqual([false, false]);
});

test('DOT30 a dry run of something else, scenarios that cannot be read and inputs that are missing are refused with what to do', () => {
  write('w.yaml', 'name: w\nblocks:\n  - id: a\n    type: Shell\n    inputs: { command: "true" }\n');
  write('odd.yaml', 'stages: { nobody: fail }\n');
  for (const [args, said] of [
    [['w.yaml', '--dry-run'], 'a dry run is for workflows in DOT'],
    [['p.dot', '--dry-run', '--input', 'who=me', '--simulate', 'odd.yaml'], 'names nobody, which is no stage of p'],
    [['p.dot', '--simulate', 'gone.yaml'], 'cannot read gone.yaml'],
    [['p.dot', '--dry-run'], 'who'],
  ] as const) {
    const { err, code } = folder.cairn('run', ...args);
    expect(err).toContain(said);
    expect(code).toBeGreaterThan(0);
  }
});

test('G12 lint takes graphs in TypeScript and YAML: findings with rule, severity, place and fix, and exit codes', () => {
  const kit = JSON.stringify(join(import.meta.dirname, '../index.ts'));
  write(
    'round.ts',
    `import { AgentGraph, END, START } from ${kit};\nexport const graph = new AgentGraph({}, { id: 'round' }).addNode('a', () => 1, { maxVisits: 2 }).addEdge(START, 'a').addEdge('a', END).compile();\n`,
  );
  const { code, out } = folder.cairn('lint', 'round.ts');
  expect([code, out]).toEqual([0, expect.stringContaining('maxVisits of a has no effect') as string]);
  expect(folder.json('lint', 'round.ts')).toMatchObject({
    isValid: true,
    violations: [
      { rule: 'inert_option', severity: 'warning', place: 'node a', fix: 'take it out' },
      { rule: 'undeclared_effect', severity: 'warning', place: 'node a' },
    ],
  });
  write(
    'wrong.ts',
    `import { AgentGraph, END, START } from ${kit};\nexport const graph = new AgentGraph({}, { id: 'w' }).addNode('a', () => 1).addEdge(START, 'b').addEdge('a', END).compile();\n`,
  );
  const wrong = folder.cairn('lint', 'wrong.ts');
  expect(wrong.code).toBeGreaterThan(0);
  expect(wrong.out + wrong.err).toContain('b');
  write('w2.yaml', 'name: w\nblocks:\n  - id: a\n    type: Shell\n    inputs: { command: "true" }\n');
  expect(folder.cairn('lint', 'w2.yaml').code).toBe(0);
  write('w3.yaml', 'name: w\nblocks:\n  - id: a\n    type: Shel\n');
  expect(folder.cairn('lint', 'w3.yaml').code).toBeGreaterThan(0);
});

test('lint says which stages of a pipeline decide by the word of a model, with exit code 0', () => {
  const own = openFolder();
  own.write(
    'judge.dot',
    `digraph j {
      start [shape=Mdiamond]; exit [shape=Msquare]
      review [prompt="Is it good?"]; d [shape=diamond]; fix [prompt="Mend it"]; pick [prompt="Which?"]
      run [shape=parallelogram, tool_command="true"]
      start -> review -> d
      d -> pick [condition="outcome=success"]
      d -> fix [condition="outcome!=success"]
      fix -> review
      pick -> run [label=Run]
      pick -> exit [label=Leave]
      run -> exit [condition="outcome=success"]
      run -> fix [condition="outcome=fail"]
    }`,
  );
  const { code, out } = own.cairn('lint', 'judge.dot');
  expect(code).toBe(0);
  expect(out.split('\n').filter((line) => line.includes('[model_verdict]'))).toEqual([
    expect.stringContaining('how review ended') as string,
    expect.stringContaining('where pick leads') as string,
  ]);
});

test('Y11 N2 a workflow in YAML runs the pipeline beside it: its stages are told as those of any child, after the files are gone too', () => {
  const own = openFolder();
  own.write(
    'ship.dot',
    'digraph ship {\n graph [params="who=you"]\n start [shape=Mdiamond]\n exit [shape=Msquare]\n say [shape=parallelogram, tool_command="echo $who >> said.txt"]\n gate [shape=hexagon, label="Ship for $who?"]\n start -> say -> gate\n gate -> exit [label=Yes]\n gate -> again [label=No]\n again [shape=parallelogram, tool_command="exit 3"]\n again -> exit\n}\n',
  );
  own.write(
    'main.yaml',
    'name: main\nblocks:\n  - { id: go, type: Workflow, inputs: { workflow: ship, inputs: { who: ada } } }\noutputs: { how: "${go.outputs.status}" }\n',
  );
  expect(own.cairn('lint', 'main.yaml').code).toBe(0);
  const paused = own.cairn('run', 'main.yaml', '--run-id', 'r');
  expect(paused.out).toContain("go/ship/gate\n  [Child workflow 'ship'] Ship for ada?");
  for (const file of ['main.yaml', 'ship.dot']) rmSync(join(own.path, file));
  expect(own.json('preview', 'r')).toMatchObject({ rows: [{ node: ['go'], prediction: 'runs again' }, {}] });
  expect(own.json('answer', 'r', 'Yes', '--resume')).toMatchObject({
    state: { outputs: { outputs: { how: 'success' } } },
  });
  expect(readFileSync(join(own.path, 'said.txt'), 'utf8')).toBe('ada\n');
  const story = own.cairn('post-mortem', 'r').out;
  expect(story).toMatch(/go\/ship\/say success/);
  expect(story).toContain('→ exit "Yes": it was chosen: "Yes"');
  const forked = own.cairn('fork', 'r', '--answer', 'go/ship/gate=No', '--run', '--run-id', 'f');
  expect(forked.code).not.toBe(0);
  expect(forked.out + forked.err).toMatch(/workflow ship failed: .*exited with 3/);
  // What the pipeline did before the answer is not done again.
  expect(readFileSync(join(own.path, 'said.txt'), 'utf8')).toBe('ada\n');
});

test('N11 DOT30 lines of a dry run and of a bisection break between words where the screen ends', () => {
  const long = 'a_stage_whose_name_takes_half_of_the_line';
  write(
    'long.dot',
    `digraph l { start [shape=Mdiamond]; exit [shape=Msquare]; ${long} [shape=parallelogram, tool_command="true"]; ${long}_b [shape=diamond]; start -> ${long} -> ${long}_b -> exit }`,
  );
  write('long.json', JSON.stringify({ stages: { [long]: 'success' } }));
  expect(folder.cairn('run', 'long.dot', '--dry-run', '--simulate', 'long.json').out.split('\n').slice(1, 3)).toEqual([
    `  start -> ${long} ->`,
    `  ${long}_b -> exit`,
  ]);
  folder.cairn('run', 'long.dot', '--run-id', 'l');
  const found = folder.cairn('bisect', 'l', '--when', `has(outputs.${long})`).out.split('\n').slice(1, -1);
  expect(found.length).toBeGreaterThan(1);
  expect(found.filter((line) => line.length > 80 || !line.startsWith('  '))).toEqual([]);
});
