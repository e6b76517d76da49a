/**
 * `npm run demo -- studio`: makes runs to look at (one waits, one failed, one is in doubt, one was forked, one is done) and opens the studio on
 * them. Without a display, it writes screenshots instead, if there is a Chromium.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { findChromium } from '../../test/support/chromium.ts';

const root = join(import.meta.dirname, '../..');
const cairn = join(root, 'dist/bin/cairn.cjs');
const folder = join(root, '.cairn/studio');
const graph = join(import.meta.dirname, 'graph.ts');
const place = ['--store', `sqlite:${folder}/runs.db`, '--config', join(import.meta.dirname, 'cairn.config.ts')];

interface Ran {
  readonly status: number | null;
  readonly out: string;
}

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Ran {
  const { status, stdout } = spawnSync(process.execPath, [cairn, ...args, ...place], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { status, out: stdout };
}

function begin(runId: string, ...input: readonly string[]): void {
  const parts = input.flatMap((part) => ['--input', part]);
  const { status } = run(['run', graph, '--run-id', runId, ...parts]);
  if (status !== 0) throw new Error(`run ${runId} did not begin`);
}

/** Answers the question of a run, and goes on with it. */
function approve(runId: string, env: Readonly<Record<string, string>> = {}): void {
  run(['answer', runId, 'yes']);
  run(['resume', runId], env);
}

function makeRuns(): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  begin('refund-waits');
  begin('refund-done', 'order=A-1043', 'customer=Cem Aydin', 'amount=18');
  approve('refund-done');
  begin('refund-failed', 'order=A-1044', 'customer=Bo Lind', 'amount=1800');
  approve('refund-failed');
  begin('refund-doubt', 'order=A-1045', 'customer=Dee Ray', 'amount=60');
  approve('refund-doubt', { DIE_WHILE_PAYING: '1' });
  run(['resume', 'refund-doubt']);
  run(['fork', 'refund-failed@0', '--set', 'input.amount=35', '--run-id', 'refund-forked']);
  run(['resume', 'refund-forked']);
}

const pages: Readonly<Record<string, string>> = {
  runs: '/',
  waits: '/run?id=refund-waits',
  failed: '/run?id=refund-failed',
  doubt: '/run?id=refund-doubt',
  forked: '/run?id=refund-forked',
  inbox: '/inbox',
  start: '/start',
  fork: '/fork?id=refund-failed&at=4',
  chat: '/talk',
};

async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

/** Pictures of each page, wide and narrow, light and dark. */
async function writeScreenshots(executablePath: string): Promise<void> {
  const token = 'shown-on-this-machine-only';
  const tokens = join(folder, 'tokens.json');
  const scopes = ['read', 'run', 'answer', 'fork', 'admin', 'chat'];
  writeFileSync(tokens, JSON.stringify([{ token, principal: 'ann', kind: 'person', scopes }]), { mode: 0o600 });
  const args = [cairn, 'serve', '--http', '127.0.0.1:0', '--json', '--token-file', tokens, ...place];
  const server = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { readonly url: string };
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [1440, 'dark'],
      [390, 'light'],
    ] as const) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const page = await context.newPage();
      await signIn(page, url, token);
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(url + path);
        await page.getByRole('heading').first().waitFor();
        // What it asks for comes over a stream, so the network is never idle.
        await page.waitForTimeout(700);
        await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
      }
      await context.close();
    }
  } finally {
    await browser.close();
    server.kill('SIGTERM');
  }
  console.log(`Screenshots of ${Object.keys(pages).length} pages: .cairn/studio/*.png`);
}

if (!existsSync(join(root, 'dist/studio/index.html'))) {
  console.log('building (half a minute) …');
  spawnSync(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}
makeRuns();
process.stdout.write(run(['ls']).out);
const hasDisplay = process.platform !== 'linux' || Boolean(process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY']);
const executable = hasDisplay ? undefined : await findChromium();
if (executable !== undefined) await writeScreenshots(executable);
else spawn(process.execPath, [cairn, 'studio', ...place], { cwd: root, stdio: 'inherit' });
