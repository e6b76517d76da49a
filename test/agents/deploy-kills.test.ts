/**
 * Clerks that are killed for real and deployed in between, under every pair of what a deploy changes, what they are written with and where
 * they are stored: nothing is done twice, and no run is stuck. What they did stands in a file outside.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleScript } from '../support/bundled-script.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { isProving, sample, scale, seeds } from '../support/scale.ts';
import { changesOf, forms, type Deploy, type Life } from './deployed-clerk-life.ts';

const servers = isProving ? { postgres: await preparePostgres(), redis: await startRedis() } : {};
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-deploys-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const server of Object.values(servers)) if (typeof server !== 'string') await server.stop();
});

const stores = ['sqlite', ...Object.entries(servers).flatMap(([name, one]) => (typeof one === 'string' ? [] : [name]))];

/** Numbers below 1, the same for the same seed. */
function dice(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9) >>> 0;
    return state / 2 ** 32;
  };
}

interface Trial {
  readonly form: Life['form'];
  readonly store: string;
  readonly seed: number;
  /** The deploys of its lives: the first begins the run. */
  readonly lives: readonly Deploy[];
}

/**
 * Trials in which every pair of a change, a form and a store occurs in each seed. In each store a change is followed by another one; with
 * the seeds every pair of changes occurs, one after the other.
 */
function trialsOf(seed: number): readonly Trial[] {
  const roll = dice(seed);
  return forms.flatMap((form) => {
    const changes = changesOf(form);
    return stores.flatMap((store, storeIndex) =>
      changes.map((change, index) => {
        const after = 1 + ((seed * stores.length + storeIndex) % (changes.length - 1));
        const next = changes[(index + after) % changes.length] as Deploy;
        return { form, store, seed, lives: ['base', change, next, roll() < 0.5 ? 'base' : change, change] as const };
      }),
    );
  });
}

async function live(
  script: string,
  life: Life,
  store: string,
): Promise<{ readonly isKilled: boolean; readonly said: string }> {
  const server = servers[store as keyof typeof servers];
  const url = server === undefined || typeof server === 'string' ? 'sqlite' : server.url;
  const child = spawn(process.execPath, [script, JSON.stringify(life)], {
    env: { ...process.env, CAIRN_CASE_STORE: url },
  });
  let said = '';
  child.stdout.on('data', (text) => void (said += String(text)));
  child.stderr.on('data', (text) => void (said += String(text)));
  const [code, signal] = await new Promise<readonly [number | null, string | null]>((resolve) => {
    child.on('exit', (...how) => resolve(how));
  });
  return { isKilled: signal === 'SIGKILL', said: code === 0 ? '' : said };
}

/** @returns what went wrong, and how often it was killed */
async function run(
  script: string,
  trial: Trial,
  name: string,
): Promise<{ readonly faults: readonly string[]; readonly kills: number }> {
  const { form, store, seed, lives } = trial;
  const own = join(folder, name);
  mkdirSync(own);
  const roll = dice(seed * 1_000 + name.length + Number(name.replaceAll(/\D/gu, '')));
  let kills = 0;
  let said = '';
  for (const [index, deploy] of [...lives, lives.at(-1) as Deploy].entries()) {
    const isLast = index === lives.length;
    const dies = { at: 1 + Math.floor(roll() * 8), afterMs: Math.floor(roll() * 6) };
    const life: Life = { form, deploy, folder: own, runId: name, ...(!isLast && { dies }) };
    const ended = await live(script, life, store);
    said = ended.said;
    if (ended.isKilled) kills += 1;
    else if (!isLast && said === '') break;
  }
  const world = join(own, 'world.log');
  const lines = (existsSync(world) ? readFileSync(world, 'utf8') : '')
    .split('\n')
    .filter((line) => line.startsWith('do '));
  const done = lines.map((line) => line.split(' ').slice(1, 3).join(' '));
  const twice = done.filter((one, index) => done.indexOf(one) !== index).map((one) => `${one} was done twice`);
  return { faults: [...twice, ...(said === '' ? [] : [`it is stuck: ${said}`])], kills };
}

test(
  `P2 A3 A4 U1 clerks that are killed and deployed again and again do nothing twice, and none is stuck${isProving ? '' : ' (a sample; all in npm run prove)'}`,
  { timeout: 3_000_000 },
  async () => {
    const script = await bundleScript(join(import.meta.dirname, 'deployed-clerk.ts'));
    const found: string[] = [];
    let kills = 0;
    for (const seed of seeds(1, 1)) {
      const waiting = [...sample(trialsOf(seed), forms.length, ({ form }) => form).entries()];
      const lane = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          const [index, trial] = next;
          const { faults, kills: own } = await run(script, trial, `run-${seed}-${index}`);
          kills += own;
          const { form, store, lives } = trial;
          found.push(...faults.map((fault) => `seed ${seed}, ${form} over ${store}, ${lives.join(' > ')}: ${fault}`));
        }
      };
      await Promise.all([lane(), lane()]);
    }
    console.log(`clerks: ${kills} processes killed, from seed ${seeds(1, 1)[0]} on, over ${stores.join(', ')}`);
    expect(found).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(scale(3, 500));
  },
);
