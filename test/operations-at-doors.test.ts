/** Which operation is offered at which door, to whom, and that what is for people is for people at each of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApp, type App } from '../src/app/open-app.ts';
import { CairnError } from '../src/errors.ts';
import type { Scope } from '../src/http/authorize.ts';
import { createHandler, type Handler } from '../src/http/handler.ts';
import { operationRoutes } from '../src/http/routes.ts';
import { toolList } from '../src/mcp/tools/tool-list.ts';
import { failureOf, type ToolCall } from '../src/mcp/tools/tool.ts';
import type { AnyOperation } from '../src/operations/contract/operation.ts';
import { perform } from '../src/operations/contract/perform.ts';
import * as operations from '../src/operations/table.ts';

const table = Object.entries<AnyOperation>(operations);
const tools = new Map(toolList.map((tool) => [tool.name, tool]));

/** Every operation: its name, the method of programs, its command, what HTTP asks for, and whether models are offered it. */
const doors = `
answer_question     answer         answer       answer
answer_questions    answers        -            answer
audit_run           audit          audit        read
bisect_run          bisect         bisect       read    model
blame_value         blame          blame        read    model
cancel_run          cancel         cancel       run     model
change_dataset      changeDataset  dataset      fork
change_limits       changeLimits   limits       admin
change_runs         changeRuns   -            admin
change_schedule     changeSchedule -            admin
check_runs          checkRuns      check          read
check_workflow      check          -            read
clean_up            cleanup        cleanup      -
convert_workflow    convert        convert      -       model
describe_checkpoint checkpoint     -            read
describe_workflow   workflow       -            read
diff_checkpoints    diff           diff         read    model
draw_graph          draw           draw         -
fork_checkpoint     fork           fork         fork    model
format_workflow     formatWorkflow fmt          -
get_run             inspect        -            read    model
graph_runs          graph          graph        read    model
hold_runs           hold           hold         -
label_run           label          label        run
lint_workflow       lint           lint         -
list_checkpoints    checkpoints    checkpoints      read
list_datasets       datasets       -            read    model
list_limits         limits         -            read    model
list_questions      inbox          inbox        read    model
list_runs           listRuns       ls           read    model
list_schedules      schedules      -            read
list_workers        workers        workers      read    model
list_workflows      workflows      workflows    read
plan_workflow       plan           plan         -
post_mortem         postMortem     post-mortem  read    model
preview_resume      preview        preview      read    model
prune_runs          prune          prune        admin
read_experiments    experiments    -            read    model
read_identity       identity       identity     -
read_log            log            log          read
read_overviews      overviews      -            read
read_state          state          state        read
read_stats          stats          stats        read    model
read_structure      structure      -            read
release_runs        release        release      -
remove_experiment   removeExperiment -          admin
remove_run          removeRun      rm           admin
resume_run          resume         resume       run
run_experiment      experiment     experiment   fork
schedule_runs       schedule       schedule     -
send_signal         signal         signal       run     model
show_checkpoint     show           show         read
signal_with_start   signalWithStart signal-with-start run model
start_run           run            run          run
tag_checkpoint      tag            tag          fork
verify_runs         verify         verify       admin
`;

test('D26 operations by doors and scopes: one more is a decision', () => {
  const rows = table.map(([method, { name, command, route, scope, tool }]) =>
    [name, method, command ?? '-', route === undefined ? '-' : scope, ...(tool === undefined ? [] : ['model'])].join(
      ' ',
    ),
  );
  expect(rows.sort()).toEqual(
    doors
      .trim()
      .split('\n')
      .map((row) => row.replace(/ +/gu, ' ')),
  );
});

test('D26 what writes is offered by no scope that only reads, and models are offered nothing of the store', () => {
  const named = (fits: (operation: AnyOperation) => boolean): readonly string[] =>
    table.filter(([, operation]) => fits(operation)).map(([, { name }]) => name);
  expect(named(({ isReadOnly, scope }) => !isReadOnly && scope === 'read')).toEqual([]);
  expect(named(({ tool, scope }) => tool !== undefined && scope === 'admin')).toEqual([]);
  expect(named(({ isReadOnly, route }) => isReadOnly && route?.startsWith('DELETE') === true)).toEqual([]);
});

