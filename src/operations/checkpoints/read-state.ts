/** `state`: the state of a run at a checkpoint, or a part of it. */
import { anything, objectOf, text, texts, whole } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import { resolveReference } from '../../history/read/references.ts';
import { viewState } from '../../history/read/state-view.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';
import { formatPath, parsePath } from '../declare/state-path.ts';

export interface ReadStateInput {
  readonly checkpoint: string;
  readonly path?: string;
}

export interface ReadStateOutput {
  readonly runId: string;
  readonly seq: number;
  /** Of the value, from the state on; empty: it is the whole state. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** A part of a value: a key of an object, a place in a list (from its end if negative). */
function partOf(value: unknown, key: string): { readonly value: unknown } | undefined {
  if (Array.isArray(value))
    return /^-?\d+$/.test(key) && Math.abs(Number(key)) <= value.length
      ? { value: value.at(Number(key)) as unknown }
      : undefined;
  if (value instanceof Map) return value.has(key) ? { value: value.get(key) as unknown } : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return { value: (value as Readonly<Record<string, unknown>>)[key] };
}

function pick(state: unknown, keys: readonly string[], reference: string): unknown {
  let value = state;
  for (const [index, key] of keys.entries()) {
    const part = partOf(value, key);
    if (part === undefined) {
      const parts = typeof value === 'object' && value !== null ? Object.keys(value).slice(0, 12).join(', ') : '';
      const place = index === 0 ? 'the state' : formatPath(keys.slice(0, index));
      throw new CairnError('USAGE_INVALID', {
        reason: `${reference} has no ${formatPath(keys.slice(0, index + 1))}`,
        hint: parts === '' ? `${place} has no parts.` : `${place} has: ${parts}.`,
      });
    }
    value = part.value;
  }
  return value;
}

export const readState: Operation<ReadStateInput, ReadStateOutput, HistoryContext> = {
  name: 'state',
  summary: 'show the state of a run at any checkpoint',
  input: {
    checkpoint: {
      type: 'text',
      description: 'the checkpoint: RUN for the newest, RUN@12, RUN@tag, RUN@head~2 or its id',
      isRequired: true,
      isPositional: true,
    },
    path: { type: 'text', description: 'only this part: scratch.plan.0.title', isPositional: true },
  },
  output: 'the value',
  outputSchema: objectOf({ runId: text, seq: whole, path: texts }, { value: anything }),
  isReadOnly: true,
  async run({ store, blobs, tenant }, { checkpoint, path }) {
    const { run, seq } = await resolveReference(store, tenant, checkpoint);
    const { root } = await loadState(store, blobs, run, seq);
    const { state: values, spent, saved } = viewState(root);
    const state = { ...values, ...(spent && { spent }), ...(saved && { saved }) };
    const keys = path === undefined ? [] : parsePath(path);
    return { runId: run.runId, seq, path: keys, value: pick(state, keys, checkpoint) };
  },
};
