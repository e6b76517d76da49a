/** Opens an agent's files, once for each attempt of its node. */
import type { FileStore, OpenFiles } from '../../ports/file-store.ts';
import { hashText } from '../../state/values/hash.ts';
import type { AgentNode } from '../tools/agent-tool.ts';
import { recordedWrites, writtenIn } from './written-files.ts';

/** Open files by store and by the attempt's signal. Each attempt has a signal of its own, so entries disappear with their attempt. */
const opened = new WeakMap<FileStore, WeakMap<AbortSignal, Promise<OpenFiles>>>();

/**
 * The files as this attempt sees them. They are opened before anything else. In a repeated function this also reports written files that
 * were changed by others.
 */
export function openFiles(store: FileStore, node: AgentNode): Promise<OpenFiles> {
  const attempts = opened.get(store) ?? new WeakMap<AbortSignal, Promise<OpenFiles>>();
  opened.set(store, attempts);
  let files = attempts.get(node.signal);
  if (files === undefined) attempts.set(node.signal, (files = open(store, node)));
  return files;
}

async function open(store: FileStore, node: AgentNode): Promise<OpenFiles> {
  const files = store.open(node);
  for (const written of writtenIn(node)) files.take(written);
  const found = await files.verify(recordedWrites(node));
  if (found.missing.length + found.changed.length > 0) {
    // The name is derived from the content, so an event with the same content is recorded only once, however often the attempt is repeated.
    const name = `files-changed ${hashText(JSON.stringify(found)).slice(0, 12)}`;
    node.emit({ type: 'files-changed', ...found }, { recorded: true, name });
  }
  return files;
}
