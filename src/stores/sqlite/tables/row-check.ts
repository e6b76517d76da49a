/**
 * The check value of a run's row: a CRC-32 of the columns that nothing of the run itself changes. It tells flipped bits, which no checksum of a history would:
 * ids, what a run is queued for, its parent, and its meta, from which its graph is found and its idempotency keys are made.
 *
 * It is computed here and not by Node, whose modules for it take longer to load than listing runs does.
 */

// Reads byte columns. One bit of a file says whether a value is bytes, a text or a number, so a damaged file may give any of them.

/** A column as bytes. What a damaged file has instead becomes bytes that fit no checksum, and is then reported like any other damage. */
export function bytesOf(column: Uint8Array): Uint8Array {
  return column instanceof Uint8Array ? column : Buffer.from(String(column));
}

/** The columns, as they are stored. */
export interface CheckedColumns {
  readonly no: number;
  readonly tenant: Uint8Array;
  readonly run_id: Uint8Array;
  readonly key: Uint8Array;
  readonly graph_id: Uint8Array;
  readonly created_at: number;
  readonly parent_run: Uint8Array | null;
  readonly parent_seq: number | null;
  readonly priority: number;
  readonly due: number;
  readonly queue: Uint8Array;
  readonly queue_key: Uint8Array | null;
  readonly meta: Uint8Array;
}

const polynomial = 0xedb88320;

/** What each byte does to the remainder. Filled on first use. */
let table: Int32Array | undefined;

function fillTable(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit += 1)
      remainder = (remainder & 1) === 1 ? (remainder >>> 1) ^ polynomial : remainder >>> 1;
    return remainder;
  });
}

export function checkOf(row: CheckedColumns): number {
  const { no, created_at, parent_seq, priority, due } = row;
  const parts = [
    row.tenant,
    row.run_id,
    row.key,
    row.graph_id,
    row.parent_run,
    row.queue,
    row.queue_key,
    bytesOf(row.meta),
  ];
  const sizes = parts.map((part) => part?.length ?? null);
  const numbers = Buffer.from(JSON.stringify([no, created_at, parent_seq, priority, due, ...sizes]));
  let remainder = withBytes(-1, numbers);
  for (const part of parts) if (part !== null) remainder = withBytes(remainder, part);
  return ~remainder >>> 0;
}

/** The remainder after further bytes. Counting through them takes a tenth of what iterating takes. */
function withBytes(remainder: number, bytes: Uint8Array): number {
  const effects = (table ??= fillTable());
  let after = remainder;
  for (let index = 0; index < bytes.length; index += 1)
    after = (effects[(after ^ (bytes[index] as number)) & 0xff] as number) ^ (after >>> 8);
  return after;
}
