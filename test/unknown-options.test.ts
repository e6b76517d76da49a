/**
 * Every function that the package exports refuses an option which it does not know, by name and with those it knows. Each export has a row
 * here: a call with such an option, or why it takes none. An export without a row fails the test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as agents from '../src/plans/index.ts';
import * as aiSdk from '../src/ai-sdk/index.ts';
import * as checkpoint from '../src/app/checkpoint-store/index.ts';
import * as dot from '../src/dot.ts';
import { compileGraph as compile } from '../src/graph/compile/compile-graph.ts';
import { refuseUnknownKeys } from '../src/graph/known-keys.ts';
import * as hosts from '../src/hosts/index.ts';
import * as langgraph from '../src/langgraph/index.ts';
import * as telemetry from '../src/otel/index.ts';
import * as http from '../src/http/index.ts';
import * as limits from '../src/limits.ts';
import * as main from '../src/index.ts';
import * as mcp from '../src/mcp/index.ts';
import * as models from '../src/models/index.ts';
import * as nodes from '../src/nodes/index.ts';
import * as store from '../src/store.ts';
import * as postgres from '../src/stores/postgres/index.ts';
import * as redis from '../src/stores/redis/index.ts';
import * as experiments from '../src/experiments/index.ts';
import * as boxes from '../src/sandboxes/index.ts';
import * as sqlite from '../src/stores/sqlite/index.ts';
import * as testing from '../src/testing/index.ts';
import { chain, open } from './support/small-graphs.ts';
import { packageDoors } from './support/package-doors.ts';

/** As plain JavaScript gives it: no type checker stands between. */
const odd = { maxSteps: 5 } as never as Record<string, never>;
const one = (): number => 1;
const aPlan = { tasks: [{ id: 'a', agent: 'one', task: 't', needs: [] }] };
const simple = (): ReturnType<typeof open> => chain(open().addNode('a', one), 'a');
const text = 'digraph p { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';
const compiled = simple().compile();
const ctx = testing.createFakeContext();

/** Calls with an unknown option, each in another place; or why there is none. */
type Row = readonly (() => unknown)[] | string;

const noOptions = 'takes no options';
const noFunction = 'is no function of options';

const buildsNodes: Readonly<Record<string, Row>> = {
  fileNode: [() => main.fileNode({ action: 'read', path: 'x', ...odd })],
  functionNode: [() => chain(open().addNode('a', main.functionNode(one, odd)), 'a').toGraph()],
  guardrailNode: [() => main.guardrailNode({ check: () => true, ...odd })],
  httpNode: [() => main.httpNode({ url: 'http://localhost', ...odd })],
  humanNode: [() => main.humanNode({ prompt: '?', ...odd })],
  mapNode: [() => main.mapNode({ over: () => [], each: one, ...odd })],
  routerNode: [() => main.routerNode(() => 'a', odd)],
  secret: [() => main.secret('TOKEN', odd)],
  shellNode: [() => main.shellNode({ command: ['true'], ...odd })],
  subgraphNode: [() => main.subgraphNode(simple().toGraph(), odd)],
  toolNode: [() => main.toolNode({ name: 't', execute: one }, odd)],
  transactionStep: [() => main.transactionStep({ connect: one as never }, one as never, odd)],
};

const scripts: Row = [
  () => models.createScriptedModels([{ text: 'a', ...odd }]),
  () => models.createScriptedModels([], odd),
  () => models.createScriptedModels([{ calls: [{ tool: 't', ...odd }] }]),
];

