/** Tools with which a model lists, searches, reads, writes and edits files. */
import { basename, extname } from 'node:path';
import { decodeBytes } from '../../nodes/blocks/files/text-encoding.ts';
import type { FileStore } from '../../ports/file-store.ts';
import { tool, type AgentTool } from '../tools/agent-tool.ts';
import { openFiles } from './open-files.ts';
import type { searchFiles } from './search-files.ts';
import { writeTool } from './write-tool.ts';

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
        const given = args as { readonly path: string; readonly line?: number };
        const bytes = Buffer.from(await (await openFiles(store, node)).read(given.path));
        const text = textOf(bytes);
        if (text !== undefined) return cutLines(text, given.line ?? 1);
        return node.files.put(bytes, { name: basename(given.path), type: mediaTypeOf(given.path) });
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
  const shown = lines.slice(first - 1, first - 1 + linesMax).join('');
  const left = lines.length - (first - 1) - linesMax;
  return left > 0 ? `${shown}[… ${left} more lines, from line ${first + linesMax} on …]\n` : shown;
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
