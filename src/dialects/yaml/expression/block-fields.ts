/** A block as expressions see it: its status, its whole output, and each field of the output (T3). */
import { errorMap, FieldReader } from '../../../graph/expression/expression-meter.ts';
import type { BlockView } from './template.ts';

/** Fields that every block has, whatever happened to it. */
export const standingFields: readonly string[] = ['succeeded', 'failed', 'skipped', 'status', 'error'];

type Fields = Readonly<Record<string, unknown>>;

/** One iteration of a for_each block. */
interface Iteration extends Fields {
  readonly key: string;
  readonly status: BlockView['status'];
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** The field of the first owner that has it; null counts as a value. */
function ownField(key: string | number, ...owners: readonly (Fields | undefined)[]): unknown {
  const owner = owners.find((fields) => fields !== undefined && Object.hasOwn(fields, key));
  return owner?.[key];
}

/** Iterations as expressions see them, cached for each list. */
const seenIterations = new WeakMap<
  object,
  { readonly list: readonly FieldReader[]; readonly byKey: Map<unknown, FieldReader> }
>();

function iterationsOf(output: Fields): ReturnType<typeof seenIterations.get> {
  const raw = ownField('iterations', output);
  if (!Array.isArray(raw)) return undefined;
  const seen = seenIterations.get(raw);
  if (seen !== undefined) return seen;
  const list = (raw as readonly Iteration[]).map(iterationFields);
  const made = { list, byKey: new Map(list.map((item) => [item.get('key'), item])) };
  seenIterations.set(raw, made);
  return made;
}

/** The first failed item of a completed block whose failed items were tolerated. */
function failedItem(output: Fields | undefined): Iteration | undefined {
  const raw = output === undefined || output['count_failed'] === 0 ? undefined : ownField('iterations', output);
  return Array.isArray(raw) ? (raw as readonly Iteration[]).find(({ status }) => status === 'failed') : undefined;
}

function standingOf(status: BlockView['status'], error: unknown): Fields {
  return {
    succeeded: status === 'completed',
    failed: status === 'failed',
    skipped: status === 'skipped',
    status,
    error: error instanceof Error ? errorMap(error) : (error ?? null),
  };
}

const outcomes: Readonly<Record<BlockView['status'], string>> = {
  completed: 'success',
  failed: 'failure',
  skipped: 'n/a',
};

/** Fields of `metadata` that are not part of the output. */
export const metadataOfBlock: readonly string[] = [
  'succeeded',
  'failed',
  'skipped',
  'status',
  'outcome',
  'mode',
  'execution_time_ms',
];

/** The fields of `metadata`: the block's status, and numbers of its output (`count`, `exit_code`, `model`, …). */
function metadataReader(standing: Fields, output: Fields | undefined, mode: unknown): FieldReader {
  const status = standing['status'] as BlockView['status'];
  const own = { ...standing, outcome: outcomes[status], ...(mode === undefined ? {} : { mode }) };
  const inner = isFields(output?.['metadata']) ? output['metadata'] : undefined;
  return new FieldReader(
    (key) => ownField(key, inner, own, output),
    () => ({ ...own, ...inner }),
  );
}

/** The fields of `outputs`; for a block that ran a workflow, that workflow's outputs. */
function outputsReader(output: Fields): FieldReader {
  const inner = isFields(output['outputs']) ? output['outputs'] : undefined;
  return new FieldReader(
    (key) => {
      if (key === 'iterations') return iterationsOf(output)?.list ?? ownField(key, output);
      return ownField(key, inner, output);
    },
    () => inner ?? output,
  );
}

function readerOf(standing: Fields, output: Fields | undefined, whole: unknown, mode?: string): FieldReader {
  const read = (key: string | number): unknown => {
    if (Object.hasOwn(standing, key)) return standing[key];
    if (key === 'metadata') return metadataReader(standing, output, mode);
    if (output === undefined) return undefined;
    if (key === 'outputs') return outputsReader(output);
    const iterations = iterationsOf(output);
    if (key === 'iterations' && iterations !== undefined) return iterations.list;
    if (key === 'blocks' && iterations !== undefined)
      return new FieldReader(
        (item) => iterations.byKey.get(String(item)),
        () => output['iterations'],
      );
    const inner = isFields(output['outputs']) ? output['outputs'] : undefined;
    const field = ownField(key, output, inner);
    if (field !== undefined) return field;
    return typeof key === 'number' ? iterations?.list[key] : iterations?.byKey.get(key);
  };
  return new FieldReader(read, () => whole);
}

function iterationFields(iteration: Iteration): FieldReader {
  const output = isFields(iteration['outputs']) ? iteration['outputs'] : undefined;
  const standing = { ...standingOf(iteration.status, iteration['error']), key: iteration.key };
  return readerOf(standing, output, iteration);
}

/** The fields of a block that an expression may read. */
export function blockFields({ status, output, error, mode }: BlockView): FieldReader {
  const result = status === 'completed' ? output : undefined;
  const failed = failedItem(result);
  const standing = failed === undefined ? standingOf(status, error) : standingOf('failed', failed['error']);
  return readerOf(standing, result, result ?? null, mode);
}
