/** Files of the `{{ }}` form: loaded, checked and run as those of this form, on real files and processes. */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { checkWorkflow, convertWorkflow } from '../../src/dialects/yaml/index.ts';
import type { Violation } from '../../src/graph/graph.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { leastCpuRatio } from '../support/cpu-ratio.ts';
import { thrown } from '../support/thrown.ts';
import { createBench, resumeToRest } from '../engine-kit.ts';
import { faultsOf, read, runText } from '../yaml-kit.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-braces-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodeTypes = createNodeTypes();

const review = `name: code-review
description: Lists what changed, asks, and writes a report.
version: "1.2"
tags: [git, review]
inputs:
  repo: { type: str, description: where it is }
  services: { type: list, description: what is looked at, default: [api, web] }
  strict: { type: bool, description: "{{ inputs.repo }} is text here", default: false }
  limit: { type: num, description: how many, default: 3 }
blocks:
  - id: changes
    type: Shell
    inputs:
      working_dir: "{{inputs.repo}}"
      timeout: 60
      command: |
        shopt() { :; }
        FILES=""
        for f in {{ inputs.services | join(' ') | quote }}; do FILES="\${FILES} \${f}"; done
        printf '%s\\n' "\${FILES# }" {% if inputs.strict %}--strict{% else %}--loose{% endif %} '{{ inputs.services | tojson }}'
        python3 - <<'PY' || true
        import json
        print(len(json.loads('''{{ inputs.services | tojson }}''')), "\${HOME}"[0])
        PY
  - id: each_service
    type: Shell
    depends_on: [changes]
    for_each: "{{ inputs.services }}"
    for_each_mode: sequential
    condition: "{{ each.index < inputs.limit and each.value != 'skip' }}"
    inputs: { command: "printf 'checked %s' {{each.value}} > {{tmp}}/{{each.key}}.txt; cat {{ tmp }}/{{ each.key }}.txt" }
  - id: decide
    type: Prompt
    depends_on: [each_service]
    condition: "{{ blocks.each_service.succeeded and blocks.each_service.metadata.count == 2 }}"
    inputs:
      prompt: |
        {% if inputs.strict %}Strictly{% elif inputs.services | length > 1 %}{{ inputs.services | length }} services{% else %}One{% endif %}: {{ blocks.each_service['1'].outputs.stdout | trim | upper }}.
        Go on?
  - id: report
    type: CreateFile
    depends_on: [{ block: decide, required: false }]
    condition: "{{blocks.decide.outputs.response}} == 'yes' or not {{blocks.decide.succeeded}}"
    inputs:
      path: "{{ inputs.repo }}/report.json"
      content: "{{ {'ok': blocks.decide.outputs.response | lower == 'yes', 'n': inputs.limit + 1} | tojson }}"
outputs:
  said: { value: "{{ blocks.changes.outputs.stdout }}", type: str }
  ok: { value: "{{ blocks.report.succeeded and 'yes' in blocks.decide.outputs.response }}", type: bool }
  first: { value: "{{ blocks.each_service.iterations[0].stdout | default('none') }}", type: str }
  path: { value: "{{ blocks.report.outputs.path | replace(inputs.repo, '.') }}", type: str }
`;

test('T11 a file of the {{ }} form loads, asks and runs as any other', async () => {
  expect(faultsOf(review, { nodeTypes }).filter((one) => !one.includes('warning'))).toEqual([]);
  const { graph, blocks } = read(review, { nodeTypes });
  expect(blocks.map(({ condition }) => condition)).toEqual([
    undefined,
    "each.index < inputs.limit and each.value != 'skip'",
    'blocks.each_service.succeeded and blocks.each_service.metadata.count == 2',
    "${blocks.decide.outputs.response} == 'yes' or not ${blocks.decide.succeeded}",
  ]);
  const { engine } = createBench({ clock: systemClock });
  const started = await engine.start(graph, { repo: folder });
  const paused = await started.result();
  expect(paused.error).toBeUndefined();
  expect(paused.waits.map(({ prompt }) => prompt)).toEqual(['2 services: CHECKED WEB.\nGo on?\n']);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const { state, error } = await (await engine.resume(paused.runId, { graph })).result();
  expect(error).toBeUndefined();
  expect(state.outputs['outputs']).toEqual({
    said: `api web\n--loose\n["api","web"]\n2 $`,
    ok: true,
    first: 'checked api',
    path: './report.json',
  });
  expect(readFileSync(join(folder, 'report.json'), 'utf8')).toBe('{"ok":true,"n":4}');
});

