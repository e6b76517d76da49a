/**
 * Reads texts that clients of a server send, in a thread of its own: a server answers others meanwhile, and a text that takes too much time
 * or memory is refused by name. What is read there comes back as data; a graph, whose functions cannot leave a thread, is read once more
 * where it runs, after it was read there in time.
 */
import type { Worker } from 'node:worker_threads';
import type { Conversion, WrittenDialect } from '../../dialects/convert/convert-text.ts';
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { CairnError, type ErrorCode, type ErrorData } from '../../errors.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import type { CheckedText } from '../../operations/contract/workflows.ts';
import { findProgram } from '../../optional-peers.ts';
import type { FoundConfig } from '../config/read-config.ts';

/** CPU time for one text, in milliseconds. */
const cpuMsMax = 2_000;
/** The longest a text is read on a machine that has little time for it. */
const wallMsMax = 30_000;
/** Of all that reading needs: beyond it the thread fails alone. */
const memoryMb = 512;
/** How many texts wait at most while one is read. */
const waitingMax = 16;
const lookEveryMs = 50;

/** What the thread is started with: all that a catalog of workflows needs, as data. */
export interface ReaderSetup {
  readonly folders: readonly string[];
  readonly cwd: string;
  readonly allow: readonly string[];
  readonly checkpoint?: CheckpointSettings;
  readonly redact?: { readonly store?: readonly string[] };
  /** The user's own node types, without their functions. */
  readonly types: readonly Omit<NodeType, 'run' | 'effect'>[];
}

export type ReaderJob =
  | { readonly kind: 'check'; readonly text: string }
  | { readonly kind: 'convert'; readonly text: string; readonly to: WrittenDialect | 'cairn' };

export type ReaderAnswer =
  | { readonly value: unknown }
  | { readonly fault: { readonly code: ErrorCode; readonly data: ErrorData } };

export interface ForeignTexts {
  /** @throws TEXT_TOO_COSTLY, READER_BUSY */
  check(text: string): Promise<CheckedText>;
  /** @throws as `Workflows.convert`; TEXT_TOO_COSTLY, READER_BUSY */
  convert(text: string, to: WrittenDialect | 'cairn'): Promise<Conversion & { readonly changedCount?: number }>;
  /** Whether results may differ from those of this process, since the user's own node types have functions that say more. */
  readonly isPartial: boolean;
  /** Has texts from now on read by another thread, which reads the folders anew. */
  reload(): void;
  /** Ends the thread, whatever it reads. */
  close(): Promise<void>;
}

export interface ForeignTextOptions
  extends Omit<ReaderSetup, 'types'>, Pick<FoundConfig, 'checkpoint' | 'redact' | 'nodeTypes'> {
  /** CPU time for one text. Default 2,000; less in tests. */
  readonly limitMs?: number;
}

export function readForeignTexts({ limitMs = cpuMsMax, ...options }: ForeignTextOptions): ForeignTexts {
  const { folders, cwd, allow, checkpoint, redact, nodeTypes = [] } = options;
  // Functions do not cross: what the types say as data does.
  const types = JSON.parse(JSON.stringify(nodeTypes)) as ReaderSetup['types'];
  const setup = { folders, cwd, allow, types, ...(checkpoint && { checkpoint }), ...(redact && { redact }) };
  let thread: Promise<Worker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let waitingCount = 0;

  const end = async (): Promise<void> => {
    const ending = thread;
    thread = undefined;
    await (await ending?.catch(() => undefined))?.terminate();
  };
  const read = async (job: ReaderJob): Promise<unknown> => {
    thread ??= startThread(setup);
    try {
      return await ask(await thread, job, limitMs);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        await end();
        throw error;
      }
      throw new CairnError(error.fault.code, error.fault.data);
    }
  };
  const inTurn = async (job: ReaderJob): Promise<unknown> => {
    if (waitingCount > waitingMax) throw new CairnError('READER_BUSY', { count: waitingCount - 1 });
    waitingCount += 1;
    const turn = last.then(() => read(job));
    last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      waitingCount -= 1;
    }
  };
  return {
    check: async (text) => (await inTurn({ kind: 'check', text })) as CheckedText,
    convert: async (text, to) => (await inTurn({ kind: 'convert', text, to })) as Conversion,
    isPartial: setup.types.length > 0,
    reload: () => void (last = last.then(end)),
    close: end,
  };
}

/** What is wrong with a text, as the thread says it: the thread itself is well. */
class Refusal extends Error {
  readonly fault: { readonly code: ErrorCode; readonly data: ErrorData };
  constructor(fault: Refusal['fault']) {
    super(fault.code);
    this.fault = fault;
  }
}

async function startThread(setup: ReaderSetup): Promise<Worker> {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const worker = new Worker(findProgram(import.meta.dirname, 'app/workflows/reader-thread'), {
    workerData: setup,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  await nextMessage(worker, () => undefined);
  return worker;
}

/** Hands a text to the thread, and waits for what it says, as long as the text may take. */
async function ask(worker: Worker, job: ReaderJob, limitMs: number): Promise<unknown> {
  const [startedAt, usedBefore] = [performance.now(), process.cpuUsage()];
  // Neither is the thread's own time, which not every Node tells, and both are at least that.
  const usedMs = (): number => {
    const { user, system } = process.cpuUsage(usedBefore);
    return Math.min(performance.now() - startedAt, (user + system) / 1_000);
  };
  const answer = nextMessage(worker, (refuse) => {
    const timer = setInterval(() => {
      if (usedMs() > limitMs) refuse(tooCostly(`${limitMs / 1_000} s of CPU time`));
      else if (performance.now() - startedAt > wallMsMax) refuse(tooCostly(`${wallMsMax / 1_000} s`));
    }, lookEveryMs);
    return () => clearInterval(timer);
  });
  worker.postMessage(job);
  const reply = (await answer) as ReaderAnswer;
  if ('fault' in reply) throw new Refusal(reply.fault);
  return reply.value;
}

/** The next message of the thread, which keeps the process alive until then. */
async function nextMessage(
  worker: Worker,
  watch: (refuse: (error: Error) => void) => (() => void) | undefined,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const stopped = (): void => reject(new CairnError('INTERNAL', { reason: 'the thread that reads texts ended' }));
  const failed = (error: Error & { readonly code?: string }): void =>
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooCostly(`${memoryMb} MB of memory`) : error);
  worker.once('message', resolve).once('error', failed).once('exit', stopped);
  const unwatch = watch(reject);
  worker.ref();
  try {
    return await promise;
  } finally {
    unwatch?.();
    worker.unref();
    worker.off('message', resolve).off('error', failed).off('exit', stopped);
    // It may fail while it is ended: that is nobody's news.
    if (worker.listenerCount('error') === 0) worker.on('error', () => undefined);
  }
}

function tooCostly(limit: string): CairnError {
  return new CairnError('TEXT_TOO_COSTLY', { limit });
}
