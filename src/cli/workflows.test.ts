/** The command line as a process: workflows in YAML. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder, releaseGraph } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const approval = `name: approval
description: Deploys what was tested, once somebody has agreed to it
inputs:
  project: { type: str, description: What is deployed }
  version: { type: str, default: "0.1" }
blocks:
  - id: test
    type: Shell
    inputs: { command: "echo tested \${inputs.project}" }
  - id: confirm
    type: ConfirmOperation
    inputs: { message: "Deploy \${inputs.project}?", operation: deploy, details: { version: "\${inputs.version}" } }
    depends_on: [test]
    condition: "\${test.exit_code} == 0"
  - id: deploy
    type: Shell
    inputs: { command: "echo deployed >> deployed.txt" }
    depends_on: [confirm]
    condition: "\${confirm.confirmed}"
outputs:
  version: "\${inputs.version}"
  approved: "\${confirm.confirmed}"
  deployed: "\${deploy.success}"
`;

const broken = `name: broken
blocks:
  - id: a
    type: Shel
  - id: b
    type: Shell
    inputs: { comand: "true" }
    depends_on: [c]
`;

const run = ['run', 'approval.yaml', '--input', 'project=cairn', '--input', 'version=1.0'];

test('D2 a workflow is run, asks, is answered and gives what it declares', () => {
  const folder = openFolder();
  folder.write('approval.yaml', approval);
  const paused = folder.cairn(...run, '--run-id', 'r');
  expect([paused.code, paused.out]).toEqual([
    0,
    expect.stringMatching(
      /^paused r@\d+, 1 open\n\nconfirm\n {2}Confirm operation: Deploy cairn\?\n\n {2}Respond with 'yes' or 'no'\n {2}operation: deploy\n {2}details: \{"version":"1\.0"\}\n {2}suggestions: yes, no\n {2}.* answer r w_\w+ yes\n/,
    ),
  ]);
  const done = folder.cairn('answer', 'r', 'confirm', 'Approved', '--resume');
  expect(JSON.parse(done.out.slice(done.out.indexOf('{')))).toEqual({ version: '1.0', approved: true, deployed: true });
  expect(folder.lines('deployed.txt')).toEqual(['deployed']);
  const refused = folder.json(...run, '--run-id', 's') as { runId: string };
  const skipped = folder.cairn('answer', refused.runId, 'later', '--resume');
  expect([skipped.err, skipped.out]).toEqual([
    expect.stringContaining('skipped: deploy\n'),
    expect.stringContaining('"deployed": null'),
  ]);
});

test('D1 a run goes on from its own definition when the file has changed or is gone', () => {
  const folder = openFolder();
  folder.write('approval.yaml', approval);
  for (const id of ['a', 'b', 'c']) folder.cairn(...run, '--run-id', id);
  folder.write('approval.yaml', approval.replace('echo deployed', 'echo otherwise'));
  const kept = folder.cairn('answer', 'a', 'yes', '--resume');
  expect(kept.err).toMatch(/approval\.yaml has changed since; the run keeps the definition it was started with\n/);
  folder.cairn('answer', 'b', 'yes');
  expect(folder.cairn('resume', 'b', '--file', 'approval.yaml').code).toBe(0);
  rmSync(join(folder.path, 'approval.yaml'));
  expect(folder.cairn('answer', 'c', 'yes', '--resume').err).toMatch(/approval\.yaml is gone; the run keeps/);
  expect(folder.lines('deployed.txt')).toEqual(['deployed', 'otherwise', 'deployed']);
});

test('G7 plan shows waves, conditions, questions and inputs, in 80 columns, and makes nothing', () => {
  const folder = openFolder();
  folder.write('approval.yaml', approval);
  const { out } = folder.cairn('plan', 'approval.yaml');
  expect(out).toMatch(/^approval \S+ {2}approval\.yaml\nDeploys what was tested/);
  expect(out).toMatch(/\nInputs\n {2}project str {2}required; What is deployed\n {2}version str {2}default "0\.1"\n/);
  expect(out).toMatch(
    /\nWave 2\n {2}confirm {2}ConfirmOperation, asks a person\n {11}after test\n {11}if \$\{test\.exit_code\} == 0\n\nWave 3\n/,
  );
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(folder.json('plan', 'approval.yaml')).toMatchObject({ waves: [['test'], ['confirm'], ['deploy']] });
  expect(folder.cairn('ls').err).toMatch(/^No runs here: there is no .*cairn\.db\n$/);
});

test('G7 plan says who is asked: a person by a question, also in a workflow that is called; nobody by a model', () => {
  const folder = openFolder();
  mkdirSync(join(folder.path, 'workflows'));
  folder.write('workflows/approval.yaml', approval);
  folder.write(
    'workflows/letter.yaml',
    `name: letter
blocks:
  - id: draft
    type: LLMCall
    inputs: { provider: openai, model: m, prompt: Hello }
  - id: ask
    type: Agent
    inputs: { model: 'openai:m', prompt: Hello, ask_person: true }
  - id: send
    type: ExecuteWorkflow
    depends_on: [draft]
    inputs: { workflow: approval, inputs: { project: x } }
`,
  );
  const { out } = folder.cairn('plan', 'letter');
  expect(out).toMatch(/\n {2}draft +LLMCall, external\n/);
  expect(out).toMatch(/\n {2}ask +Agent, asks a person\n/);
  expect(out).toMatch(/\n {2}send +ExecuteWorkflow, asks a person; external inside\n/);
});

test('G7 plan shows the graph of a module: waves, what comes before, who is asked', () => {
  const folder = openFolder();
  const { out, err } = folder.cairn('plan', releaseGraph);
  expect(err).toBe('');
  expect(out).toMatch(/^release  \S+release\.ts\n/);
  expect(out).toMatch(/\nWave 1\n {2}read +function, read\n/);
  expect(out).toMatch(/\n {2}approve +human, asks a person\n +after draft\n/);
});

test('G7 every fault of a file is told at once, with its place and what to do', () => {
  const folder = openFolder();
  folder.write('broken.yaml', broken);
  const { code, err, out } = folder.cairn('plan', 'broken.yaml');
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^cairn: broken\.yaml is not valid: \d faults \[GRAPH_INVALID\]\n/);
  expect(err).toMatch(/\n {2}broken\.yaml:4:11\n {4}there is no block type Shel\n {4}did you mean Shell\?/);
  expect(err).toMatch(/\n {2}broken\.yaml:7:15\n {4}Shell has no input `comand`\n {4}did you mean `command`\?/);
  expect(err).toMatch(/\n {2}broken\.yaml:8:18\n/);
  expect(folder.cairn('run', 'broken.yaml').err).toBe(err);
});

test('D12 what is missing is named: workflows, all wrong inputs, settings', () => {
  const folder = openFolder();
  mkdirSync(join(folder.path, 'workflows'));
  folder.write('workflows/approval.yaml', approval);
  folder.write('workflows/broken.yaml', broken);
  expect(folder.cairn('run', 'aproval').err).toBe(
    'cairn: no workflow aproval [WORKFLOW_NOT_FOUND]\nThere are, nearest first: approval, broken.\n',
  );
  const wrong = folder.cairn('run', 'approval', '--input', 'projcet=x');
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringMatching(/project.*\[INPUT_INVALID\]/s)]);
  expect(wrong.err).toContain('projcet');
  expect(wrong.err).toContain(`--input 'NAME="2.0"'`);
  const listed = folder.cairn('workflows');
  expect(listed.out).toMatch(/^WORKFLOW .*\napproval +3 +yes +workflows\/approv/);
  expect(listed.err).toMatch(/workflows\/broken\.yaml is no workflow:\n/);
  expect(folder.cairn('run', 'approval', '--workflows', 'nowhere').err).toMatch(/\[CONFIG_INVALID\]/);
  expect(folder.json('schema')).toMatchObject({ $schema: expect.stringContaining('2020-12') });
});

test('D15 the configuration says where runs are, for every command, and cleanup does what it says', () => {
  const folder = openFolder();
  folder.write('approval.yaml', approval);
  folder.write(
    'cairn.config.yaml',
    'store: sqlite:kept.db\ncheckpoint: { max_per_workflow: 1, auto_cleanup: false }\n',
  );
  folder.cairn(...run, '--run-id', 'r');
  folder.cairn('answer', 'r', 'yes', '--resume');
  expect(folder.cairn('ls').out).toMatch(/r +completed/);
  expect(folder.lines('.cairn/cairn.db')).toEqual([]);
  expect(folder.cairn('cleanup', '--dry-run').out).toMatch(/^r approval {2}at most \d+ checkpoints would be pruned\n$/);
  expect(folder.cairn('cleanup', '--yes').out).toMatch(/^r approval {2}\d+ checkpoints pruned\n$/);
  expect(folder.cairn('show', 'r@1').err).toMatch(/was pruned \[CHECKPOINT_PRUNED\]\nThe oldest kept one after it is /);
  expect(folder.cairn('cleanup', '--yes').err).toBe(
    'Nothing to clean up.\nLooked at 1 workflow with settings: 0 runs removed.\n',
  );
});

test('D7 several questions are answered with one command', () => {
  const folder = openFolder();
  folder.write(
    'two.yaml',
    `name: two
blocks:
  - { id: kind, type: AskChoice, inputs: { question: "Which?", choices: [small, large] } }
  - { id: number, type: GetInput, inputs: { prompt: "Number?", validation_pattern: "^[0-9.]+$" } }
outputs: { kind: "\${kind.choice}", number: "\${number.input_value}" }
`,
  );
  expect(folder.cairn('run', 'two.yaml', '--run-id', 't').out).toMatch(/answer: a text that matches \^\[0-9\.\]\+\$\n/);
  const refused = folder.cairn('answer', 't', 'kind=7', 'number=1.0');
  expect([refused.code, refused.out]).toEqual([2, '']);
  // A text that holds a `=` is no list of answers where it names no open question.
  expect(folder.cairn('answer', 't', 'number', 'a=b').err).toContain('[ANSWER_INVALID]');
  expect(folder.cairn('answer', 't', 'kind', '2').out, 'W3 what is told is the choice that was meant').toMatch(
    /^answered kind: "large"\n/,
  );
  const done = folder.cairn('answer', 't', 'kind=2', 'number=1.0', '--resume');
  expect(done.out).toContain('"number": "1.0"');
  expect(done.out).toContain('"kind": "large"');
});

test('T11 convert prints a file of the {{ }} form with ${ }, which runs; what it cannot write is told with its place', () => {
  const folder = openFolder();
  const text = `name: w
inputs: { who: { type: str } }
blocks: [{ id: a, type: Shell, inputs: { command: "echo {{ inputs.who | upper }}" } }] # one
outputs: { said: "{{ blocks.a.outputs.stdout | trim }}" }
`;
  folder.write('old.yaml', text);
  const { code, out } = folder.cairn('convert', '--to', 'cairn', 'old.yaml');
  expect([code, out]).toEqual([0, expect.stringContaining('echo ${upper(inputs.who)}')]);
  folder.write('new.yaml', out);
  const runs = ['old.yaml', 'new.yaml'].map(
    (file) => folder.json('run', file, '--input', 'who=ann') as { outputs: object },
  );
  expect(runs.map(({ outputs }) => outputs)).toEqual([{ said: 'ANN' }, { said: 'ANN' }]);
  folder.write('bad.yaml', text.replace('| upper', '| uper'));
  const refused = folder.cairn('convert', '--to', 'cairn', 'bad.yaml');
  expect([refused.code, refused.out, refused.err]).toEqual([
    2,
    '',
    expect.stringMatching(/bad\.yaml:3:60.*did you mean upper/s),
  ]);
  expect(folder.cairn('convert', 'old.yaml').code).toBe(2);
});

test('CV6 CV4 convert prints the text, tells on stderr what is lost, and with --strict refuses; faults are told as they are', () => {
  const folder = openFolder();
  folder.write(
    'w.yaml',
    'name: w\nblocks:\n  - { id: a, type: Shell, inputs: { command: echo hi } }\n  - { id: b, type: EchoBlock, depends_on: [a], inputs: { message: x } }\n',
  );
  const { code, out, err } = folder.cairn('convert', '--to', 'dot', 'w.yaml');
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^digraph w \{\n[^]*a -> b\n {2}b -> exit \[label=done\]\n\}\n$/),
  ]);
  expect(err).toBe(
    'w.yaml:4:5  lost  b is what EchoBlock does, which does not carry over as it stands; a person does it by hand  [WORK]\n  write it as a command, a prompt or a question\n',
  );
  expect(folder.json('convert', '--to', 'dot', 'w.yaml')).toEqual({
    text: out,
    notes: [
      {
        code: 'WORK',
        severity: 'lost',
        place: 'w.yaml:4:5',
        message: 'b is what EchoBlock does, which does not carry over as it stands; a person does it by hand',
        fix: 'write it as a command, a prompt or a question',
      },
    ],
  });
  const strict = folder.cairn('convert', '--to', 'dot', '--strict', 'w.yaml');
  expect([strict.code, strict.out]).toEqual([2, '']);
  expect(strict.err).toMatch(/not all of w\.yaml carries over to dot \[CONVERSION_LOSSY\][^]*w\.yaml:4:5/);
  folder.write('w.dot', out);
  const back = folder.cairn('convert', '--to', 'yaml', '--strict', 'w.dot');
  expect([back.code, back.out]).toEqual([0, expect.stringContaining('type: AskChoice')]);
  // What is only said in other words is told, and is no reason to refuse.
  expect(back.err).toMatch(/^w\.dot:1:1 {2}changed {2}.*\[OUTPUT\]\n.*\n$/);
  expect(folder.cairn('convert', '--to', 'dot', 'w.dot').err).toContain('cairn fmt w.dot');
  folder.write('bad.yaml', 'name: w\nblocks: [{ id: a, type: Shel, inputs: {} }]\n');
  const bad = folder.cairn('convert', '--to', 'dot', 'bad.yaml');
  expect([bad.code, bad.out, bad.err]).toEqual([2, '', expect.stringMatching(/bad\.yaml:2:\d+[^]*Shell/)]);
  const graph = folder.cairn('convert', '--to', 'yaml', releaseGraph);
  expect([graph.code, graph.err]).toEqual([0, expect.stringContaining('[CODE]')]);
});

test('D2 what plan warns of is told by run, too, and is no part of its output', () => {
  const folder = openFolder();
  folder.write('w.yaml', 'name: w\nblocks: [{ id: a, type: EchoBlock, inputs: { message: "${who}" } }]\n');
  const run = folder.cairn('run', 'w.yaml', '--input', 'who=x', '--json');
  expect(run.err).toMatch(/w\.yaml:1:7 {2}warning\n.*there is no `inputs` section/);
  expect(JSON.parse(run.out)).toMatchObject({ status: 'completed' });
});

test('X3 plan says how often a block is tried, and a failed command is tried again by a resume that says so', () => {
  const folder = openFolder();
  folder.write(
    'w.yaml',
    `name: w
blocks:
  - { id: a, type: Shell, retry: 3, inputs: { command: "true" } }
  - { id: b, type: Shell, retry: 2, idempotent: true, inputs: { command: "true" } }
  - { id: c, type: Shell, inputs: { command: "echo x >> tries.txt; [ $(wc -l < tries.txt) -ge 2 ]" } }
`,
  );
  const plan = folder.cairn('plan', 'w.yaml').out.replaceAll(/\s+/g, ' ');
  expect(plan).toMatch(
    /a Shell, external up to 3 attempts, where it ends with an exit code or certainly did nothing; of any other failure a resume asks/,
  );
  expect(plan).toMatch(/b Shell, external up to 2 attempts c Shell, external ?$/m);
  expect(folder.cairn('run', 'w.yaml', '--run-id', 'r').err).toMatch(/tried again, or asked about/);
  const predicted = (...options: readonly string[]): unknown =>
    (folder.json('preview', 'r', ...options) as { rows: readonly object[] }).rows.find(
      (row) => 'prediction' in row && (row.prediction === 'in doubt' || row.prediction === 'runs again'),
    );
  expect([predicted(), predicted('--retry')]).toMatchObject([{ prediction: 'in doubt' }, { prediction: 'runs again' }]);
  expect(folder.json('resume', 'r')).toMatchObject({ status: 'paused' });
  expect([predicted(), predicted('--retry')]).toMatchObject([{ prediction: 'in doubt' }, { prediction: 'runs again' }]);
  expect(folder.json('resume', 'r', '--retry')).toMatchObject({ status: 'completed' });
  expect(folder.lines('tries.txt')).toHaveLength(2);
});

test('A6 plan says of a workflow, a graph and a tool that an agent in it is allowed to act', () => {
  const folder = openFolder();
  folder.write(
    'ship.yaml',
    'name: ship\nblocks: [{ id: act, type: Agent, inputs: { model: m, prompt: Go., ask_person: false, shell: true, allow: [shell] } }]\n',
  );
  folder.write('run.yaml', 'name: run\nblocks: [{ id: act, type: Shell, inputs: { command: "true" } }]\n');
  folder.write(
    'outer.yaml',
    `name: outer
blocks:
  - { id: call, type: Workflow, inputs: { workflow: ship } }
  - { id: plain, type: Workflow, inputs: { workflow: run } }
  - { id: asked, type: Agent, inputs: { model: m, prompt: Go., ask_person: false, workflows: [ship] } }
  - { id: free, type: Agent, inputs: { model: m, prompt: Go., ask_person: false, workflows: [ship, run], allow: [ship, run] } }
`,
  );
  const plan = folder.cairn('plan', 'outer.yaml').out.replaceAll(/\s+/g, ' ');
  expect(plan).toContain('call Workflow, asks a person; external, allowed inside runs workflow ship');
  expect(plan).toMatch(/plain Workflow, \w+; external inside runs workflow run/);
  expect(plan).toContain('asked Agent, asks a person tool ship, external, asks a person first');
  expect(plan).toContain('free Agent, asks a person tool ship, external, allowed inside tool run, external');
  const door = (name: string): string => new URL(`../${name}/index.ts`, import.meta.url).href;
  folder.write(
    'graph.ts',
    `import { AgentGraph, END, START, subgraphNode } from '${new URL('../index.ts', import.meta.url).href}';
import { agent, tool } from '${door('plans')}';
const work = (allow) => agent({ model: 'm', prompt: 'Go.', allow, tools: { t: tool({ description: 'Acts.', input: { type: 'object' }, run: () => 1 }) } });
const inner = new AgentGraph({}, { id: 'inner' }).addNode('n', work(['t'])).addEdge(START, 'n').addEdge('n', END);
export const graph = new AgentGraph({}, { id: 'outer' })
  .addNode('free', work(['t'])).addNode('asked', work([])).addNode('sub', subgraphNode(inner))
  .addEdge(START, 'free').addEdge('free', 'asked').addEdge('asked', 'sub').addEdge('sub', END).compile();
`,
  );
  const graph = folder.cairn('plan', 'graph.ts').out.replaceAll(/\s+/g, ' ');
  expect(graph).toContain('free agent, pure; external, allowed inside');
  expect(graph).toContain('asked agent, pure; external, asks a person first');
  expect(graph).toContain('sub subgraph, read; external, allowed inside');
});
