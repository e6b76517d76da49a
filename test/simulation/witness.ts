/** Stands at the store and sees what it accepts from whom: one owner at a time, one checkpoint a seq, and how much is stored (P3, P4). */
import type { Admission, Claim, Commit, Store } from '../../src/ports/store.ts';

export interface Stored {
  bytes: number;
  checkpoints: number;
  waits: number;
}

interface Accepted {
  /** How the run ended, once it has. */
  ended?: string;
  token: number;
  seq: number;
  readonly checksums: Map<number, string>;
  readonly stored: Stored;
}

export interface StoreWitness {
  readonly store: Store;
  /** What must never happen and did, one sentence each. */
  readonly faults: readonly string[];
  /** Bytes of checkpoints and snapshots accepted of a run, how many checkpoints there were, and how many waits they opened. */
  readonly storedOf: (runId: string) => Stored;
}

/** Wraps the store behind all faults: what is accepted here is what happened. */
export function createWitness(store: Store): StoreWitness {
  const faults: string[] = [];
  const runs = new Map<string, Accepted>();
  const storedOf = (runId: string): Stored => acceptedOf(runId, 0).stored;
  const acceptedOf = (runId: string, token: number): Accepted => {
    const known = runs.get(runId) ?? {
      token,
      seq: 0,
      checksums: new Map<number, string>(),
      stored: { bytes: 0, checkpoints: 0, waits: 0 },
    };
    runs.set(runId, known);
    return known;
  };
  const claimed = ({ runId, token, workerId }: Claim): void => {
    const known = acceptedOf(runId, 0);
    if (token <= known.token) faults.push(`${workerId} was given token ${token} of run ${runId} after ${known.token}`);
  };
  const admitted = ({ runId, checkpoint }: Admission): void => {
    const known = acceptedOf(runId, 0);
    // A fork goes on counting where its parent is forked.
    known.seq = checkpoint.seq;
    known.stored.bytes += checkpoint.body.byteLength;
  };
  const committed = ({ claim, checkpoint, status, openWaits }: Commit): void => {
    const { runId, token, workerId } = claim;
    const known = acceptedOf(runId, token);
    const checksum = Buffer.from(checkpoint.checksum).toString('hex');
    // Sent again because its acknowledgement was lost: it had landed.
    if (known.checksums.get(checkpoint.seq) === checksum) return;
    if (token < known.token)
      faults.push(`${workerId} wrote seq ${checkpoint.seq} of run ${runId} with token ${token} after ${known.token}`);
    if (checkpoint.seq !== known.seq + 1)
      faults.push(`${workerId} wrote seq ${checkpoint.seq} of run ${runId} after ${known.seq}`);
    // A failed run may still be cancelled, by whoever asked for that before it failed (E7); first, what follows a cancel goes on.
    if (known.ended === 'failed' && status === 'cancelling') delete known.ended;
    if (known.ended !== undefined && !(known.ended === 'failed' && status === 'cancelled'))
      faults.push(`${workerId} wrote seq ${checkpoint.seq} of run ${runId}, which was ${known.ended}`);
    if (status === 'completed' || status === 'failed' || status === 'cancelled') known.ended = status;
    known.token = token;
    known.seq = checkpoint.seq;
    known.checksums.set(checkpoint.seq, checksum);
    known.stored.bytes += checkpoint.body.byteLength;
    known.stored.checkpoints += 1;
    known.stored.waits += openWaits?.length ?? 0;
  };
  return {
    faults,
    storedOf,
    store: {
      ...store,
      claimRun: async (request) => {
        const reply = await store.claimRun(request);
        if (reply.claim !== undefined) claimed(reply.claim);
        return reply;
      },
      admitRun: async (admission) => {
        const reply = await store.admitRun(admission);
        if (reply.created) admitted(admission);
        return reply;
      },
      commit: async (commit) => {
        const reply = await store.commit(commit);
        committed(commit);
        return reply;
      },
      writeSnapshot: async (key, snapshot) => {
        await store.writeSnapshot(key, snapshot);
        storedOf(key.runId).bytes += snapshot.body.byteLength;
      },
    },
  };
}
