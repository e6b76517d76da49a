/**
 * A workflow of somebody else whose own text does nothing, and calls one that runs a command. The oracle is the file `ran`, which that command
 * would write.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { openApp, type App, type AppOptions } from '../../src/app/open-app.ts';
import { backUp } from '../../src/app/backup/back-up.ts';
import { restore } from '../../src/app/backup/restore.ts';
import { importRun } from '../../src/operations/store/move-runs.ts';
import { releaseRuns } from '../../src/operations/runs/release-runs.ts';
import { resumeRun } from '../../src/operations/runs/resume-run.ts';
import { startRun } from '../../src/operations/runs/start-run.ts';
import { answerWait } from '../../src/operations/waits/answer-wait.ts';
import { isProving } from '../support/scale.ts';

vi.setConfig({ testTimeout: 600_000 });

const folders: string[] = [];
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-called-'));
  folders.push(folder);
  return folder;
}

async function open(options: Partial<AppOptions> = {}): Promise<App> {
  const app = await openApp({ cwd: makeFolder(), storeUrl: 'runs.db', runsConfig: true, ...options });
  apps.push(app);
  return app;
}

type Files = Readonly<Record<string, string>>;

const ask = '  - { id: ask, type: ConfirmOperation, inputs: { operation: go, message: Go? } }\n';
const main = (blocks: string): string => `name: sent\nblocks:\n${ask}${blocks}`;
const block = (rest: string): string => `  - { id: act, depends_on: [ask], ${rest} }\n`;
const ship = (ran: string): string =>
  `name: ship\nblocks:\n  - { id: act, type: Shell, inputs: { command: "touch ${ran}" } }\n`;
const calling = (name: string, called: string): string =>
  `name: ${name}\nblocks:\n  - { id: call, type: Workflow, inputs: { workflow: ${called} } }\n`;
const pipeline = (name: string, stage: string): string =>
  `digraph ${name} {\n start [shape=Mdiamond]\n exit [shape=Msquare]\n act [${stage}]\n start -> act -> exit\n}\n`;

/** Ways in which a text calls another, as the files of its author. */
const calls: Readonly<Record<string, (ran: string, cwd: string) => Files>> = {
  'a Workflow': (ran) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: ship }')),
    'ship.yaml': ship(ran),
  }),
  'an ExecuteWorkflow': (ran) => ({
    'sent.yaml': main(block('type: ExecuteWorkflow, inputs: { workflow: ship }')),
    'ship.yaml': ship(ran),
  }),
  'a for_each': (ran) => ({
    'sent.yaml': main(block('type: Workflow, for_each: [1], inputs: { workflow: ship }')),
    'ship.yaml': ship(ran),
  }),
  'two deep': (ran) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: between }')),
    'between.yaml': calling('between', 'ship'),
    'ship.yaml': ship(ran),
  }),
  'a computed name': (ran) => ({
    'sent.yaml': main(block(`type: Workflow, inputs: { workflow: '\${"sh" + "ip"}' }`)),
    'ship.yaml': ship(ran),
  }),
  'a pipeline': (ran) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: ship }')),
    'ship.dot': pipeline('ship', `shape=parallelogram, tool_command="touch ${ran}"`),
  }),
  "a pipeline's own child": (ran, cwd) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: outer }')),
    'outer.dot': pipeline('outer', `shape=house, stack.child_dotfile="${cwd}/ship.dot"`),
    'ship.dot': pipeline('ship', `shape=parallelogram, tool_command="touch ${ran}"`),
  }),
  'an agent': (ran) => ({
    'sent.yaml': main(
      block('type: Agent, inputs: { model: m, prompt: Go., ask_person: false, workflows: [ship], allow: [ship] }'),
    ),
    'ship.yaml': ship(ran),
  }),
};

/** A configuration whose model calls `ship`. */
const config = `import { createScriptedModels } from ${JSON.stringify(new URL('../../src/models/scripted.ts', import.meta.url).href)};
export default { models: createScriptedModels([{ calls: [{ tool: 'ship', input: {} }] }, 'Done.']) };
`;

/** A place of somebody who was sent a run, which is there as `run`. */
interface Received {
  readonly app: App;
  readonly run: string;
  /** What the import said that it reaches for. */
  readonly needs?: readonly string[];
}

