/** Whether a block starts, as far as this follows from how the blocks before it ended. */
import { parseCondition } from '../../yaml/expression/parse-condition.ts';
import type { BlockView, Names, Scope, Template } from '../../yaml/expression/template.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import type { Ended, LaidStep } from '../outline/lay-ways.ts';
import { failed, skipped, type BlockWork } from './block-reading.ts';

export interface Starting {
  /** The steps of all blocks, by id. */
  readonly works: ReadonlyMap<string, BlockWork>;
  readonly names: Names;
}

/** What a block reads of those before it, and what follows from their ends. */
export function startOf(
  block: BlockFile,
  { works, names }: Starting,
): Pick<LaidStep, 'reads' | 'condition' | 'isPassedOver' | 'starts'> {
  const condition = block.condition === undefined ? undefined : parseCondition(block.condition, names).template;
  const required = block.dependsOn.filter(({ isRequired }) => isRequired).map((dependency) => dependency.block);
  const viewsOf = (id: string, end: Ended): readonly BlockView[] =>
    end === undefined ? [skipped] : (works.get(id)?.ends.find(({ on }) => on === end)?.views ?? [failed]);
  const isKnown = condition !== undefined && readsWhatIsKnown(block.condition as string, condition, works);
  const known = isKnown ? condition : undefined;
  const isAsked = condition !== undefined && !isKnown;
  return {
    reads: [...new Set([...required, ...(known?.named.blocks ?? [])])],
    condition: block.condition ?? `that ${required.join(', ')} completed`,
    isPassedOver: block.continuesOnError,
    starts: (ended) => decide({ required, condition: known, isAsked }, (id) => viewsOf(id, ended(id))),
  };
}

const fieldsOfAll: readonly string[] = ['succeeded', 'failed', 'skipped', 'status'];

/** Whether a condition reads nothing but fields that follow from how a block ended. */
function readsWhatIsKnown(text: string, { named }: Template, works: Starting['works']): boolean {
  if (named.inputs.length > 0 || named.secrets.length > 0 || named.usesEach || /\bmetadata\b/.test(text)) return false;
  return named.blocks.every((id) => {
    const fields = [...(works.get(id)?.fields ?? []), ...fieldsOfAll];
    const mentions = [...text.matchAll(new RegExp(`\\b${id}\\b((?:\\s*\\.\\s*[A-Za-z_]\\w*)*)(\\s*[[(])?`, 'g'))];
    return mentions.every(([, path = '', bracket]) => {
      const field = path
        .replaceAll(/[\s]/g, '')
        .replace(/^\./, '')
        .replace(/^outputs\./, '');
      return bracket === undefined && fields.includes(field);
    });
  });
}

/** The most states that are tried. */
const statesMax = 100_000;

type Decision = 'yes' | 'no' | 'fail';

interface Deciding {
  /** Blocks that must have completed. */
  readonly required: readonly string[];
  /** What is asked then. */
  readonly condition: Template<boolean> | undefined;
  /** Whether there is a condition that only a run can tell. */
  readonly isAsked: boolean;
}

/** Whether a block starts, tried in every state that the ends of blocks can mean. */
function decide(
  { required, condition, isAsked }: Deciding,
  viewsOf: (id: string) => readonly BlockView[],
): Decision | 'ask' {
  const ids = [...new Set([...required, ...(condition?.named.blocks ?? [])])];
  const all = ids.map((id) => viewsOf(id));
  if (all.reduce((count, views) => count * views.length, 1) > statesMax) return 'ask';
  const found = new Set<Decision>();
  const evaluate = (chosen: ReadonlyMap<string, BlockView>): Decision => {
    if (required.some((id) => chosen.get(id)?.status !== 'completed')) return 'no';
    const scope: Scope = { inputs: {}, metadata: {}, each: undefined, block: (id) => chosen.get(id) ?? skipped };
    try {
      return condition?.evaluate(scope) === false ? 'no' : 'yes';
    } catch {
      return 'fail';
    }
  };
  const go = (place: number, chosen: ReadonlyMap<string, BlockView>): void => {
    const id = ids[place];
    if (id === undefined) found.add(evaluate(chosen));
    else for (const view of all[place] ?? []) if (found.size < 2) go(place + 1, new Map(chosen).set(id, view));
  };
  go(0, new Map());
  const [only, ...others] = found;
  if (only === undefined || others.length > 0 || (only === 'yes' && isAsked)) return 'ask';
  return only;
}
