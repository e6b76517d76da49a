/** The block EditFile: changes parts of a text file. */
import { basename } from 'node:path';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import type { NodeType, TypedNodeContext } from '../../../graph/contracts/node-type.ts';
import { beforeEffect } from '../../draft/before-effect.ts';
import { changeInTurn, lookAtTarget, writeLocalFile, pathNeeds, resolveLocalPath } from '../../file/local-path.ts';
import { type IsGranted, readRegularFile } from '../../file/files.ts';
import { applyOperation, EditFault, readOperations } from './edits.ts';
import {
  fieldsOf,
  flagOption,
  inputFault,
  optionFaults,
  outputField,
  requireText,
  textField,
} from '../block-options.ts';
import { countChangedLines, writeUnifiedDiff } from './text-diff.ts';
import { decodeBytes, encodeText, encodingOption, fileLimitBytes, type Encoding } from './read-file.ts';

const createIfMissing = flagOption('create_if_missing', 'Begin with an empty text; false fails with ENOENT.', false);
const backup = flagOption('backup', 'Keep the text as it was in FILE.bak.', true);
const dryRun = flagOption('dry_run', 'Only tell what would change.', false);
const atomic = flagOption('atomic', 'All operations or none; false writes those that fit and then fails.', true);
const options = [createIfMissing, backup, dryRun, atomic, encodingOption];

/** The `EditFile` of docs/spec/blocks.md. */
export const editFile: NodeType = {
  name: 'EditFile',
  description: 'Changes parts of a text file.',
  inputs: {
    path: textField('The file; `~/` is the home folder.', { isRequired: true }),
    operations: {
      schema: { type: ['array', 'string'] },
      description:
        'A list, or its JSON, of { type: replace_text, replace_lines, insert_lines, delete_lines, patch or regex_replace, … }.',
      isRequired: true,
    },
    ...fieldsOf(options),
  },
  outputs: {
    operations_applied: outputField('integer', 'Operations that changed the text.'),
    lines_added: outputField('integer', 'Lines that are new.'),
    lines_removed: outputField('integer', 'Lines that are gone.'),
    lines_modified: outputField('integer', 'Lines that took the place of others.'),
    diff: outputField('string', 'A unified diff; empty if nothing changed.'),
    backup_path: outputField(['string', 'null'], 'Where the text is kept as it was.'),
    success: outputField('boolean', 'Whether every operation could be applied.'),
    errors: outputField('array', 'Why some could not.'),
  },
  effect: ({ dry_run: isDry }) => (isDry === true || isDry === 'true' ? 'read' : 'write'),
  needs: ({ path }) => (typeof path === 'string' ? [path, `${path}.bak`] : [path]).flatMap((each) => pathNeeds(each)),
  check: (inputs) => [
    ...optionFaults(options, inputs),
    ...(inputs['operations'] === undefined ? [] : inputFault('operations', () => readOperations(inputs['operations']))),
  ],
  run,
};

async function run(ctx: TypedNodeContext): Promise<unknown> {
  const { inputs, signal } = ctx;
  const plan = await beforeEffect(() => {
    for (const option of options) option.read(inputs);
    const path = resolveLocalPath(requireText(inputs, 'path'));
    return { path, operations: readOperations(inputs['operations']), encoding: encodingOption.read(inputs) };
  });
  return changeInTurn(plan.path, async () => {
    signal.throwIfAborted();
    const target = await lookAtTarget(plan.path);
    const isNew = target === undefined && createIfMissing.read(inputs);
    const before = isNew ? '' : await readText(plan, ctx.isGranted);
    const edited = edit(before, plan.operations);
    if (edited.errors.length > 0 && atomic.read(inputs)) {
      const untouched = { ...edited, text: before, applied: 0 };
      throw fail(untouched, describe(plan.path, before, untouched, null), 'no');
    }
    const isWritten = !dryRun.read(inputs) && (isNew || edited.text !== before);
    const backupPath = isWritten && !isNew && backup.read(inputs) ? `${plan.path}.bak` : null;
    if (isWritten) await write(ctx, plan, { before, after: edited.text, backupPath, mode: target?.mode });
    const output = describe(plan.path, before, edited, backupPath);
    if (edited.errors.length > 0) throw fail(edited, output, isWritten ? 'unknown' : 'no');
    return output;
  });
}

interface Plan {
  readonly path: string;
  readonly encoding: Encoding;
}

async function readText({ path, encoding }: Plan, isGranted: IsGranted): Promise<string> {
  return decodeBytes(await readRegularFile(path, { limitBytes: fileLimitBytes, isGranted }), encoding);
}

interface Edited {
  readonly text: string;
  readonly applied: number;
  readonly errors: readonly string[];
}

/** Applies the operations in order; each sees the text after the earlier ones. */
function edit(before: string, operations: ReturnType<typeof readOperations>): Edited {
  const errors: string[] = [];
  let text = before;
  let applied = 0;
  for (const [index, operation] of operations.entries()) {
    try {
      const next = applyOperation(text, operation);
      if (next !== text) applied += 1;
      text = next;
    } catch (error) {
      if (!(error instanceof EditFault)) throw error;
      errors.push(`operations[${index}]: ${error.message}`);
    }
  }
  return { text, applied, errors };
}

interface Change {
  readonly before: string;
  readonly after: string;
  readonly backupPath: string | null;
  /** File mode of the file; its backup gets the same. */
  readonly mode: number | undefined;
}

async function write(ctx: TypedNodeContext, { path, encoding }: Plan, change: Change): Promise<void> {
  const { before, after, backupPath, mode } = change;
  const { idempotencyKey: key, isGranted } = ctx;
  const bytes = encodeText(after, encoding);
  if (backupPath !== null) {
    await lookAtTarget(backupPath);
    await writeLocalFile({
      path: backupPath,
      bytes: encodeText(before, encoding),
      mode,
      key,
      createParents: false,
      isGranted,
    });
  }
  await writeLocalFile({ path, bytes, key, createParents: true, isGranted });
}

function describe(path: string, before: string, { text, applied, errors }: Edited, backupPath: string | null): object {
  const lines = countChangedLines(before, text);
  return {
    operations_applied: applied,
    lines_added: lines.added,
    lines_removed: lines.removed,
    lines_modified: lines.modified,
    diff: writeUnifiedDiff(basename(path), before, text),
    backup_path: backupPath,
    success: errors.length === 0,
    errors,
  };
}

function fail({ errors }: Edited, data: object, applied: 'no' | 'unknown'): NodeFailure {
  return new NodeFailure(errors.join('; '), { code: 'EDIT_FAILED', applied, data });
}