test('T11 what each filter, method and operator gives is the same in a file as it stands and in the converted one', async () => {
  const inputs = {
    title: '  Hello  World ',
    items: ['b', 'a'],
    conf: { host: 'h', 'a-b': 1, deep: [1, { y: 'z' }] },
    n: -3.5,
    raw: '{"k": [1, {"v": true}]}',
  };
  const table: Readonly<Record<string, unknown>> = {
    'inputs.title | trim | upper': 'HELLO  WORLD',
    "inputs.title | lower | replace('l', 'L')": '  heLLo  worLd ',
    "inputs.items | join(', ')": 'b, a',
    'inputs.items | length + (inputs.title | length)': 17,
    'inputs.conf | tojson': '{"host":"h","a-b":1,"deep":[1,{"y":"z"}]}',
    'inputs.items | prettyjson': '[\n  "b",\n  "a"\n]',
    '(inputs.raw | fromjson).k[1].v': true,
    'inputs.n | abs': 3.5,
    'inputs.n | string | length': 4,
    "inputs.opt | default('none')": 'none',
    "'' | default('none', true)": 'none',
    "'' | default('none')": '',
    "inputs.opt or inputs.title and 'x'": 'x',
    "inputs.conf.get('host', 'x') ~ inputs.conf.get('port', 80)": 'h80',
    "inputs.title.split('l')[0]": '  He',
    "inputs.title.split() | join('+')": 'Hello+World',
    "inputs.title.strip().startswith('Hell') and not inputs.title.endswith('x')": true,
    "'a' in inputs.items and 'host' in inputs.conf and 'q' not in inputs.title": true,
    "'up' if inputs.n > 0 else 'low' if inputs.n < -3 else 'mid'": 'low',
    "inputs.conf['a-b'] * 2 - 1 == 1 and inputs.items[-1] == 'a'": true,
    "get(inputs.conf, 'deep.1.y', 'no') ~ get(inputs.conf, 'x.y', 'no')": 'zno',
    'inputs.conf.port is defined': false,
  };
  const names = Object.keys(table).map((_, index) => `o${index}`);
  const text = `name: w
inputs: { title: {}, items: { type: list }, conf: { type: dict }, n: { type: num }, raw: {}, opt: { required: false } }
blocks:
  - id: a
    type: Shell
    inputs: { command: "mkdir {{tmp}}/d; echo {{ inputs.title | trim | quote }} > {{ tmp }}/d/said.txt; echo '[1]' > {{tmp}}/list" }
    outputs: { said: { type: str, path: "{{ tmp }}/d/said.txt" }, list: { path: "{{tmp}}/list", type: list } }
outputs:
  files: { value: "{{ blocks.a.outputs.said }} {{ blocks.a.outputs.list[0] }}" }
${Object.keys(table).map((one, index) => `  o${index}: { value: ${JSON.stringify(`{{ ${one} }}`)} }`).join('\n')}
`; // prettier-ignore
  expect(faultsOf(text, { nodeTypes })).toEqual([]);
  for (const one of [text, convertWorkflow(text, { nodeTypes }).text]) {
    const { engine } = createBench({ clock: systemClock });
    const { state, error } = await (await engine.start(read(one, { nodeTypes }).graph, inputs)).result();
    expect(error).toBeUndefined();
    const { files, ...rest } = state.outputs['outputs'] as Record<string, unknown>;
    expect(files).toBe('Hello  World 1');
    expect(names.map((name, index) => [Object.keys(table)[index], rest[name]])).toEqual(Object.entries(table));
  }
});

test('B7 a file output in the folder of the run leads nowhere else', async () => {
  writeFileSync(join(folder, 'outside.txt'), 'outside');
  const text = (path: string) => `name: w
inputs: { outside: { type: str } }
blocks:
  - id: a
    type: Shell
    inputs: { command: 'ln -s {{ inputs.outside }} {{ tmp }}/link; true' }
    outputs: { o: { type: str, path: "${path}" } }
`;
  const outside = join(folder, 'outside.txt');
  const paths = ['{{ tmp }}/link', `{{ tmp }}/../${relative(tmpdir(), outside)}`, '{{ tmp }}x', '{{ inputs.outside }}'];
  for (const path of paths) {
    const { engine } = createBench({ clock: systemClock });
    const { graph } = read(text(path), { nodeTypes });
    const { error } = await (await engine.start(graph, { outside })).result();
    expect([path, error]).toEqual([path, expect.objectContaining({ data: expect.objectContaining({ code: 'FILE_OUTPUT_INVALID' }) })]); // prettier-ignore
    expect(JSON.stringify(error)).toMatch(/symbolic link|outside the working directory/);
  }
});

