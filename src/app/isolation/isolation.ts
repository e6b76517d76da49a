/**
 * Advances suspects in a child process of their own, and judges how the child ends (O7). The child is started from what this process was
 * given (a folder, modules), never from its command line: a program would do again all it does when it starts.
 */
import type { ChildProcess } from 'node:child_process';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Isolation, ResumeApart, Suspect } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import { writeLog } from '../../operations/format/terminal.ts';
import { findProgram } from '../../optional-peers.ts';
import type { Claim } from '../../ports/store.ts';

/** Where a child finds what it needs. */
export type Surroundings =
  | {
      readonly kind: 'app';
      /** As `openApp` takes them. */
      readonly options: Readonly<Record<string, unknown>>;
      readonly cwd: string;
      readonly modules: readonly string[];
    }
  /** A module that exports compiled graphs, and the URL of a store in place of theirs. */
  | { readonly kind: 'graphs'; readonly url: string; readonly store?: string };

/** A node that ended its process, and how. */
export interface Condemned {
  readonly node: readonly string[];
  /** It held the event loop for so long that its process was ended. */
  readonly heldMs?: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderr?: string;
}

/** What a child is told on its standard input, a line of JSON. The end of its input says that its witness is gone. */
export interface IsolatedRequest {
  readonly surroundings: Surroundings;
  readonly claim: Claim;
  readonly graphId: string;
  readonly resume?: ResumeApart;
  readonly condemned: readonly Condemned[];
}

/** What a child tells, in lines of JSON. It writes each before it goes on, so that what it began is known however it ends. */
export type IsolatedReport =
  | { readonly kind: 'begun' | 'ended'; readonly node: readonly string[] }
  /** The last of its words: its event loop was held for too long, so that it ends itself. */
  | { readonly kind: 'blocked'; readonly heldMs: number }
  | { readonly kind: 'rested' }
  | { readonly kind: 'failed'; readonly code: string; readonly data: Readonly<Record<string, unknown>> };

/** The descriptor of a child's reports. */
export const reportDescriptor = 3;

/** Signals by which people and supervisors end processes: whoever dies of one is not to blame. */
const fromOutside: readonly (string | undefined)[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
/** What a child writes last is kept up to this. */
const stderrMax = 2_000;
/** When a child has died, its witness waits for this long: what ends all processes of a machine would reach the witness too. */
const witnessMs = 5_000;
/** Children of one suspect in a row. */
const childrenMax = 20;

interface ChildEnd {
  readonly reports: readonly IsolatedReport[];
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** @param surroundings - read whenever a child is started */
export function isolateIn(surroundings: () => Surroundings, options: { readonly witnessMs?: number } = {}): Isolation {
  let busy: Promise<void> | undefined;
  return {
    get busy() {
      return busy;
    },
    advance(suspect, signal) {
      const advanced = advance(surroundings(), suspect, signal, options.witnessMs ?? witnessMs);
      const done: Promise<void> = advanced.then(
        () => undefined,
        () => undefined,
      );
      busy = done.then(() => void (busy = undefined));
      return advanced;
    },
  };
}

async function advance(
  surroundings: Surroundings,
  { run: { graphId }, claim, resume, lost }: Suspect,
  stopping: AbortSignal,
  waitMs: number,
): Promise<boolean> {
  const condemned: Condemned[] = [];
  const kills = new Map<string, number>();
  const over = AbortSignal.any([stopping, lost]);
  for (let children = 0; children < childrenMax && !over.aborted; children += 1) {
    const end = await runChild({ surroundings, claim, graphId, ...(resume && { resume }), condemned }, over);
    const failure = end.reports.find(({ kind }) => kind === 'failed');
    if (failure?.kind === 'failed') throw new CairnError(failure.code as CairnError['code'], failure.data);
    if (end.reports.some(({ kind }) => kind === 'rested')) return true;
    const node = openNode(end.reports);
    if (node === undefined || fromOutside.includes(end.signal ?? undefined)) return false;
    const blocked = end.reports.find(({ kind }) => kind === 'blocked');
    if (blocked?.kind === 'blocked') {
      condemned.push({ node, heldMs: blocked.heldMs });
      continue;
    }
    await pause(waitMs, over);
    if (over.aborted) return false;
    // The system kills for want of memory, also for that of others.
    const place = node.join('/');
    const count = (kills.get(place) ?? 0) + 1;
    kills.set(place, count);
    if (end.signal === 'SIGKILL' && count < 2) continue;
    condemned.push({
      node,
      ...(end.exitCode !== null && { exitCode: end.exitCode }),
      ...(end.signal !== null && { signal: end.signal }),
      ...(end.stderr !== '' && { stderr: end.stderr }),
    });
  }
  return false;
}

/** The node in whose function the child died: of those that it began and that did not end, the last. */
function openNode(reports: readonly IsolatedReport[]): readonly string[] | undefined {
  const open: (readonly string[])[] = [];
  for (const report of reports) {
    if (report.kind === 'begun') open.push(report.node);
    if (report.kind !== 'ended') continue;
    const at = open.findLastIndex((node) => node.join('/') === report.node.join('/'));
    if (at >= 0) open.splice(at, 1);
  }
  return open.at(-1);
}

async function pause(ms: number, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  over.addEventListener('abort', () => resolve());
  if (over.aborted) resolve();
  await promise;
  clearTimeout(timer);
}

/** Half of the memory that there is at most, so that a node that takes too much ends its own process and not another one. */
function heapLimitMb(): number {
  const allowedBytes = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return Math.max(64, Math.floor(Math.min(getHeapStatistics().heap_size_limit, allowedBytes / 2) / 1024 ** 2));
}

/** Runs one child to its end. It is asked to stop when it is over: it hands the run back then, as a worker does. */
async function runChild(request: IsolatedRequest, over: AbortSignal): Promise<ChildEnd> {
  const inherited = process.execArgv.filter((option) => !option.startsWith('--inspect'));
  const program = findProgram(import.meta.dirname, 'app/isolation/isolated-run');
  // Loaded where it is used: it brings the network of Node along.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(process.execPath, [...inherited, `--max-old-space-size=${heapLimitMb()}`, program], {
    // Standard output may be a protocol here, so what nodes print goes where errors go.
    stdio: ['pipe', 2, 'pipe', 'pipe'],
  });
  const stop = (): void => void child.stdin?.end();
  child.stdin?.on('error', () => undefined);
  child.stdin?.write(`${JSON.stringify(request)}\n`);
  over.addEventListener('abort', stop);
  if (over.aborted) stop();
  const texts = collect(child);
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...end) => resolve(end));
  });
  over.removeEventListener('abort', stop);
  // A line that was being written when the child died is none.
  const lines = texts.reports.split('\n').slice(0, -1);
  return { reports: lines.map((line) => JSON.parse(line) as IsolatedReport), exitCode, signal, stderr: texts.stderr };
}

function collect(child: ChildProcess): { readonly reports: string; readonly stderr: string } {
  const texts = { reports: '', stderr: '' };
  child.stdio[reportDescriptor]?.on('data', (chunk: Buffer) => (texts.reports += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => {
    writeLog(chunk.toString().trimEnd());
    texts.stderr = (texts.stderr + chunk.toString()).slice(-stderrMax);
  });
  return texts;
}
