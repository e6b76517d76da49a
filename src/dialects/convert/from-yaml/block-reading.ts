/** What blocks are read with, and what is read of one. */
import type { BlockView, Names } from '../../yaml/expression/template.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import type { NoteCode, Notes } from '../outline/notes.ts';
import type { CalledPipeline, Step, Text, Work } from '../outline/outline.ts';
import { piecesOf, readablePieces, type Known } from './plain-text.ts';

/** One end of a block, and all that it may leave behind then, as conditions see it. */
export interface BlockEnd {
  readonly on: string;
  readonly views: readonly BlockView[];
  /** It fails the run. */
  readonly isFatal: boolean;
}

/** A block as a step, but for where its ends lead. */
export interface BlockWork {
  readonly step: Omit<Step, 'ends'>;
  readonly ends: readonly BlockEnd[];
  /** Fields whose values are known from the end, as paths. Those of every block are always known. */
  readonly fields: readonly string[];
}

export interface BlockReading {
  readonly names: Names;
  readonly known: Known;
  /** Path of the file. */
  readonly source: string;
  /** The pipeline that a block runs, and its file. Undefined: it runs no pipeline, or another workflow. */
  readonly pipelineOf: (block: BlockFile) => (CalledPipeline & { readonly source: string }) | undefined;
  readonly notes: Notes;
  readonly place: string;
}

/** What a block of one type does, and how it may end. */
export type Done = Pick<BlockWork, 'ends' | 'fields'> & {
  readonly work: Work;
  readonly timeoutMs?: number | undefined;
  /** Attempts that its own inputs ask for. */
  readonly attempts?: number;
  /** A failure is an answer, and no reason to try again. */
  readonly isTriedOnce?: boolean;
};

/** Undefined: something in the block cannot be said without its dialect. */
export type BlockReader = (block: BlockFile, reading: BlockReading) => Done | undefined;

/** A block that completed with these fields. */
export function completed(output: Readonly<Record<string, unknown>>): BlockView {
  return { status: 'completed', output, error: undefined };
}
export const failed: BlockView = { status: 'failed', output: undefined, error: new Error('it failed') };
export const skipped: BlockView = { status: 'skipped', output: undefined, error: undefined };

/** An input of a block as a text; undefined: it is computed. */
export function textIn(block: BlockFile, field: string, { known }: BlockReading): Text | undefined {
  const value = block.inputs[field];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  return typeof value === 'string' ? piecesOf(value, known) : undefined;
}

/** An input as a text for a person, in which expressions stand for what is computed. */
export function questionIn(block: BlockFile, field: string, reading: BlockReading): Text {
  const { text, computed } = readablePieces(String(block.inputs[field]), reading.known);
  for (const expression of computed)
    lost(reading, 'VALUE', `the question of ${block.id} says <${expression}> in place of the value`, 'ask without it');
  if (block.inputs['assignees'] !== undefined || block.inputs['four_eyes'] !== undefined)
    lost(reading, 'ANSWER', `${block.id} takes everybody’s answer`, 'give the stage assignees and four_eyes');
  const late = ['remind_after', 'escalate_to', 'deadline'].find((name) => block.inputs[name] !== undefined);
  if (late !== undefined)
    lost(
      reading,
      'ANSWER',
      `${block.id} is asked without ${late}`,
      'give the stage remind_after, escalate_to and timeout',
    );
  return text;
}

/** A text without references; undefined: it has some. */
export function literalOf(value: unknown, { known }: BlockReading): string | undefined {
  const text = typeof value === 'string' ? piecesOf(value, known) : undefined;
  if (text === undefined || !text.every((piece) => typeof piece === 'string')) return undefined;
  return text.join('');
}

/** Notes something of the block that is read. */
export function lost({ notes, place }: BlockReading, code: NoteCode, message: string, fix: string): void {
  notes.lost(code, place, message, fix);
}
