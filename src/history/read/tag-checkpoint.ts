/** Tags: names that people give to checkpoints. Pruning keeps tagged checkpoints. */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { ResolvedReference } from './references.ts';
import { readUserTags } from './deleted-marks.ts';

/** A tag and the checkpoint that has it. */
export interface Tag {
  readonly runId: string;
  readonly name: string;
  readonly seq: number;
}

/** Names that would mean something else in `RUN@name`. */
const reserved = /^(?:head|\d+)$|[@~.]/;
const longestName = 200;

function faultOf(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name.length > longestName) return `it is longer than ${longestName} characters`;
  return reserved.test(name) ? 'it would be read as another checkpoint' : undefined;
}

/** Checks a name before anything is looked up. @throws ID_INVALID it would be read as another checkpoint */
export function checkTagName(name: string): void {
  const reason = faultOf(name);
  if (reason !== undefined)
    throw new CairnError('ID_INVALID', {
      kind: 'tag',
      id: name.slice(0, 60),
      reason,
      hint: 'Use a name without @, ~ and dots.',
    });
}

/** Sets or moves a tag whose name was checked. @throws CHECKPOINT_NOT_FOUND */
export async function tagCheckpoint(store: Store, { run, seq }: ResolvedReference, name: string): Promise<Tag> {
  await store.tagCheckpoint(run, { name, seq });
  return { runId: run.runId, name, seq };
}

/** Removes a tag from a run. @throws CHECKPOINT_NOT_FOUND the run has no such tag */
export async function removeTag(store: Store, run: RunRow, name: string): Promise<Tag> {
  const tag = (await readUserTags(store, run)).find((each) => each.name === name);
  if (tag === undefined) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${run.runId}@${name}` });
  await store.removeTag(run, name);
  return { runId: run.runId, name, seq: tag.seq };
}
