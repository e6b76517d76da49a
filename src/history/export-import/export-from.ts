/** Exports a run from a store. To move a run, it is first closed there, under a claim (H4). */
import { CairnError } from '../../errors.ts';
import { type WritePlace, takeClaim } from '../access/place.ts';
import type { ResolvedReference } from '../read/tag-checkpoint.ts';
import { exportMasked } from './export-masked.ts';
import { exportRun } from './export.ts';

/** Report of an export. */
export interface ExportReport {
  readonly runId: string;
  /** The last checkpoint exported. */
  readonly seq: number;
  readonly isMoved: boolean;
  /** Whether secrets were masked. If false, values were written as they are stored. */
  readonly isMasked: boolean;
}

/** Options of an export. */
export interface ExportAs {
  /** Closes the run here, so that it can go on only where it is imported. The whole run is exported then. */
  readonly move?: boolean;
  /** Masks values under the names of secrets. The result can be read but not imported. */
  readonly masked?: boolean;
}

/**
 * Yields the text of an export in pieces, and returns a report.
 * @throws USAGE_INVALID both `move` and `masked`; CLAIM_TAKEN to move a run that another worker has; and the errors of {@link exportRun}
 */
export async function* exportFrom(
  place: WritePlace,
  { run, seq }: ResolvedReference,
  { move = false, masked = false }: ExportAs = {},
): AsyncGenerator<string, ExportReport> {
  const { store, blobs, now } = place;
  const { runId } = run;
  if (move && masked)
    throw new CairnError('USAGE_INVALID', {
      reason: 'move and masked were both asked for',
      hint: 'What is masked cannot be imported: export it without masked to move it.',
    });
  if (!move) {
    yield* (masked ? exportMasked : exportRun)(store, blobs, run, { upTo: seq });
    return { runId, seq, isMoved: false, isMasked: masked };
  }
  const { claim, run: claimed } = await takeClaim(place, run);
  try {
    yield* exportRun(store, blobs, claimed, { close: { claim, at: now() } });
    return { runId, seq: claimed.head, isMoved: true, isMasked: false };
  } finally {
    await store.releaseClaim(claim);
  }
}