const rows: Readonly<Record<string, { readonly door: object; readonly of: Readonly<Record<string, Row>> }>> = {
  'cairn-workflows': {
    door: main,
    of: {
      ...buildsNodes,
      AgentGraph: [() => chain(open(odd).addNode('a', one), 'a').toGraph()],
      flow: [() => main.flow('f', { a: { run: one } }, odd).toGraph(), () => main.flow('f', { a: { run: one, ...odd } }).toGraph()], // prettier-ignore
      workflow: [() => main.workflow('w', odd).input({} as never).step('a', one).returns(one).toGraph()], // prettier-ignore
      compileGraph: [() => compile({ id: 'g', nodes: [], edges: [], policies: odd })],
      createWorker: [() => main.createWorker({ graphs: [compiled], ...odd })],
      schedule: [
        () => main.schedule(compiled, { cron: '* * * * *', ...odd }),
        () => main.schedule(compiled, { cron: '* * * * *' }).start(odd),
      ],
      interview: [() => main.interview(compiled.engine, 'r', main.autoApprove(), odd)],
      consoleInterviewer: [() => main.consoleInterviewer(odd)],
      autoApprove: noOptions,
      callbackInterviewer: noOptions,
      queueInterviewer: noOptions,
      recordingInterviewer: noOptions,
      openCairn: [() => main.openCairn({ store: 'memory:', ...odd })],
      openHistory: [() => main.openHistory(main.createMemoryStore(), odd)],
      createMemoryStore: [() => main.createMemoryStore(odd)],
      openStore: [() => main.openStore('memory:', odd)],
      outcome: 'is refused where a node returns it',
      drawGraph: noOptions,
      drawPage: noOptions,
      previewCost: noOptions,
      CairnError: noFunction,
      END: noFunction,
      FileRef: noFunction,
      NodeFailure: 'is an error: refusing it would hide the failure',
      START: noFunction,
    },
  },
  'cairn-workflows/agents': {
    door: agents,
    of: {
      agent: [() => agents.agent({ model: 'm', ...odd })],
      gmiNode: [() => agents.gmiNode({ instructions: 'x', model: 'm', ...odd })],
      judgeNode: [() => agents.judgeNode({ model: 'm', ...odd } as never)],
      embedTexts: [
        () => agents.embedTexts(ctx, { model: 'm', texts: [], ...odd }),
        () => agents.embedTexts(ctx, { model: 'm', texts: [] }, odd),
      ],
      generateImages: [
        () => agents.generateImages(ctx, { model: 'm', prompt: 'p', ...odd }),
        () => agents.generateImages(ctx, { model: 'm', prompt: 'p' }, odd),
      ],
      transcribeAudio: [
        () => agents.transcribeAudio(ctx, { model: 'm', audio: {} as never, ...odd }),
        () => agents.transcribeAudio(ctx, { model: 'm', audio: {} as never }, odd),
      ],
      rerankDocuments: [
        () => agents.rerankDocuments(ctx, { model: 'm', query: 'q', documents: [], ...odd }),
        () => agents.rerankDocuments(ctx, { model: 'm', query: 'q', documents: [] }, odd),
      ],
      llmNode: [() => agents.llmNode({ model: 'm', ...odd })],
      localFiles: [() => agents.localFiles({ root: '.', ...odd })],
      mcpTools: [() => agents.mcpTools({ server: 's', command: ['x'], ...odd } as never)],
      memoryFiles: [() => agents.memoryFiles(odd)],
      memoryTools: [() => agents.memoryTools(agents.sessionMemory(store.createMemoryMemories()), { owner: () => ({ user: 'a', session: 's' }), ...odd })], // prettier-ignore
      sessionMemory: [
        () => agents.sessionMemory(store.createMemoryMemories(), odd),
        () => agents.sessionMemory(store.createMemoryMemories()).open(ctx, { user: 'a', session: 's' }, odd),
      ],
      shellTool: [() => agents.shellTool(odd)],
      tool: [() => agents.tool({ description: 'd', input: {}, run: one, ...odd } as never)],
      askPerson: [() => agents.askPerson(odd)],
      stageAgent: noOptions,
      agentStateOf: noOptions,
      readAgentState: noOptions,
      compilePlan: [() => agents.compilePlan(aPlan, { one: main.functionNode(one) }, odd)],
      extendPlan: [() => agents.extendPlan({ agents: ['one'], ...odd })],
      linearOrchestrator: [() => agents.linearOrchestrator('o', odd as never)],
      mission: [
        () => agents.mission('m').limits(odd),
        () => agents.mission('m').anchor('a', 'one', odd),
        () => agents.mission('m').agents({ one: main.functionNode(one) }).goal('g').planner({ model: 'm', ...odd }).compile(), // prettier-ignore
        () => agents.mission('m').agents({ one: main.functionNode(one) }).goal('g').plan(aPlan).autonomy('guided', odd).compile(), // prettier-ignore
      ],
      planned: [() => agents.planned({ agents: { one: main.functionNode(one) }, ...odd })],
    },
  },
  'cairn-workflows/ai-sdk': {
    door: aiSdk,
    of: {
      readUIMessages: [() => aiSdk.readUIMessages({ runId: 'r', history: simple().compile().history }, 'one', odd)],
      toUIMessageStream: [
        () => aiSdk.toUIMessageStream({ runId: 'r', history: simple().compile().history }, 'one', odd),
      ],
      durable: [
        () => aiSdk.durable(ctx, { name: 'a', ...odd }),
        () => aiSdk.durable(ctx, { name: 'b' }).model('scripted:m', odd),
        () => aiSdk.durable(ctx, { name: 'c' }).tools({}, odd),
        () => aiSdk.durable(ctx, { name: 'd' }).tools({ t: {} as never }, { t: odd }),
      ],
      callOf: noOptions,
      contextOf: noOptions,
    },
  },
  'cairn-workflows/models': {
    door: models,
    of: {
      createAiSdkModels: [
        () => models.createAiSdkModels(odd),
        () => models.createAiSdkModels({ profiles: { fast: { model: 'a:b', ...odd } } }),
        () => models.createAiSdkModels({ prices: { 'a:b': { input: 1, output: 1, ...odd } } }),
        () => models.createAiSdkModels({ limits: { a: odd } }),
      ],
      createCassetteModels: [() => models.createCassetteModels({ path: '/nowhere', ...odd })],
      createScriptedModels: scripts,
      limitModels: [
        () => models.limitModels(models.createScriptedModels([]), {}, odd),
        () => models.limitModels(models.createScriptedModels([]), { a: odd }),
      ],
      modelDeltaOf: noOptions,
      textOf: noOptions,
      wholeTextOf: noOptions,
    },
  },
  'cairn-workflows/nodes': {
    door: nodes,
    of: {
      SecretReference: noFunction,
      guardrailViolated: noFunction,
      httpRetry: noFunction,
      createNodeTypes: [() => nodes.createNodeTypes(odd)],
      defineBlock: [() => nodes.defineBlock({ name: 'A', inputs: {}, run: one, ...odd } as never)],
      InteractiveBlock: 'is a class to extend',
      interactiveNodeType: 'takes a block',
      pause: 'a question is checked when it is asked, as that of ctx.ask',
      refuse: noOptions,
      sqlNode: [() => nodes.sqlNode({ database: 'a.db', sql: 'select 1', ...odd })],
      textOfAnswer: noOptions,
    },
  },
  'cairn-workflows/dot': {
    door: dot,
    of: {
      readDot: [() => dot.readDot(text, odd)],
      checkDot: [() => dot.checkDot(text, odd)],
      readSavedDot: [() => dot.readSavedDot(dot.readDot(text).graph.text ?? '', odd)],
      exportFiles: [() => dot.exportFiles(main.createMemoryStore(), 'r', '/nowhere', odd)],
      simulatePipeline: [
        () => dot.simulatePipeline(text, odd),
        () => dot.simulatePipeline(text, { scenarios: [{ name: 's', stages: {}, ...odd }] }),
      ],
      readScenarios: [() => dot.readScenarios([{ name: 's', stages: {}, ...odd }], 'here')],
      formatDot: noOptions,
      pipelineOf: noOptions,
      readPipeline: noOptions,
    },
  },
  'cairn-workflows/limits': {
    door: limits,
    of: { defineLimit: [() => limits.defineLimit('odd', { concurrency: 1, ...odd })] },
  },
  'cairn-workflows/checkpoint': {
    door: checkpoint,
    of: {
      checkpointStoreOver: [() => checkpoint.checkpointStoreOver(main.createMemoryStore(), odd)],
      InMemoryCheckpointStore: noOptions,
    },
  },
  'cairn-workflows/mcp': {
    door: mcp,
    of: {
      startMcpServer: [
        () => mcp.startMcpServer({ cwd: '.', storeUrl: 'memory:', ...odd }),
        () => mcp.startMcpServer({ cwd: '.', storeUrl: 'memory:', http: { port: 0, ...odd } }),
      ],
    },
  },
  'cairn-workflows/store': {
    door: store,
    of: {
      backUp: [() => store.backUp('/nowhere', '/nowhere.backup', odd)],
      restore: [() => store.restore('/nowhere.backup', '/nowhere', odd)],
      createFileBlobs: noOptions,
      createMemoryBlobs: noOptions,
      createS3Blobs: [() => store.createS3Blobs({ bucket: 'runs', ...odd })],
      createMemoryMemories: noOptions,
    },
  },
  'cairn-workflows/stores/postgres': {
    door: postgres,
    of: {
      openPostgresStore: [() => postgres.openPostgresStore({ url: 'postgres://localhost/db', ...odd })],
      passwordFrom: noOptions,
    },
  },
  'cairn-workflows/stores/redis': {
    door: redis,
    of: {
      openRedisStore: [() => redis.openRedisStore({ url: 'redis://localhost', ...odd })],
      passwordFrom: noOptions,
    },
  },
  'cairn-workflows/hosts': {
    door: hosts,
    of: {
      fetchHost: [() => hosts.fetchHost({ graphs: [], maxMs: 60_000, ...odd })],
      restateHost: [() => hosts.restateHost({ graphs: [], ingress: 'http://localhost', ...odd })],
      wakeByFetch: [() => hosts.wakeByFetch({ url: 'http://localhost', ...odd })],
      wakeByRestate: [() => hosts.wakeByRestate({ ingress: 'http://localhost', ...odd })],
    },
  },
  'cairn-workflows/langgraph': {
    door: langgraph,
    of: { saverOver: [() => langgraph.saverOver(main.createMemoryStore(), odd)] },
  },
  'cairn-workflows/experiments': {
    door: experiments,
    of: {
      experiment: [
        () => experiments.experiment(simple().compile(), { name: 'x', dataset: {}, arms: { a: {} }, ...odd }),
        () => experiments.experiment(simple().compile(), { name: 'x', dataset: {}, arms: { a: { ...odd } } }),
        () => experiments.experiment(simple().compile(), { name: 'x', dataset: { ...odd }, arms: { a: {} } }),
      ],
      exact: noOptions,
      judge: [() => experiments.judge({ model: 'm', rubric: 'r', ...odd })],
      review: [() => experiments.review({ prompt: 'p', ...odd })],
      tableText: noOptions,
    },
  },
  'cairn-workflows/otel': { door: telemetry, of: { otel: [() => telemetry.otel({ ...odd })] } },
  'cairn-workflows/sandboxes': {
    door: boxes,
    of: {
      bubblewrap: [() => boxes.bubblewrap(odd)],
      e2b: [() => boxes.e2b(odd)],
      docker: [() => boxes.docker({ image: 'x', ...odd })],
      sandboxNode: [() => boxes.sandboxNode({ sandboxes: boxes.bubblewrap(), commands: [['x']], ...odd })],
      sandboxTools: [() => boxes.sandboxTools({ sandboxes: boxes.bubblewrap(), ...odd })],
      SandboxSession: [() => new boxes.SandboxSession(ctx, { sandboxes: boxes.bubblewrap(), ...odd })],
    },
  },
  'cairn-workflows/http': {
    door: http,
    of: {
      bearerTokens: noOptions,
      createAnswerLinks: [
        () => http.createAnswerLinks({ secret: 'x'.repeat(32), url: 'http://localhost', ...odd }),
        () =>
          http.createAnswerLinks({ secret: 'x'.repeat(32), url: 'http://localhost' }).linkFor(
            { waitId: 'w', runId: 'r', graphId: 'g', kind: 'question', node: [], name: 'q' },
            {
              by: 'ann',
              ...odd,
            },
          ),
      ],
      createClient: [() => http.createClient('http://localhost', 'token', odd)],
      createHandler: [
        () => http.createHandler({ graphs: {}, authorize: () => undefined, ...odd } as never),
        () =>
          http.createHandler({
            graphs: [simple().compile()],
            authorize: () => undefined,
            chat: { node: 'one', ...odd },
          }),
      ],
      createMetrics: noOptions,
      verifyWebhook: [() => http.verifyWebhook(new Headers(), '', '', odd)],
      toNodeHandler: noOptions,
    },
  },
  'cairn-workflows/stores/sqlite': {
    door: sqlite,
    of: {
      openSqliteStore: [() => sqlite.openSqliteStore({ path: '/nowhere/s.db', ...odd })],
      openSqliteMemories: [() => sqlite.openSqliteMemories({ path: '/nowhere/m.db', ...odd })],
      BackupFile: noOptions,
      copyDatabase: noOptions,
    },
  },
  'cairn-workflows/testing': {
    door: testing,
    of: {
      blobSuite: [() => testing.blobSuite({ test: () => {}, create: () => null as never, ...odd })],
      memoriesSuite: [() => testing.memoriesSuite({ test: () => {}, create: () => null as never, ...odd })],
      hostSuite: [() => testing.hostSuite({ test: () => {}, create: () => null as never, ...odd })],
      nodeSuite: [() => testing.nodeSuite({ test: () => {}, name: 'n', draft: () => main.functionNode(one), ...odd })],
      storeSuite: [() => testing.storeSuite({ test: () => {}, create: () => null as never, ...odd })],
      crashEverywhere: [
        () => testing.crashEverywhere({ graph: () => simple().toGraph(), input: {}, ...odd }, { open: () => ({ store: main.createMemoryStore() }) }), // prettier-ignore
        () => testing.crashEverywhere({ graph: () => simple().toGraph(), input: {} }, { open: () => ({ store: main.createMemoryStore() }), ...odd }), // prettier-ignore
      ],
      replay: [() => testing.replay().with(simple().compile(), odd)],
      replayMatchers: noOptions,
      crashProcesses: [() => testing.crashProcesses({ script: '/nowhere.ts', folder: '/nowhere', ...odd })],
      runCrashScript: [() => testing.runCrashScript({ graph: () => simple().toGraph(), input: {}, openStore: () => main.createMemoryStore(), ...odd })], // prettier-ignore
      createFakeContext: [() => testing.createFakeContext(odd)],
      createFaultyStore: [() => testing.createFaultyStore(main.createMemoryStore(), { clock: testing.createVirtualClock(), seed: 1, ...odd })], // prettier-ignore
      putNetworkBefore: [() => testing.putNetworkBefore({ store: main.createMemoryStore() } as never, { ...testing.networkFaults, ...odd }, 1)], // prettier-ignore
      createVirtualClock: [() => testing.createVirtualClock(odd)],
      createEffectOracle: noOptions,
      openEffectJournal: noOptions,
      findEffectFaults: noOptions,
      networkFaults: noFunction,
    },
  },
  'cairn-workflows/compile-cache': { door: {}, of: {} },
};

