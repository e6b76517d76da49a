/** Exports a run from a place; to move it, it is closed there as its owner (H4). */
import { CairnError } from '../../errors.ts';
import type { WritePlace } from '../place/place.ts';
import { takeClaim } from '../place/with-claim.ts';
import type { ResolvedReference } from '../read/references.ts';
import { exportMasked } from './export-masked.ts';
import { exportRun } from './export.ts';

/** What was exported. */
export interface ExportReport {
  readonly runId: string;
  /** The last checkpoint exported. */
  readonly seq: number;
  readonly isMoved: boolean;
  /** False: values stand there as they are stored, whatever they are called. */
  readonly isMasked: boolean;
}

/** How a run is exported. */
export interface ExportAs {
  /** Closes the run here, so that it goes on only where it is imported: all of it is exported then. */
  readonly move?: boolean;
  /** To be read only: values under names of secrets are masked, and it cannot be imported. */
  readonly masked?: boolean;
}

/**
 * The lines of an export, in pieces, and at its end the report.
 * @throws USAGE_INVALID it is to be moved and masked; CLAIM_TAKEN to move a run that somebody works on; as {@link exportRun}
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
