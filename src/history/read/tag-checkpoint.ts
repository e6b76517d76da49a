/** Names of checkpoints, as people give them; pruning keeps what has one. */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { ResolvedReference } from './references.ts';

/** A name that a checkpoint has. */
export interface Tag {
  readonly runId: string;
  readonly name: string;
  readonly seq: number;
}

/** Names that would be read as something else in `RUN@name`. */
const reserved = /^(?:head|\d+)$|[@~.]/;
const longestName = 200;

function faultOf(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name.length > longestName) return `it is longer than ${longestName} characters`;
  return reserved.test(name) ? 'it would be read as another checkpoint' : undefined;
}

/** Before anything is looked for. @throws ID_INVALID it would be read as another checkpoint */
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

/** Sets or moves a name that was checked. @throws CHECKPOINT_NOT_FOUND */
export async function tagCheckpoint(store: Store, { run, seq }: ResolvedReference, name: string): Promise<Tag> {
  await store.tagCheckpoint(run, { name, seq });
  return { runId: run.runId, name, seq };
}

/** Takes a name from the run, whichever of its checkpoints has it. @throws CHECKPOINT_NOT_FOUND none has */
export async function removeTag(store: Store, run: RunRow, name: string): Promise<Tag> {
  const tag = (await store.readTags(run)).find((each) => each.name === name);
  if (tag === undefined) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${run.runId}@${name}` });
  await store.removeTag(run, name);
  return { runId: run.runId, name, seq: tag.seq };
}