test('T11 every fault of such a file has the place where it was written', () => {
  const text = `name: w
inputs: { name: { type: str } }
blocks:
  - id: a
    type: Note
    inputs:
      text: "hi {{ inputs.nmae }} and {{ inputs.name | trimm }}"
      value: |
        first
          {{ blocks.b.value }} {% for x in inputs.name %}
  - { id: b, type: Note, condition: "{{ inputs.name == 'x' and blocks.a.vlue }}" }
outputs: { x: "{{ blocks.c.text }}", y: "{{ inputs.nmae ~ '' }}", z: "a \${name} {{ tmp }}" }
`;
  expect(faultsOf(text)).toEqual([
    expect.stringMatching(/^7:20 no input "nmae" \| write inputs\.name/),
    expect.stringMatching(/^7:42 there is no filter trimm here \| did you mean trim/),
    expect.stringMatching(/^10:32 there is no \{% for %\} here/),
    expect.stringMatching(/^11:64 no field of a: "vlue" \| write value/),
    expect.stringMatching(/^11:64 block b reads a, which need not be over/),
    expect.stringMatching(/^12:19 no block "c"/),
    expect.stringMatching(/^12:45 no input "nmae" \| write inputs\.name/),
    expect.stringMatching(/^12:73 \$\{name\} is text in a file whose references are/),
  ]);
});

test('T11 T10 secrets that such a file names are declared by that, and held to grants', () => {
  const text = `name: w\nblocks: [{ id: a, type: Note, inputs: { token: "Bearer {{ secrets.API_KEY }}" } }]\n`;
  expect(faultsOf(text)).toEqual([]);
  expect(read(text).secrets).toEqual(['API_KEY']);
  expect(() => read(text, { origin: 'inline', permissions: {} })).toThrow(/API_KEY/);
  expect(read(text, { origin: 'inline', permissions: { env: ['API_KEY'] } }).secrets).toEqual(['API_KEY']);
});

test('T11 the folder of a run is its own, the same after a resume, and another in a called workflow', async () => {
  const inner = `name: inner\nblocks: [{ id: a, type: Note, inputs: { text: "{{tmp}}" } }]\noutputs: { t: { value: "{{ blocks.a.outputs.text }}" } }\n`;
  const text = `name: w
blocks:
  - { id: a, type: Note, inputs: { text: "{{ tmp }}/x" } }
  - { id: q, type: Ask, depends_on: [a], inputs: { prompt: "{{tmp}}?" } }
  - { id: b, type: Note, depends_on: [q], inputs: { text: "{{tmp}}/x" } }
  - { id: c, type: Workflow, inputs: { workflow: inner } }
outputs: { a: "{{ blocks.a.text }}", b: "{{ blocks.b.text }}", c: "{{ blocks.c.t }}" }
`;
  const ran = await runText(text, {}, { others: { inner } });
  await ran.engine.answer(ran.result.runId, ran.result.waits[0]?.waitId ?? '', 'go');
  const { state } = await resumeToRest(ran.engine, ran.result.runId, ran.workflow.graph);
  const { a, b, c } = state.outputs['outputs'] as Record<string, string>;
  const own = a?.slice(0, -2) ?? '';
  expect([b, ran.result.waits[0]?.prompt]).toEqual([a, `${own}?`]);
  expect([statSync(own).mode & 0o777, own === c, existsSync(c ?? '')]).toEqual([0o700, false, true]);
  for (const path of [own, c ?? '']) rmSync(path, { recursive: true });
  expect(faultsOf('name: w\nblocks: [{ id: a, type: Note, condition: "{{ tmp == \'x\' }}" }]\n').join()).toMatch(
    /metadata\.tmp is not known to conditions/,
  );
});

test('T11 RenderTemplate takes its names from variables, in files of either form', async () => {
  const text = (name: string, more = ''): string => `name: w
inputs: { who: { type: str }, list: { default: [1, 2] }, dir: { type: str } }
blocks:
  - id: page
    type: RenderTemplate
    inputs:
      output_path: "\${dir}/page-${name}.md"
      template: |
        # {{ title | upper }}
        {% if count > 1 %}{{ count }} items for {{ who }}{% else %}nothing{% endif %}: {{ user.name }} \${who} {{ "{{" }}
      variables:
        title: "Report on \${who}"
        who: "\${who}"
        count: "\${size(list)}"
        user: { name: Ann, n: [1] }
${more}outputs: { path: "\${page.outputs.output_path}", text: "\${page.content}", size: "\${page.size_bytes}" }
`;
  const run = async (source: string) => {
    const { graph } = read(source, { nodeTypes });
    const { engine } = createBench({ clock: systemClock });
    return (await (await engine.start(graph, { who: "B'o", dir: folder })).result()).state.outputs['outputs'];
  };
  const ours = "# REPORT ON B'O\n2 items for B'o: Ann B'o {{\n";
  expect(await run(text('a'))).toEqual({ path: join(folder, 'page-a.md'), text: ours, size: ours.length });
  const other = text('b').replaceAll(/\$\{(dir|who)\}(?! \{)/g, '{{ inputs.$1 }}').replaceAll('${size(list)}', '{{ inputs.list | length }}').replaceAll(/\$\{(page[^}]*)\}/g, '{{ blocks.$1 }}'); // prettier-ignore
  expect(faultsOf(other, { nodeTypes })).toEqual([expect.stringMatching(/\$\{who\} is text in a file/)]);
  expect(await run(other.replace('${who} {{ "{{"', '\\${whose} {{ "{{"'))).toMatchObject({
    text: ours.replace("Ann B'o", 'Ann \\${whose}'),
  });
  expect(faultsOf(text('c').replace('{{ title', '{{ titel'), { nodeTypes })).toEqual([
    expect.stringMatching(/^9:14 there is no titel here \| did you mean title/),
  ]);
});

