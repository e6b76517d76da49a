/**
 * Follows runs of a store from a process of its own, as a client does that is cut off again and again: `node following-process.ts URL SEED
 * [RUN...]` follows these runs, one stream each; without runs it follows all in one stream. It prints what it gets, an event a line.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { CairnError, openHistory, openStore, type History } from '../../src/index.ts';
import type { FollowedRun } from '../../src/history/read/follow-runs.ts';
import type { FollowedEvent } from '../../src/history/read/follow.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';

/** An event in a line: what it is, and for a checkpoint all of it as a digest beside its cursor. */
interface Line {
  readonly type: 'run' | 'checkpoint' | 'reset' | 'cut';
  readonly runId: string;
  readonly seq: number;
  readonly text: string;
}

const textOf = (event: FollowedEvent & { readonly cursor: string }): string =>
  `${event.cursor} ${hash('sha256', JSON.stringify(event)).slice(0, 12)}`;

/** What following a run from its beginning gives, once it has ended. */
export async function readFollowed(history: History, runId: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const event of history.follow(runId)) if (event.type === 'checkpoint') texts.push(textOf(event));
  return texts;
}

/** A process that follows, and what it has been given so far. */
export class FollowingProcess {
  /** The checkpoints of each run, as far as no reset took them back. */
  readonly seen = new Map<string, string[]>();
  /** Gaps and repetitions. */
  readonly faults: string[] = [];
  /** Events of any kind. */
  events = 0;
  resets = 0;
  cuts = 0;
  readonly #child: ChildProcess;
  readonly #ready: Promise<unknown>;

  /** @param runIds - those to follow, one stream each; none for all runs in one stream */
  constructor(url: string, seed: number, runIds: readonly string[] = []) {
    const args = ['--no-warnings', import.meta.filename, url, `${seed}`, ...runIds];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    const lines = createInterface(child.stdout);
    this.#ready = once(lines, 'line');
    lines.on('line', (line) => {
      if (line.startsWith('{')) this.#take(JSON.parse(line) as Line);
    });
  }

  async ready(): Promise<void> {
    await this.#ready;
  }

  #take({ type, runId, seq, text }: Line): void {
    this.events += 1;
    let seen = this.seen.get(runId);
    if (seen === undefined) this.seen.set(runId, (seen = []));
    if (type === 'cut') this.cuts += 1;
    else if (type === 'reset') {
      this.resets += 1;
      seen.length = seq;
    } else if (type === 'run') {
      if (seq !== seen.length - 1) this.faults.push(`${runId} is said to stand at ${seq} after ${seen.length - 1}`);
    } else if (seq === seen.length) seen.push(text);
    else this.faults.push(`${runId}: ${seq} came after ${seen.length - 1}`);
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const isOver = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await isOver;
  }
}

const say = (line: Line): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

function tell(event: FollowedEvent | FollowedRun): void {
  const { runId } = event;
  if (event.type === 'checkpoint') say({ type: event.type, runId, seq: event.seq, text: textOf(event) });
  else if (event.type === 'reset') say({ type: event.type, runId, seq: event.from, text: event.reason });
  else if (event.type === 'run') say({ type: event.type, runId, seq: event.seq, text: event.status });
}

/** A stream that breaks off: by itself at random, and whenever the server is away. @returns whether it came to its end */
async function isFollowed<Event>(
  random: SeededRandom,
  stream: AsyncIterable<Event>,
  take: (event: Event) => void,
): Promise<boolean> {
  try {
    for await (const event of stream) {
      take(event);
      if (random.chance(0.05)) return false;
    }
    return true;
  } catch (error) {
    // The server is away, or the run is not there yet.
    if (!CairnError.is(error, 'STORE_UNAVAILABLE') && !CairnError.is(error, 'RUN_NOT_FOUND')) throw error;
    await delay(50);
    return false;
  }
}

async function followOne(history: History, runId: string, random: SeededRandom): Promise<void> {
  let after: string | undefined;
  const take = (event: FollowedEvent): void => {
    if (event.type === 'checkpoint') after = event.cursor;
    else if (event.type === 'reset') after = undefined;
    tell(event);
  };
  while (!(await isFollowed(random, history.follow(runId, after === undefined ? {} : { after }), take)))
    say({ type: 'cut', runId, seq: -1, text: '' });
}

async function followAll(history: History, random: SeededRandom): Promise<void> {
  let after: string | undefined;
  for (;;) {
    await isFollowed(random, history.followRuns(after === undefined ? {} : { after }), ({ position, event }) => {
      after = position;
      tell(event);
    });
    say({ type: 'cut', runId: '', seq: -1, text: '' });
  }
}

if (import.meta.main) {
  const [url = '', seed = '', ...runIds] = process.argv.slice(2);
  const store = openStore(url);
  const history = openHistory(store);
  const random = createSeededRandom(Number(seed));
  await store.readIdentity();
  process.stdout.write('ready\n');
  if (runIds.length === 0) await followAll(history, random);
  await Promise.all(runIds.map((runId) => followOne(history, runId, random.fork())));
  await store.close();
}