let folder = '';
let app: App;
let handler: Handler;
let scopes: readonly Scope[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-doors-'));
  mkdirSync(join(folder, 'workflows'));
  writeFileSync(
    join(folder, 'workflows/ask.yaml'),
    'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n',
  );
  writeFileSync(
    join(folder, 'workflows/fails.yaml'),
    'name: fails\nblocks: [{ id: breaks, type: Shell, inputs: { command: exit 3 } }]\n',
  );
  app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  handler = createHandler({ app, authorize: () => ({ principal: 'person', kind: 'person', scopes }) });
  await perform(operations.run, app, { file: 'ask', runId: 'ask' });
  await perform(operations.run, app, { file: 'fails', runId: 'doubt' });
  await perform(operations.resume, app, { run: 'doubt' });
});
afterAll(async () => {
  handler.close();
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * What of an operation that writes stands for a person's answer, as inputs that are refused where every answer is for people; or why
 * nothing of it does.
 */
const standsFor: Readonly<Record<string, readonly object[] | string>> = {
  answer_question: [{ run: 'ask', value: 'yes', by: 'person' }],
  answer_questions: [{ run: 'ask', answers: { q: 'yes' } }],
  send_signal: [{ run: 'ask', name: 'go', value: true }],
  signal_with_start: [{ workflow: 'ask', runId: 'ask', name: 'go', value: true }],
  resume_run: [
    { run: 'ask', budget: { usd: 8 } },
    { run: 'doubt', retry: true },
  ],
  fork_checkpoint: [
    { checkpoint: 'ask', answer: { q: 'yes' } },
    { checkpoint: 'ask', set: { 'outputs.q': { response: 'yes' } } },
  ],
  start_run: 'nothing is asked before a run begins',
  cancel_run: 'it ends the run, and answers nothing',
  change_runs: 'who administers the store may end, resume, remove and label its runs',
  label_run: 'it changes by what a run is found',
  tag_checkpoint: 'it names a checkpoint',
  clean_up: 'who administers the store may remove what it holds',
  prune_runs: 'who administers the store may remove what it holds',
  remove_run: 'who administers the store may remove what it holds',
  hold_runs: 'it keeps a run from going on',
  release_runs: 'it lets a run go on to its questions',
  read_identity: 'it is of the store',
  change_limits: 'it says how many may begin',
  change_schedule: 'it says when runs start, and starts one',
  change_dataset: 'it names runs',
  run_experiment: 'its forks cannot act, so what they get stands for nobody',
  remove_experiment: 'who administers the store may remove what it holds',
  schedule_runs: 'it starts runs',
};

/** Does an operation where every answer is for people, at one door. @returns the code of its refusal, or what became of it */
const asDone: Readonly<Record<string, (operation: AnyOperation, input: object) => Promise<string | undefined>>> = {
  perform: async (operation, input) => {
    const reserved = { questions: 'all', command: (...words: readonly string[]) => words.join(' ') } as const;
    return perform(operation, { ...app, actor: 'person', reserved }, input).then(
      () => 'done',
      (error: unknown) => CairnError.from(error).code,
    );
  },
  HTTP: async ({ name }, input) => {
    const route = operationRoutes.find(({ operation }) => operation.name === name);
    if (route === undefined || name.startsWith('answer_')) return undefined;
    scopes = ['read', 'run', 'fork'];
    const { by: _by, ...given } = input as { readonly by?: string } & Readonly<Record<string, unknown>>;
    const path = route.segments.map((part) => (part.startsWith('{') ? given[part.slice(1, -1)] : part)).join('/');
    const body = Object.fromEntries(Object.entries(given).filter(([field]) => !route.inPath.has(field)));
    const response = await handler(
      new Request(`http://localhost/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
    return ((await response.json()) as { readonly code?: string }).code ?? String(response.status);
  },
  MCP: async ({ name }, input) => {
    const tool = tools.get(name);
    if (tool === undefined) return undefined;
    const reserved = { questions: 'all', command: (...words: readonly string[]) => words.join(' ') } as const;
    const call = {
      context: { ...app, actor: 'model', reserved },
      signal: new AbortController().signal,
    } as unknown as ToolCall;
    const given = Object.fromEntries(
      Object.entries(input).map(([field, value]) => [
        field === 'run' || field === 'checkpoint' ? `${field}_id` : field,
        value,
      ]),
    );
    const answer = await tool.run(call, given).catch(failureOf);
    return 'content' in answer ? ((answer.content['code'] as string | undefined) ?? 'done') : 'asked';
  },
};

test('D27 each operation that writes says what of it stands for a person', () => {
  const writing = table.filter(([, { isReadOnly }]) => !isReadOnly).map(([, { name }]) => name);
  expect(writing.sort()).toEqual(Object.keys(standsFor).sort());
});

test.each(Object.keys(asDone))(
  'D27 D28 M13.5 at %s, where every answer is for people, nothing that stands for one is done, whoever says to be a person',
  async (door) => {
    let count = 0;
    for (const [, operation] of table) {
      const inputs = standsFor[operation.name];
      if (inputs === undefined || typeof inputs === 'string') continue;
      for (const input of inputs) {
        const became = await asDone[door]?.(operation, input);
        if (became === undefined) continue;
        expect([operation.name, input, became]).toEqual([operation.name, input, 'ANSWER_RESERVED']);
        count += 1;
      }
    }
    expect(count).toBe({ perform: 8, HTTP: 6, MCP: 4 }[door]);
    expect(await perform(operations.inspect, app, { run: 'ask' })).toMatchObject({ status: 'paused' });
  },
);
