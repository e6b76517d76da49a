/** Tools with which a model lists, searches, reads, writes and edits files. */
import { FileRef } from '../../graph/file-ref.ts';
import type { WrittenFile, FileStore, OpenFiles, PlannedWrite } from '../../ports/file-store.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { hashText } from '../../state/values/canonical-text.ts';
import { type AgentNode, tool, type ComposedTool, type AgentTool } from '../tools/tool-box.ts';
import type { SavedConversation } from '../turn-note.ts';
import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import type { NodeContext, StepContext } from '../../graph/contracts/node-contract.ts';
import { decodeBytes } from '../../nodes/blocks/files/read-file.ts';
import type { searchFiles } from './search-files.ts';

// Keeps track of the files that an agent has written. They are found again when its function is repeated, also after older records were
// retired.

/** Names of the two steps of a write: the plan, and the write itself. */
const planStep = 'plan';
const writeStep = 'write';

/** Written files by the attempt's signal. Each attempt has a signal of its own, so entries disappear with their attempt. */
const byAttempt = new WeakMap<AbortSignal, Map<string, WrittenFile>>();

function filesOf(node: Pick<AgentNode, 'signal' | 'retired'>): Map<string, WrittenFile> {
  let files = byAttempt.get(node.signal);
  if (files === undefined) {
    files = new Map(retiredFiles(node).map((written) => [written.path, written]));
    byAttempt.set(node.signal, files);
  }
  return files;
}

/** Files written by calls whose records were retired. */
function retiredFiles({ retired }: Pick<AgentNode, 'retired'>): readonly WrittenFile[] {
  return (retired as Partial<SavedConversation> | undefined)?.tools?.files ?? [];
}

/** Notes a write. Called for each write in order, also for recorded ones when a function is repeated. */
function noteWritten(node: Pick<AgentNode, 'signal' | 'retired'>, written: WrittenFile): void {
  filesOf(node).set(written.path, written);
}

/** Files written so far in this attempt, and in what it repeats: the newest version of each path. */
export function writtenIn(node: Pick<AgentNode, 'signal' | 'retired'>): readonly WrittenFile[] {
  return [...filesOf(node).values()];
}

/**
 * Files whose writes were recorded when the attempt began. A file whose last write is in doubt is omitted, because that write is checked
 * separately.
 */
function recordedWrites(node: Pick<AgentNode, 'past' | 'retired'>): readonly WrittenFile[] {
  const written = new Map(retiredFiles(node).map((each) => [each.path, each]));
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

// Opens an agent's files, once for each attempt of its node.

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

// Tools that write files. The planned write is recorded first, so that a write in doubt can be checked by comparing it with the file.

/** Computes the new content from the current one, which is undefined if the file does not exist. */
type Change = (before: string | undefined) => string;

/** Makes a tool that changes one file, as its arguments say. */
function writeTool(
  store: FileStore,
  about: Pick<ComposedTool, 'description' | 'input'>,
  changeOf: (args: Readonly<Record<string, unknown>>) => Promise<Change>,
): ComposedTool {
  return tool({
    ...about,
    composed: true,
    // A shared store has class `write`, so a person is asked first.
    effect: store.isShared ? 'write' : 'pure',
    run: async (args, ctx) => {
      const input = args as Readonly<Record<string, unknown>> & { readonly path: string };
      const files = await openFiles(store, ctx);
      const planned = await ctx.step(planStep, { effect: 'read', input: args }, async () =>
        plan(ctx, files, input.path, await changeOf(input)),
      );
      const { path, file } = planned;
      const options = {
        effect: store.isShared ? 'write' : 'pure',
        input: args,
        reconcile: ({ idempotencyKey }: Pick<StepContext, 'idempotencyKey'>) =>
          files.reconcile(planned, idempotencyKey),
        readAnswer: () => ({ path, file }),
      } as const;
      const written = await ctx.step(writeStep, options, async ({ idempotencyKey }) => {
        await files.write(planned, idempotencyKey);
        return { path, file };
      });
      files.take(written);
      noteWritten(ctx, written);
      return `${path}: ${planned.before === null ? 'made' : 'written'}, ${file.sizeBytes} bytes`;
    },
  });
}

async function plan(ctx: NodeContext, files: OpenFiles, path: string, change: Change): Promise<PlannedWrite> {
  const found = await readIfThere(files, path);
  const text = change(found === undefined ? undefined : Buffer.from(found).toString('utf8'));
  const file = await ctx.files.put(Buffer.from(text), { name: basename(path), type: 'text/plain' });
  return { path, file, before: found === undefined ? null : createHash('sha256').update(found).digest('hex') };
}

async function readIfThere(files: OpenFiles, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(path);
  } catch (error) {
    if (['ENOENT', 'FILE_NOT_FOUND'].includes(String((error as { readonly code?: unknown }).code))) return undefined;
    throw error;
  }
}