/** The folder of the sender, with a run `r` that waits for an answer before its call. */
async function send(
  filesIn: (cwd: string) => Files,
): Promise<{ readonly app: App; readonly cwd: string; readonly text: string }> {
  const cwd = makeFolder();
  for (const [name, text] of Object.entries(filesIn(cwd))) writeFileSync(join(cwd, name), text);
  const app = await open({ cwd });
  await startRun.run(app, { file: 'sent.yaml', runId: 'r' });
  return { app, cwd, text: await exported(app, 'r') };
}

async function exported({ engine }: App, run: string): Promise<string> {
  let text = '';
  for await (const piece of engine.history.export(run)) text += piece;
  return text;
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}

async function receive(text: string, allow: readonly string[], trust = false): Promise<Received> {
  const cwd = makeFolder();
  writeFileSync(join(cwd, 'cairn.config.ts'), config);
  // The receiver has a workflow of this name too, which does nothing.
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(
    join(cwd, 'workflows', 'ship.yaml'),
    'name: ship\nblocks: [{ id: a, type: Wait, inputs: { seconds: 0 } }]\n',
  );
  const app = await open({ cwd, allow });
  const { runId, needs } = await importRun.run({ ...app, text: pieces(text) }, { trust });
  return { app, run: runId, needs };
}

/** The ways in which a run comes to somebody else. */
const ways: Readonly<
  Record<string, (sent: { readonly cwd: string; readonly text: string }, allow: readonly string[]) => Promise<Received>>
> = {
  'an import': ({ text }, allow) => receive(text, allow),
  'an export of an export': async ({ text }, allow) => {
    const { app, run } = await receive(text, []);
    return receive(await exported(app, run), allow);
  },
  'a fork of an import': async ({ text }, allow) => {
    const { app, run, needs = [] } = await receive(text, allow);
    const { runId } = await app.engine.fork({ runId: run, seq: 0 });
    return { app, run: runId, needs };
  },
  'a sent store': async ({ cwd }, allow) => {
    const own = makeFolder();
    writeFileSync(join(own, 'cairn.config.ts'), config);
    for (const part of readdirSync(cwd).filter((name) => name.startsWith('runs.')))
      cpSync(join(cwd, part), join(own, part.replace('runs', 'sent')), { recursive: true });
    return { app: await open({ cwd: own, storeUrl: 'sent.db', trustsStore: false, allow }), run: 'r' };
  },
  'a backup': async ({ cwd }, allow) => {
    const own = makeFolder();
    writeFileSync(join(own, 'cairn.config.ts'), config);
    await backUp(join(cwd, 'runs.db'), join(own, 'sent.backup'));
    await restore(join(own, 'sent.backup'), join(own, 'runs.db'));
    const app = await open({ cwd: own, allow });
    await releaseRuns.run(app, { run: 'r' });
    return { app, run: 'r' };
  },
};

/** Answers what the run asks, and goes on with it. @returns its status, or the code of what stopped it */
async function goOn({ app, run }: Received): Promise<string> {
  try {
    await resumeRun.run(app, { run });
    await answerWait.run(app, { run, value: 'yes' });
    const { status, error } = await resumeRun.run(app, { run });
    return error?.message.includes('(--allow shell)') === true ? 'PERMISSION_DENIED' : status;
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
}

test.each(Object.keys(calls))('Y6 N8.1 B2.1 trust goes along calls: %s', async (name) => {
  const ran = join(makeFolder(), 'ran');
  const sent = await send((cwd) => calls[name]?.(ran, cwd) ?? {});
  const at = (Object.keys(calls).indexOf(name) + 1) % Object.keys(ways).length;
  const tried = Object.entries(ways).filter((_, index) => isProving || index === at);
  for (const [way, come] of tried) {
    const held = await come(sent, ['model']);
    const asked = held.needs?.filter((need) => need.includes('(--allow shell)'));
    expect([way, asked?.length]).toEqual([way, held.needs && 1]);
    expect([way, await goOn(held), existsSync(ran)]).toEqual([way, 'PERMISSION_DENIED', false]);
    const granted = await come(sent, ['model', 'shell']);
    expect([way, await goOn(granted), existsSync(ran)]).toEqual([way, 'completed', true]);
    rmSync(ran);
  }
});
