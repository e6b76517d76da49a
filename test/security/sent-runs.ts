/** Runs of somebody else's workflows, in the ways in which they come to a person: the kit of the tests of trust. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openApp, type App, type AppOptions } from '../../src/app/open-app.ts';
import { backUp } from '../../src/app/backup/back-up.ts';
import { restore } from '../../src/app/backup/restore.ts';
import { importRun } from '../../src/operations/store/move-runs.ts';
import { releaseRuns } from '../../src/operations/runs/release-runs.ts';
import { resumeRun } from '../../src/operations/runs/resume-run.ts';
import { startRun } from '../../src/operations/runs/start-run.ts';
import { answerWait } from '../../src/operations/waits/answer-wait.ts';

const folders: string[] = [];
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-called-'));
  folders.push(folder);
  return folder;
}

export async function open(options: Partial<AppOptions> = {}): Promise<App> {
  const app = await openApp({ cwd: makeFolder(), storeUrl: 'runs.db', runsConfig: true, ...options });
  apps.push(app);
  return app;
}

export type Files = Readonly<Record<string, string>>;

/** A configuration whose model calls its first tool, once. */
export const config = `import { createScriptedModels } from ${JSON.stringify(new URL('../../src/models/scripted.ts', import.meta.url).href)};
export default { models: createScriptedModels(({ tools = [], messages }) =>
  messages.at(-1).role === 'tool' ? 'Done.' : { calls: [{ tool: tools[0].name, input: {} }] })  };
`;

/** A place of somebody who was sent a run, which is there as `run`. */
export interface Received {
  readonly app: App;
  readonly run: string;
  /** What the import said that it reaches for. */
  readonly needs?: readonly string[];
}

/** The folder of the sender, with a run `r` that waits for an answer before its call. */
export async function send(
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

async function receive(text: string, allow: readonly string[]): Promise<Received> {
  const cwd = makeFolder();
  writeFileSync(join(cwd, 'cairn.config.ts'), config);
  // The receiver has a workflow of this name too, which does nothing.
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(
    join(cwd, 'workflows', 'ship.yaml'),
    'name: ship\nblocks: [{ id: a, type: Wait, inputs: { seconds: 0 } }]\n',
  );
  const app = await open({ cwd, allow });
  const { runId, needs } = await importRun.run({ ...app, text: pieces(text) }, {});
  return { app, run: runId, needs };
}

/** The ways in which a run comes to somebody else. */
export const ways: Readonly<
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
export async function goOn({ app, run }: Received): Promise<string> {
  try {
    await resumeRun.run(app, { run });
    await answerWait.run(app, { run, value: 'yes' });
    const { status, error } = await resumeRun.run(app, { run });
    return error?.message.includes('(--allow shell)') === true ? 'PERMISSION_DENIED' : status;
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
}
