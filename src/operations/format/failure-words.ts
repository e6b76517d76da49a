/** Why an attempt failed, in lines that every door may print: message, frames of the user's own code, causes, why it ran again. */
import type { Failure, FailureCause } from '../../history/read/failures.ts';
import type { BegunAgain } from '../../history/stored/change.ts';
import { printable } from './terminal.ts';

/** How much is said. */
export interface FailureForm {
  /** Frames of each error. Default: all that are recorded, and what is between them. */
  readonly framesMax?: number;
  /** The folder below which paths are shown shortened. */
  readonly cwd?: string;
  /** A worker in words. Default: its id. */
  readonly nameWorker?: (id: string) => string;
}

/** `a/step`, as in other messages. */
function placeOfFailure({ node, step }: Pick<Failure, 'node' | 'step'>): string {
  return printable([...node, ...(step === undefined ? [] : [step])].join('/'));
}

/** `Card refused [E_CARD]`, on one line. */
function failureText({ message, code, name }: FailureCause): string {
  const kind = code === undefined || code === 'NODE_FAILED' ? name : code;
  return `${printable(message)}${kind === undefined ? '' : ` [${printable(kind)}]`}`;
}

/** The innermost frame of the user's own code: of the error itself, else of what caused it. */
export function firstOwnFrame(
  { stack, causes = [] }: Pick<Failure, 'stack' | 'causes'>,
  cwd?: string,
): string | undefined {
  for (const frames of [stack, ...causes.map((cause) => cause.stack)]) {
    const own = frames?.find((frame) => !isFold(frame));
    if (own !== undefined) return shortened(own, cwd);
  }
  return undefined;
}

/** The lines of a failure; those below the first are indented. */
export function failureLines(failure: Failure, form: FailureForm = {}): readonly string[] {
  const { attempt } = failure;
  const tries = attempt > 1 ? `, attempt ${attempt}` : '';
  return [`${placeOfFailure(failure)}${tries}: ${failureText(failure)}`, ...errorLines(failure, form)];
}

/** The lines below the message: frames, causes with theirs, and why it ran again. */
export function errorLines(
  error: FailureCause & Pick<Failure, 'causes' | 'again'>,
  form: FailureForm = {},
): readonly string[] {
  const { causes = [], again } = error;
  return [
    ...frameLines(error, form),
    ...causes.flatMap((cause) => [`  caused by: ${failureText(cause)}`, ...frameLines(cause, form)]),
    ...(again === undefined ? [] : [`  ${againWords(again, form.nameWorker)}`]),
  ];
}

function frameLines({ stack = [] }: FailureCause, { framesMax, cwd }: FailureForm): readonly string[] {
  const frames = framesMax === undefined ? stack : stack.filter((frame) => !isFold(frame)).slice(0, framesMax);
  return frames.map((frame) => (isFold(frame) ? `    ${frame}` : `    at ${shortened(frame, cwd)}`));
}

const reasons: Readonly<Record<BegunAgain['by'], string>> = {
  default: 'no effect class is declared, so it may have been done twice',
  idempotent: 'it is declared idempotent, and has the same key',
  reconcile: 'reconcile said that it had not happened; it has the same key',
  person: 'a person said so; it has the same key',
};

/** `begun again after worker w1 had begun it: it is declared idempotent, and has the same key (attempt 1, k8Zt…)`. */
export function againWords(
  { worker, by, attempt, key }: BegunAgain & { readonly attempt?: number; readonly key?: string },
  nameWorker = (id: string): string => `worker ${id}`,
): string {
  const which = [...(attempt === undefined ? [] : [`attempt ${attempt}`]), ...(key === undefined ? [] : [key])];
  const list = which.length === 0 ? '' : ` (${which.join(', ')})`;
  return `begun again after ${worker === undefined ? 'another process' : printable(nameWorker(worker))} had begun it: ${reasons[by]}${list}`;
}

/** A line in the place of frames of libraries. */
function isFold(frame: string): boolean {
  return frame.startsWith('… ');
}

function shortened(frame: string, cwd: string | undefined): string {
  const folder = cwd === undefined || cwd === '/' ? undefined : `${cwd}/`;
  return printable(folder === undefined ? frame : frame.replace(folder, ''));
}
