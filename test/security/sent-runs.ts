/** Runs of somebody else's workflows, in the ways in which they come to a person: the kit of the tests of trust. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { CairnError } from '../../src/errors.ts';
import { openApp, type App, type AppOptions } from '../../src/app/open-app.ts';
import { startWorker } from '../../src/app/worker.ts';
import { backUp } from '../../src/app/backup/back-up.ts';
import { restore } from '../../src/app/backup/restore.ts';
import { importRun } from '../../src/operations/store/move-runs.ts';
import { schedule as schedules } from '../../src/operations/runs/schedules.ts';
import { releaseRuns } from '../../src/operations/runs/release-runs.ts';
import { resumeRun } from '../../src/operations/runs/resume-run.ts';
import { startRun } from '../../src/operations/runs/start-run.ts';
import { answerWait } from '../../src/operations/waits/answer-wait.ts';
import { within } from '../support/awaited.ts';

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

/**
 * A configuration whose model calls its first tool, once. One that is asked without tools, for vectors or for an image acts: it writes the file that is named.
 */
export const config = `import { writeFileSync } from 'node:fs';
import { createScriptedModels } from ${JSON.stringify(new URL('../../src/models/scripted.ts', import.meta.url).href)};
const act = (text) => {
  const [path] = /\\/\\S+\\/ran\\b/.exec(text) ?? [];
  if (path !== undefined) writeFileSync(path, '');
};
const options = {
  embed: (text) => (act(text), [1]),
  rerank: (query, document) => (act(query), 1),
  image: (text) => (act(text), new Uint8Array([1])),
};
export default { models: createScriptedModels(({ tools = [], messages }) => {
  if (tools.length === 0) act(JSON.stringify(messages));
  if (tools.length === 0 || messages.at(-1).role === 'tool') return 'Done.';
  return { calls: [{ tool: tools[0].name, input: tools[0].name === 's__act' ? { text: 'x' } : {} }] };
}, options) };
`;

/** A place of somebody who was sent a run, which is there as `run`. */
export interface Received {
  readonly app: App;
  readonly run: string;
  /** What the import said that it reaches for. */
  readonly needs?: readonly string[];
}

/** What somebody sends: a run in a store of theirs. */
export interface Sent {
  readonly app: App;
  readonly cwd: string;
  /** The run as an export. */
  readonly text: string;
  /** What the receiver has of their own, beside a configuration. */
  readonly own: Files;
}

/** The folder of the sender, with a run `r` of the first of these files, which waits for an answer before its call. */
export async function send(filesIn: (cwd: string) => Files, own: Files = {}): Promise<Sent> {
  const cwd = makeFolder();
  const files = filesIn(cwd);
  write(cwd, files);
  const app = await open({ cwd });
  await startRun.run(app, { file: Object.keys(files)[0] ?? '', runId: 'r' });
  return { app, cwd, text: await exported(app, 'r'), own };
}

function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

async function exported({ engine }: App, run: string): Promise<string> {
  let text = '';
  for await (const piece of engine.history.export(run)) text += piece;
  return text;
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}

/** A folder of the receiver. */
function makeOwn({ own }: Pick<Sent, 'own'>): string {
  const cwd = makeFolder();
  write(cwd, { 'cairn.config.ts': config, ...own });
  return cwd;
}

async function receive(sent: Pick<Sent, 'text' | 'own'>, allow: readonly string[]): Promise<Received> {
  const cwd = makeOwn(sent);
  // The receiver has a workflow of this name too, which does nothing.
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(
    join(cwd, 'workflows', 'ship.yaml'),
    'name: ship\nblocks: [{ id: a, type: Wait, inputs: { seconds: 0 } }]\n',
  );
  const app = await open({ cwd, allow });
  const { runId, needs } = await importRun.run({ ...app, text: pieces(sent.text) }, {});
  return { app, run: runId, needs };
}

/** The sender's store file as it is in the receiver's folder. */
async function openSent(sent: Sent, options: Partial<AppOptions>): Promise<App> {
  const own = makeOwn(sent);
  for (const part of readdirSync(sent.cwd).filter((name) => name.startsWith('runs.')))
    cpSync(join(sent.cwd, part), join(own, part.replace('runs', 'sent')), { recursive: true });
  return open({ cwd: own, storeUrl: 'sent.db', trustsStore: false, ...options });
}

type Way = (sent: Sent, allow: readonly string[]) => Promise<Received>;

export const wayNames = [
  'an import',
  'an export of an export',
  'a fork of an import',
  'a sent store',
  'a backup',
] as const;
type WayName = (typeof wayNames)[number];

/** The ways in which a run comes to somebody else. */
export const ways: Readonly<Record<WayName, Way>> = {
  'an import': receive,
  'an export of an export': async (sent, allow) => {
    const { app, run } = await receive(sent, []);
    return receive({ ...sent, text: await exported(app, run) }, allow);
  },
  'a fork of an import': async (sent, allow) => {
    const { app, run, needs = [] } = await receive(sent, allow);
    const { runId } = await app.engine.fork({ runId: run, seq: 0 });
    return { app, run: runId, needs };
  },
  'a sent store': async (sent, allow) => ({ app: await openSent(sent, { allow }), run: 'r' }),
  'a backup': async (sent, allow) => {
    const own = makeOwn(sent);
    await backUp(join(sent.cwd, 'runs.db'), join(own, 'sent.backup'));
    await restore(join(own, 'sent.backup'), join(own, 'runs.db'));
    const app = await open({ cwd: own, allow });
    await releaseRuns.run(app, { run: 'r' });
    return { app, run: 'r' };
  },
};

/**
 * A schedule of the sender's first file in their store, and what becomes of it where somebody works on that store: the runs that it started
 * there, or the code of what stopped it.
 */
export async function workOnSchedule(
  sent: Sent,
  file: string,
  options: Pick<AppOptions, 'allow' | 'trustsStore'>,
): Promise<{ readonly app: App; readonly stoppedBy?: string; readonly started: readonly string[] }> {
  await schedules.run(sent.app, { action: 'add', target: file, name: 'n', cron: '* * * * * *' });
  const app = await openSent(sent, options);
  const [schedule, begun] = ['cairn:schedule:n', Promise.withResolvers<string | undefined>()];
  const worker = startWorker(app, {
    pollMs: 50,
    onError: (runId, error) => void (runId === schedule && begun.resolve(CairnError.from(error).code)),
    onRested: ({ runId }) => void (runId.startsWith('cairn:due:n:') && begun.resolve(undefined)),
  });
  const stoppedBy = await within('the schedule was due', begun.promise);
  // A schedule of every second never comes to rest: the end of the app hands it back.
  void worker.stop();
  const started: string[] = [];
  for await (const { runId } of app.engine.history.list()) if (runId.startsWith('cairn:due:n:')) started.push(runId);
  return { app, started, ...(stoppedBy !== undefined && { stoppedBy }) };
}

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