test('G9 every door of the package, and every export, has a row', () => {
  expect(Object.keys(rows).toSorted()).toEqual(Object.keys(packageDoors).toSorted());
  for (const { door, of } of Object.values(rows)) expect(Object.keys(of).toSorted()).toEqual(Object.keys(door).toSorted()); // prettier-ignore
});

const calls = Object.entries(rows).flatMap(([door, { of }]) =>
  Object.entries(of).flatMap(([name, row]) =>
    typeof row === 'string' ? [] : row.map((call, index) => [`${name} of ${door}, ${index}`, call] as const),
  ),
);

test.each(calls)('G9 P6 an unknown option is refused by name: %s', async (_, call) => {
  await expect((async () => call())()).rejects.toMatchObject({
    code: expect.stringMatching(/^(CONFIG_INVALID|GRAPH_INVALID|USAGE_INVALID|STATE_UNKNOWN_CHANNEL)$/) as string,
    message: expect.stringMatching(/maxSteps/) as string,
  });
});

test('G9 P6 the option that was nearly written is suggested', () => {
  const refused = (key: string): unknown => {
    try {
      return refuseUnknownKeys('f', { [key]: 1 }, ['timeoutMs', 'root']);
    } catch (error) {
      return (error as { readonly hint?: string }).hint;
    }
  };
  expect([refused('timeotMs'), refused('timeout'), refused('xyz')]).toEqual([
    'Did you mean timeoutMs?',
    'Did you mean timeoutMs?',
    'Correct the option named.',
  ]);
});

/** The guides, as one text. */
const guides = readdirSync(join(import.meta.dirname, '../docs/guide'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(import.meta.dirname, '../docs/guide', name), 'utf8'))
  .join('\n');

/** Options that a refusal names. */
function knownOptions(message: string): readonly string[] {
  const [, list = ''] = /it knows ([\w$, ]+)/.exec(message) ?? [];
  return list.split(', ').filter((name) => name !== '');
}

test('P6 every option of every function has a place in a guide', async () => {
  const missing = new Set<string>();
  for (const [name, call] of calls) {
    const message = await (async () => call())().then(String, (error: unknown) => (error as Error).message);
    for (const option of knownOptions(message))
      if (!new RegExp(`\\b${option}\\b`).test(guides)) missing.add(`${option}: ${name}`);
  }
  expect([...missing].toSorted()).toEqual([]);
});
