/** Tools that write files. The planned write is recorded first, so that a write in doubt can be checked by comparing it with the file. */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { NodeContext, StepContext } from '../../graph/contracts/node-contract.ts';
import type { OpenFiles, FileStore, PlannedWrite } from '../../ports/file-store.ts';
import { tool, type ComposedTool } from '../tools/agent-tool.ts';
import { openFiles } from './open-files.ts';
import { noteWritten, planStep, writeStep } from './written-files.ts';

/** Computes the new content from the current one, which is undefined if the file does not exist. */
type Change = (before: string | undefined) => string;

/** Makes a tool that changes one file, as its arguments say. */
export function writeTool(
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
      const given = args as Readonly<Record<string, unknown>> & { readonly path: string };
      const files = await openFiles(store, ctx);
      const planned = await ctx.step(planStep, { effect: 'read', input: args }, async () =>
        plan(ctx, files, given.path, await changeOf(given)),
      );
      const { path, file } = planned;
      const options = {
        effect: store.isShared ? 'write' : 'pure',
        input: args,
        reconcile: ({ idempotencyKey }: Pick<StepContext, 'idempotencyKey'>) =>
          files.reconcile(planned, idempotencyKey),
        said: () => ({ path, file }),
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
