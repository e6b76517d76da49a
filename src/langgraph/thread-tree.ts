/**
 * A checkpoint of LangGraph as the state of a run: its channels stand in `scratch`, where `state` and `diff` show them; the rest stands
 * beside the channels.
 */
import { writeDifference } from '../state/tree-difference.ts';
import type { TreeWriter } from '../state/tree-writer.ts';
import type { RunTree } from '../state/tree.ts';
import { getOwn } from '../state/values/plain-object.ts';

/** A write of a task that is not part of a checkpoint yet. */
export interface TaskWrite {
  readonly channel: string;
  readonly value: unknown;
  /** Path of the task; empty if it has none. */
  readonly path: string;
}

/** Writes of one checkpoint, by task and number. */
export type TaskWrites = Readonly<Record<string, Readonly<Record<string, TaskWrite>>>>;

/** A checkpoint, with its values as they are stored. */
export interface StoredCheckpoint {
  readonly id: string;
  readonly parent?: string;
  /** All of it but its channels. */
  readonly checkpoint: unknown;
  readonly channels: Readonly<Record<string, unknown>>;
  readonly metadata: unknown;
}

interface Beside extends Omit<StoredCheckpoint, 'channels' | 'id'> {
  readonly id?: string;
  /** By id of the checkpoint: those of the newest one, and those that came before their checkpoint. */
  readonly writes: Readonly<Record<string, TaskWrites>>;
}

const beside = ['frame', 'channels', 'langgraph'] as const;
const channels = ['frame', 'channels', 'scratch'] as const;

/** Makes the state that a thread begins with. */
export function beginTree(writer: TreeWriter): void {
  writer.set(['status'], 'paused');
  writer.set(['graphHash'], '');
  writer.set(['waits'], {});
  const empty: Beside = { checkpoint: null, metadata: null, writes: {} };
  const parts = { scratch: {}, artifacts: {}, diagnostics: {}, langgraph: empty };
  writer.set(['frame'], { input: null, channels: parts, nodes: {} });
}

/** Changes the state to that of a checkpoint. Writes of older ones are no longer part of it: the history has them. */
export function putCheckpoint(writer: TreeWriter, { channels: values, ...rest }: StoredCheckpoint): void {
  writeDifference(writer, channels, values);
  const own = getOwn(besideIn(writer.root).writes, rest.id);
  writeDifference(writer, beside, { ...rest, writes: own === undefined ? {} : { [rest.id]: own } });
}

/** Adds writes. One that is there already stays, but for those with negative numbers, which stand for how a task ended. */
export function putWrites(writer: TreeWriter, checkpoint: string, task: string, writes: TaskWrites[string]): void {
  const { writes: all } = besideIn(writer.root);
  const before = getOwn(all, checkpoint) as TaskWrites | undefined;
  const there = before && (getOwn(before, task) as TaskWrites[string] | undefined);
  const added = Object.entries(writes).filter(([index]) => index.startsWith('-') || !Object.hasOwn(there ?? {}, index));
  const after = { ...before, [task]: { ...there, ...Object.fromEntries(added) } };
  writeDifference(writer, [...beside, 'writes'], { ...all, [checkpoint]: after });
}

/** The checkpoint in a state; undefined if there are only writes so far. */
export function checkpointIn(root: RunTree): StoredCheckpoint | undefined {
  const { writes: _, id, ...rest } = besideIn(root);
  return id === undefined ? undefined : { id, ...rest, channels: channelsIn(root) };
}

export function writesIn(root: RunTree, checkpoint: string): TaskWrites {
  return (getOwn(besideIn(root).writes, checkpoint) as TaskWrites | undefined) ?? {};
}

const channelsIn = ({ frame }: RunTree): Readonly<Record<string, unknown>> =>
  frame.channels['scratch'] as Readonly<Record<string, unknown>>;

const besideIn = ({ frame }: RunTree): Beside => frame.channels['langgraph'] as unknown as Beside;
