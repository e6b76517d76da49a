/** The checkpoints of all runs, newest first. */
import { flag, listOf, objectOf, text, whole } from '../declare/output-shapes.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { loadState } from '../../history/load/load.ts';
import type { LogEntry } from '../../history/read/log.ts';
import type { RunRow } from '../../ports/store.ts';
import { isAfter, newestFirst, RunWalk, type Position } from './checkpoint-walk.ts';
import { isAnswerable } from '../waits/find-wait.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';
import { collectRuns } from '../runs/read-all-runs.ts';

export interface ListCheckpointsInput {
  readonly workflow?: string;
  /** Only those at which a run was paused. */
  readonly paused?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ListedCheckpoint {
  readonly checkpointId: string;
  readonly runId: string;
  readonly seq: number;
  readonly graphId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Whether the run was paused there. */
  readonly isPaused: boolean;
  /** What was asked there, of a checkpoint at which the run was paused: the first of the questions open. */
  readonly prompt?: string;
  /** Whether it is the run's newest. */
  readonly isHead: boolean;
}

export interface ListCheckpointsOutput {
  readonly checkpoints: readonly ListedCheckpoint[];
  /** Give it back to get those that follow; absent: there are no more. */
  readonly cursor?: string;
}

const defaultLimit = 50;

function readCursor(cursor: string | undefined): Position | undefined {
  const [at, seq, ...runId] = cursor?.split(':') ?? [];
  return at === undefined ? undefined : { at: Number(at), seq: Number(seq), runId: runId.join(':') };
}

function isPause({ change }: LogEntry): boolean {
  return change.some(({ kind }) => kind === 'pause');
}

async function toListed(context: HistoryContext, run: RunRow, entry: LogEntry, at: number): Promise<ListedCheckpoint> {
  const isPaused = isPause(entry);
  const prompt = isPaused ? await readPrompt(context, run, entry.seq) : undefined;
  return {
    checkpointId: checkpointId(run.key, entry.seq),
    runId: run.runId,
    seq: entry.seq,
    graphId: run.graphId,
    createdAt: at,
    isPaused,
    ...(prompt !== undefined && { prompt }),
    isHead: entry.seq === run.head,
  };
}

async function readPrompt(context: HistoryContext, run: RunRow, seq: number): Promise<string | undefined> {
  const { root } = await loadState(context.store, context.blobs, run, seq);
  return Object.values(root.waits).find(isAnswerable)?.prompt;
}

export const listCheckpoints: Operation<ListCheckpointsInput, ListCheckpointsOutput, HistoryContext> = {
  name: 'checkpoints',
  summary: 'list the checkpoints of all runs, newest first',
  input: {
    workflow: { type: 'text', description: 'only those of this workflow' },
    paused: { type: 'flag', description: 'only those at which a run was paused' },
    limit: { type: 'integer', description: `how many at most; default ${defaultLimit}` },
    cursor: { type: 'text', description: 'go on after this place: the cursor of the page before' },
  },
  output: 'the checkpoints, and where the next page begins',
  outputSchema: objectOf(
    {
      checkpoints: listOf(
        objectOf(
          {
            checkpointId: text,
            runId: text,
            seq: whole,
            graphId: text,
            createdAt: whole,
            isPaused: flag,
            isHead: flag,
          },
          { prompt: text },
        ),
      ),
    },
    { cursor: text },
  ),
  isReadOnly: true,
  async run(context, { workflow, paused = false, limit = defaultLimit, cursor }) {
    const walks = (await collectRuns(context, workflow)).map((run) => new RunWalk(context, run));
    const after = readCursor(cursor);
    const checkpoints: ListedCheckpoint[] = [];
    for await (const { run, entry, position } of newestFirst(walks)) {
      if (entry === undefined || (after !== undefined && !isAfter(position, after))) continue;
      if (paused && !isPause(entry)) continue;
      const last = checkpoints.at(-1);
      if (checkpoints.length >= limit && last !== undefined)
        return { checkpoints, cursor: `${last.createdAt}:${last.seq}:${last.runId}` };
      checkpoints.push(await toListed(context, run, entry, position.at));
    }
    return { checkpoints };
  },
};