test('T11 a converted file is one of this form, with its comments, and means the same', () => {
  const commented = review
    .replace('blocks:\n', '# What is done.\nblocks:\n')
    .replace('timeout: 60', 'timeout: 60 # seconds');
  const { text, changedCount } = convertWorkflow(commented, { nodeTypes });
  expect(changedCount).toBe(14);
  expect(text).not.toMatch(/\{\{(?! inputs.repo \}\} is text here)|\{%/);
  expect(text).toContain('# What is done.\nblocks:');
  expect(text).toContain('timeout: 60 # seconds');
  expect(text).toContain('for_each: "${inputs.services}"');
  expect(read(text, { nodeTypes }).graph.hash).toBe(read(commented, { nodeTypes }).graph.hash);
  expect(convertWorkflow(text, { nodeTypes })).toEqual({ text, changedCount: 0 });
  const secrets = convertWorkflow('name: w\nblocks: [{ id: a, type: Note, inputs: { token: "{{ secrets.K }}" } }]\n', {
    nodeTypes: [],
  });
  expect(secrets.text).toContain('secrets: [ K ]');
});

test('T11 what cannot be converted is told with all its places', () => {
  const text =
    'name: w\nblocks: [{ id: a, type: Note, inputs: { text: "{{ inputs.x | nope }}", value: "{{ now() }}" } }]\n';
  const error = thrown(() => convertWorkflow(text, { nodeTypes: [], source: 'f.yaml' }));
  expect([error.code, (error.data['violations'] as readonly Violation[]).map(({ place }) => place)]).toEqual(['GRAPH_INVALID', ['f.yaml:2:51', 'f.yaml:2:83']]); // prettier-ignore
});

test('T11 a template of another language in a file of this form stays as it is', async () => {
  const text = `name: w\ninputs: { x: { default: 1 } }\nblocks: [{ id: a, type: Note, inputs: { text: "{{.Names}} {{ range .Items }} \${x} {{ x }}" } }]\noutputs: { t: "\${a.text}" }\n`;
  expect(faultsOf(text)).toEqual([]);
  expect((await runText(text)).outputs).toEqual({ t: '{{.Names}} {{ range .Items }} 1 {{ x }}' });
});

test('T11 T12 a large file is translated in about the time that it takes to read it', async () => {
  const blocks = Array.from({ length: 2000 }, (_, i) => `  - { id: b${i}, type: Note, depends_on: [${i > 0 ? `b${i - 1}` : ''}], inputs: { text: "{{ inputs.x | trim }} {{ ${i > 0 ? `blocks.b${i - 1}.text` : 'inputs.x'} }}" } }`); // prettier-ignore
  const text = `name: w\ninputs: { x: { type: str } }\nblocks:\n${blocks.join('\n')}\n`;
  const plain = text.replaceAll('{{ inputs.x | trim }}', '${trim(inputs.x)}').replaceAll(/\{\{ (\S+) \}\}/g, '${$1}');
  const check = (one: string) => () => checkWorkflow(one, { nodeTypes, source: 'f' });
  expect(await leastCpuRatio(check(text), check(plain), { bound: 4 })).toBeLessThan(4);
}, 60_000);

test('T11 a file of the other form whose texts are hostile is refused, and ends', () => {
  const bodies = [
    '{{'.repeat(100_000),
    '{% raw %}'.repeat(20_000),
    '{#'.repeat(100_000),
    `{{ inputs.x ${'[-1]'.repeat(300)} }}`,
    `{{ inputs.x }} ${'{% if '.repeat(20_000)}`,
  ];
  for (const body of bodies) {
    writeFileSync(join(folder, 'hostile.txt'), body);
    const text = `name: w\ninputs: { x: {} }\nblocks: [{ id: a, type: Note, inputs: { text: ${JSON.stringify(body)}, value: "{{ inputs.x }}" } }]\n`;
    expect(faultsOf(text, { nodeTypes }).length).toBeGreaterThan(0);
  }
}, 60_000);
