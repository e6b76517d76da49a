/** A plain model of what a YAML workflow means, and random workflows to hold the dialect against it. */
import * as fc from 'fast-check';

export interface ModelBlock {
  readonly id: string;
  readonly dependsOn: readonly { readonly block: string; readonly isRequired: boolean }[];
  /** Read if the block could start: a constant, or whether an earlier block completed. */
  readonly condition: boolean | { readonly succeeded: string } | undefined;
  readonly continuesOnError: boolean;
  /** Which of its items fail and which are skipped; undefined: it has no for_each, and fails or not. */
  readonly items: readonly ('ok' | 'fails' | 'skipped')[] | undefined;
  readonly fails: boolean;
}

/** What becomes of a block. `partial`: it completed, and says that it failed, since items did. `unsettled`: it waits for one that failed the run. */
export type Fate = 'completed' | 'partial' | 'failed' | 'skipped' | 'unsettled';

/** What a block says of itself. */
export const statusOf = (fate: Fate): string => (fate === 'partial' ? 'failed' : fate);

const idOf = (index: number): string => `b${index}`;

/** Blocks that depend only on earlier ones. */
export const randomBlocks: fc.Arbitrary<readonly ModelBlock[]> = fc
  .integer({ min: 1, max: 8 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => randomBlock(index))));

function randomBlock(index: number): fc.Arbitrary<ModelBlock> {
  const earlier = Array.from({ length: index }, (_, other) => idOf(other));
  const dependency = fc.record({ block: fc.constantFrom(...earlier, 'none'), isRequired: fc.boolean() });
  return fc
    .record({
      id: fc.constant(idOf(index)),
      dependsOn: fc.uniqueArray(dependency, { selector: ({ block }) => block, maxLength: 3 }),
      chosen: fc.integer({ min: 0, max: 5 }),
      continuesOnError: fc.boolean(),
      items: fc.option(
        fc.array(fc.constantFrom('ok' as const, 'ok' as const, 'fails' as const, 'skipped' as const), { maxLength: 4 }),
        { nil: undefined, freq: 3 },
      ),
      fails: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
    })
    .map(({ chosen, dependsOn, ...block }) => {
      const real = dependsOn.filter(({ block: id }) => id !== 'none');
      const [first] = real;
      const condition =
        chosen === 0
          ? false
          : chosen === 1
            ? true
            : chosen === 2 && first !== undefined
              ? { succeeded: first.block }
              : undefined;
      return { ...block, dependsOn: real, condition: block.items === undefined ? condition : undefined };
    });
}

/** The workflow as a file; its outputs tell the status of every block. */
export function modelText(blocks: readonly ModelBlock[]): string {
  const lines = blocks.flatMap((block) => {
    const { id, dependsOn, condition, continuesOnError, items, fails } = block;
    const needs = dependsOn.map(({ block: on, isRequired }) => (isRequired ? on : `{ block: ${on}, required: false }`));
    const conditionText =
      typeof condition === 'object' ? `"\${blocks.${condition.succeeded}.succeeded}"` : String(condition);
    return [
      `  - id: ${id}`,
      '    type: Note',
      ...(needs.length > 0 ? [`    depends_on: [${needs.join(', ')}]`] : []),
      ...(condition === undefined ? [] : [`    condition: ${conditionText}`]),
      ...(continuesOnError ? ['    continue_on_error: true'] : []),
      ...(items === undefined
        ? [`    inputs: { fail: ${fails} }`]
        : [
            `    for_each: ${JSON.stringify(items)}`,
            '    condition: "each.value != \'skipped\'"',
            '    inputs: { fail: "${each.value == \'fails\'}" }',
          ]),
    ];
  });
  const outputs = blocks.map(({ id }) => `  ${id}: "\${blocks.${id}.status}"`);
  return ['name: random', 'blocks:', ...lines, 'outputs:', ...outputs, ''].join('\n');
}

/** What becomes of each block, and whether the run fails. */
export function modelFates(blocks: readonly ModelBlock[]): {
  readonly fates: ReadonlyMap<string, Fate>;
  readonly hasFailed: boolean;
} {
  const fates = new Map<string, Fate>();
  const fatal = new Set<string>();
  for (const block of blocks) {
    const sources = block.dependsOn.map(({ block: id, isRequired }) => ({ id, isRequired, fate: fates.get(id) }));
    if (sources.some(({ id, fate }) => fate === 'unsettled' || fatal.has(id))) fates.set(block.id, 'unsettled');
    else if (sources.some(({ isRequired, fate }) => isRequired && fate !== 'completed' && fate !== 'partial'))
      fates.set(block.id, 'skipped');
    else if (!conditionHolds(block, fates)) fates.set(block.id, 'skipped');
    else if (!blockFails(block)) fates.set(block.id, block.items?.includes('fails') === true ? 'partial' : 'completed');
    else {
      fates.set(block.id, 'failed');
      if (!(block.continuesOnError && block.items === undefined)) fatal.add(block.id);
    }
  }
  return { fates, hasFailed: fatal.size > 0 };
}

function conditionHolds({ condition }: ModelBlock, fates: ReadonlyMap<string, Fate>): boolean {
  if (typeof condition === 'object') return fates.get(condition.succeeded) === 'completed';
  return condition ?? true;
}

function blockFails({ items, fails, continuesOnError }: ModelBlock): boolean {
  return items === undefined ? fails : !continuesOnError && items.includes('fails');
}
