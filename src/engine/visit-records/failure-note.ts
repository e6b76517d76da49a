/** Makes the record of a failed attempt, for whoever has to see why: bounded, without secrets, in a checkpoint's change alone (K1d). */
import { reasonOf } from '../../errors.ts';
import type { CauseNote, FailureNote, StackNote } from '../../history/stored/change.ts';
import type { SpanException } from '../../ports/telemetry.ts';
import { hashParts } from '../../state/values/canonical-text.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { asError, errorSummary } from '../validate/admit-error.ts';

/** The longest record, as JSON. */
const noteBytes = 4096;
/** A stack deeper than this is cut: what is farther out is the same for most errors. */
const framesMax = 12;
const causeFramesMax = 4;
const causesMax = 4;
/** Longest frame, and longest message of a cause. */
const textMax = 300;
/** How much of a stack is looked at. */
const stackLengthMax = 20_000;
/** How many stacks a run remembers to have stored. Beyond that the frames are stored again. */
const knownStacksMax = 200;

/** A record before its stacks are looked up among those that are stored. */
interface Draft extends Omit<FailureNote, 'stack' | 'causes'> {
  frames: string[];
  causes: { readonly about: Omit<CauseNote, 'stack'>; frames: string[] }[];
}

/**
 * The record of an attempt that failed with this error. Of an error that cannot be read, code and message remain.
 * @param effort - name of the node's visit or the step: `a`, `a/step`
 */
export function failureNote(core: RunCore, effort: string, error: unknown): FailureNote {
  const thrown = asError(error);
  const again = core.begunAgain.get(effort);
  const draft: Draft = {
    ...errorSummary(core, error),
    ...nameOf(core, thrown),
    worker: core.env.ids.workerId,
    ...(again && { again }),
    frames: masked(core, ownFrames(stackOf(thrown), framesMax)),
    causes: causesOf(core, thrown),
  };
  const { frames, causes, ...note } = fitted(draft);
  const stack = stackNote(core, frames);
  return {
    ...note,
    ...(stack && { stack }),
    ...(causes.length > 0 && {
      causes: causes.map((cause): CauseNote => {
        const of = stackNote(core, cause.frames);
        return { ...cause.about, ...(of && { stack: of }) };
      }),
    }),
  };
}

/** What telemetry is told of an error: with the message that is on record, and the frames. */
export function exceptionOf(core: RunCore, error: unknown): SpanException {
  const thrown = asError(error);
  const { code, message } = errorSummary(core, error);
  const { name = 'Error' } = nameOf(core, thrown);
  const frames = masked(core, ownFrames(stackOf(thrown), framesMax)).map((frame) => `\n    at ${frame}`);
  return { name, message, code, stack: `${name}: ${message}${frames.join('')}` };
}

/** The chain of causes; of an error of several errors, the first. What the user's getters throw ends it. */
function causesOf(core: RunCore, thrown: Error): Draft['causes'] {
  const found: Draft['causes'] = [];
  try {
    for (let at = innerOf(thrown); at !== undefined && found.length < causesMax; at = innerOf(at)) {
      const error = asError(at);
      const { code } = error as { readonly code?: unknown };
      const [message = '', ownCode = ''] = masked(core, [reasonOf(at), typeof code === 'string' ? code : '']);
      found.push({
        about: { ...(ownCode !== '' && { code: ownCode }), ...nameOf(core, error), message: message.slice(0, textMax) },
        frames: masked(core, ownFrames(stackOf(error), causeFramesMax)),
      });
    }
  } catch {
    // What was read so far is told.
  }
  return found;
}

function innerOf(error: unknown): unknown {
  const { cause, errors } = error as { readonly cause?: unknown; readonly errors?: unknown };
  const inner: unknown = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  return inner === error || inner === null ? undefined : inner;
}

function nameOf(core: RunCore, { name }: Error): { readonly name?: string } {
  if (typeof name !== 'string' || name === 'Error') return {};
  const [shown = ''] = masked(core, [name]);
  return { name: shown.slice(0, 100) };
}

function stackOf(error: Error): string {
  try {
    return typeof error.stack === 'string' ? error.stack : '';
  } catch {
    return '';
  }
}

function masked({ secrets }: RunCore, texts: readonly string[]): string[] {
  return texts.map((text) => secrets.mask?.text(text) ?? text);
}

/**
 * Where the code of this library is, in its sources and as built: the text up to the folder of either. Undefined in a bundle, which holds
 * the user's code too.
 */
const library = /^.*\/(?:src\/(?=engine\/visit-records\/)|(?=chunks\/core\.js$))/u.exec(import.meta.url)?.[0];

function isOfLibrary(frame: string): boolean {
  return (
    /\(?node:|<anonymous>|^async \w+\.\w+ \(index \d+\)/u.test(frame) ||
    frame.includes('/node_modules/') ||
    (library !== undefined && frame.includes(library))
  );
}

/** The frames of the user's own code, innermost first. Those of libraries, of Node and of Cairn between them are counted in one line. */
function ownFrames(stack: string, limit: number): string[] {
  const frames: string[] = [];
  let folded = 0;
  const from = stack.indexOf('\n    at ');
  if (from < 0) return frames;
  for (const line of stack.slice(from + 1, from + stackLengthMax).split('\n')) {
    if (!line.startsWith('    at ')) continue;
    const frame = line.slice('    at '.length);
    if (isOfLibrary(frame)) folded += 1;
    else if (frames.length >= limit) break;
    else {
      if (folded > 0) frames.push(`… ${folded} of libraries`);
      folded = 0;
      frames.push(plainPath(frame).slice(0, textMax));
    }
  }
  return frames;
}

/** `file:///app/a%20b.ts?v=3:1:2` as the path that editors and terminals open: `/app/a b.ts:1:2`. */
function plainPath(frame: string): string {
  const local = frame.replace(/\?[^\s:)]*(?=:\d)/u, '');
  return local.replace(/file:\/\/([^\s)]+)/u, (_, path: string) => {
    try {
      return decodeURIComponent(path);
    } catch {
      return path;
    }
  });
}

/** The record within its limit. What says least goes first: outer frames of causes, causes, outer frames, the end of the message. */
function fitted(draft: Draft): Draft {
  while (sizeOf(draft) > noteBytes) {
    const last = draft.causes.at(-1);
    if (last !== undefined && last.frames.length > 1) last.frames.pop();
    else if (draft.causes.length > 1) draft.causes.pop();
    else if (draft.frames.length > 1) draft.frames.pop();
    else if (last !== undefined) draft.causes.pop();
    else return { ...draft, frames: [], message: draft.message.slice(0, 200), code: draft.code.slice(0, 100) };
  }
  return draft;
}

/** Room for what the notes of the stacks add: their ids and brackets. */
const stackNoteBytes = 40;

function sizeOf(draft: Draft): number {
  return Buffer.byteLength(JSON.stringify(draft)) + stackNoteBytes * (1 + draft.causes.length);
}

/** Refers to the checkpoint that has these frames already, or remembers that the next one will. */
function stackNote(core: RunCore, frames: readonly string[]): StackNote | undefined {
  if (frames.length === 0) return undefined;
  const id = hashParts(frames).slice(0, 10);
  const seq = core.stacks.get(id);
  if (seq !== undefined) return { id, seq };
  if (core.stacks.size >= knownStacksMax) core.stacks.clear();
  core.stacks.set(id, core.committer.seq + 1);
  return { id, frames };
}
