/** Blocks that run a pipeline. A stage hands on inputs of the same names, and nothing else. */
import { dirname, relative } from 'node:path';
import { same } from '../../../schema/json-schema.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { completed, failed, lost, type BlockReading, type Done } from './block-reading.ts';
import { piecesOf } from './plain-text.ts';

export function readChild(block: BlockFile, reading: BlockReading): Done | undefined {
  const { workflow, inputs = {}, timeout, timeout_ms: ms } = block.inputs;
  const called = typeof workflow === 'string' ? reading.pipelineOf(block) : undefined;
  if (called === undefined) return undefined;
  const handed = called.taken.filter((name) => reading.known.inputs.includes(name));
  if (!areHanded(inputs, handed, reading)) return undefined;
  for (const [name, isGiven] of [
    ['timeout', timeout !== undefined || ms !== undefined || block.timeoutMs !== undefined],
    ['retry', block.retry !== undefined],
  ] as const)
    if (isGiven) lost(reading, 'SETTING', `${name} of ${block.id} has no counterpart`, 'take it out, or do without');
  return {
    work: { kind: 'child', name: called.name, file: fileFrom(reading.source, called.source), inputs: handed },
    ends: [
      { on: 'success', views: [completed({ success: true })], isFatal: false },
      { on: 'fail', views: [failed], isFatal: !block.continuesOnError },
    ],
    fields: ['success'],
  };
}

/** Whether a stage would hand on just what the block does. */
function areHanded(inputs: unknown, names: readonly string[], { known }: BlockReading): boolean {
  if (typeof inputs !== 'object' || inputs === null) return false;
  const given = Object.entries(inputs);
  return (
    given.length === names.length &&
    given.every(
      ([name, value]) =>
        names.includes(name) && typeof value === 'string' && same(piecesOf(value, known), [{ input: name }]),
    )
  );
}

function fileFrom(source: string, file: string): string {
  return relative(dirname(source), file).replaceAll('\\', '/');
}
