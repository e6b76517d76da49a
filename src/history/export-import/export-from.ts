/** Exports a run from a store. To move a run, it is first closed there, under a claim (H4). */
import { CairnError } from '../../errors.ts';
import type { WritePlace } from '../access/place.ts';
import { takeClaim } from '../access/claim-run.ts';
import type { ResolvedReference } from '../read/references.ts';
import { exportFixture } from './export-fixture.ts';
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
  /** Masks what looks like a secret, in an export that can be imported: for tests. */
  readonly fixture?: boolean;
  /** Of a fixture: names of further keys whose values are masked. */
  readonly mask?: readonly string[];
}

/**
 * Yields the text of an export in pieces, and returns a report.
 * @throws USAGE_INVALID both `move` and `masked`; CLAIM_TAKEN to move a run that another worker has; and the errors of {@link exportRun}
 */
export async function* exportFrom(
  place: WritePlace,
  { run, seq }: ResolvedReference,
  { move = false, masked = false, fixture = false, mask = [] }: ExportAs = {},
): AsyncGenerator<string, ExportReport> {
  const { store, blobs, now } = place;
  const { runId } = run;
  if (move && (masked || fixture))
    throw new CairnError('USAGE_INVALID', {
      reason: 'a run that is moved is not masked',
      hint: 'What is masked cannot be imported: export it without masked to move it.',
    });
  if (fixture) {
    yield* exportFixture(store, blobs, run, { upTo: seq, mask });
    return { runId, seq, isMoved: false, isMasked: true };
  }
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
