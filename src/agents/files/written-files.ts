/**
 * Keeps track of the files that an agent has written. They are found again when its function is repeated, also after older records were
 * retired.
 */
import { FileRef } from '../../graph/file-ref.ts';
import type { WrittenFile } from '../../ports/file-store.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import type { AgentNode } from '../tools/agent-tool.ts';
import type { KeptConversation } from '../turn-note.ts';

/** Names of the two steps of a write: the plan, and the write itself. */
export const planStep = 'plan';
export const writeStep = 'write';

/** Written files by the attempt's signal. Each attempt has a signal of its own, so entries disappear with their attempt. */
const byAttempt = new WeakMap<AbortSignal, Map<string, WrittenFile>>();

function filesOf(node: Pick<AgentNode, 'signal' | 'retired'>): Map<string, WrittenFile> {
  let files = byAttempt.get(node.signal);
  if (files === undefined) {
    files = new Map(keptFiles(node).map((written) => [written.path, written]));
    byAttempt.set(node.signal, files);
  }
  return files;
}

/** Files written by calls whose records were retired. */
function keptFiles({ retired }: Pick<AgentNode, 'retired'>): readonly WrittenFile[] {
  return (retired as Partial<KeptConversation> | undefined)?.tools?.files ?? [];
}

/** Notes a write. Called for each write in order, also for recorded ones when a function is repeated. */
export function noteWritten(node: Pick<AgentNode, 'signal' | 'retired'>, written: WrittenFile): void {
  filesOf(node).set(written.path, written);
}

/** Files written so far in this attempt, and in what it repeats: the newest version of each path. */
export function writtenIn(node: Pick<AgentNode, 'signal' | 'retired'>): readonly WrittenFile[] {
  return [...filesOf(node).values()];
}

/**
 * Files whose writes were recorded when the attempt began. A file whose last write is in doubt is left out, because that write is checked
 * separately.
 */
export function recordedWrites(node: Pick<AgentNode, 'past' | 'retired'>): readonly WrittenFile[] {
  const written = new Map(keptFiles(node).map((each) => [each.path, each]));
  const steps = node.past.steps().filter(({ status }) => status === 'done');
  const done = new Set(steps.map(({ name }) => name));
  for (const { name, output } of steps) {
    const [, call, step] = /^(tool (?:write|edit)_file .*) (plan|write)$/.exec(name) ?? [];
    if (!isWritten(output)) continue;
    if (step === writeStep) written.set(output.path, output);
    else if (step === planStep && !done.has(`${call} ${writeStep}`)) written.delete(output.path);
  }
  return [...written.values()];
}

function isWritten(value: unknown): value is WrittenFile {
  return isPlainObject(value) && typeof value['path'] === 'string' && value['file'] instanceof FileRef;
}