/** The most paths returned at once. */
const pathsMax = 1_000;
const linesMax = 2_000;

const path = { type: 'string', minLength: 1, description: 'Relative, such as `src/main.ts`.' } as const;
const patterns = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  description: 'Which files: patterns such as `src/**/*.ts`. Default: all.',
} as const;

function input(properties: Readonly<Record<string, object>>, required: readonly string[]) {
  return { type: 'object', properties, required, additionalProperties: false } as const;
}

/** The tools for a store, by name. A read-only store gets no tools that write. */
export function fileTools(store: FileStore): Readonly<Record<string, AgentTool>> {
  return { ...readingTools(store), ...(!store.isReadOnly && writingTools(store)) };
}

function readingTools(store: FileStore): Readonly<Record<string, AgentTool>> {
  return {
    list_files: tool({
      description: 'Lists the paths of files. What .gitignore leaves out is left out.',
      input: input({ patterns }, []),
      effect: 'read',
      run: async (args, { node, signal }) => {
        const files = await openFiles(store, node);
        const found = await files.list((args as { patterns?: readonly string[] }).patterns ?? ['**'], signal);
        const more = found.length > pathsMax ? { more: found.length - pathsMax } : {};
        return { paths: found.slice(0, pathsMax), ...more };
      },
    }),
    search_files: tool({
      description: 'Finds lines by a regular expression. Gives `path:line: text`, a line each.',
      input: input({ pattern: { type: 'string', minLength: 1 }, patterns }, ['pattern']),
      effect: 'read',
      run: async (args, { node, signal }) => {
        const search = await import('./search-files.ts');
        return search.searchFiles(await openFiles(store, node), args as Parameters<typeof searchFiles>[1], signal);
      },
    }),
    read_file: tool({
      description: `Reads a file: its text, ${linesMax} lines at most.`,
      input: input({ path, line: { type: 'integer', minimum: 1, description: 'The first line. Default 1.' } }, [
        'path',
      ]),
      effect: 'read',
      showsImages: store.showsImages,
      run: async (args, { node }) => {
        const input = args as { readonly path: string; readonly line?: number };
        const bytes = Buffer.from(await (await openFiles(store, node)).read(input.path));
        const text = textOf(bytes);
        if (text !== undefined) return cutLines(text, input.line ?? 1);
        return node.files.put(bytes, { name: basename(input.path), type: mediaTypeOf(input.path) });
      },
    }),
  };
}

function writingTools(store: FileStore): Readonly<Record<string, AgentTool>> {
  return {
    write_file: writeTool(
      store,
      {
        description: 'Writes a text file whole, in place of what was there; missing folders are made.',
        input: input({ path, content: { type: 'string' } }, ['path', 'content']),
      },
      ({ content }) => Promise.resolve(() => content as string),
    ),
    edit_file: writeTool(
      store,
      {
        description: 'Replaces a text in a file. The old text must stand there once, unless all places are meant.',
        input: input(
          { path, old_text: { type: 'string', minLength: 1 }, new_text: { type: 'string' }, all: { type: 'boolean' } },
          ['path', 'old_text', 'new_text'],
        ),
      },
      async (args) => {
        const { editText } = await import('./edit-text.ts');
        return (before) => editText(before, args);
      },
    ),
  };
}

/** The bytes as text; undefined if they are not text. */
function textOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return decodeBytes(bytes, 'utf8');
  } catch {
    return undefined;
  }
}

function cutLines(text: string, first: number): string {
  const lines = text.split(/(?<=\n)/);
  const excerpt = lines.slice(first - 1, first - 1 + linesMax).join('');
  const remaining = lines.length - (first - 1) - linesMax;
  return remaining > 0 ? `${excerpt}[… ${remaining} more lines, from line ${first + linesMax} on …]\n` : excerpt;
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
};

function mediaTypeOf(name: string): string {
  return mediaTypes[extname(name).toLowerCase()] ?? 'application/octet-stream';
}
