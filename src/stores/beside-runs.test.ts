import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { joinPieces, readPieces } from './beside-runs.ts';

test('C5 of a part of a blob on a server, its pieces alone are read', async () => {
  const bytes = Uint8Array.from({ length: 1_005 }, (_, index) => index);
  const read: number[] = [];
  const blob = {
    hash: createHash('sha256').update(bytes).digest('hex'),
    sizeBytes: bytes.length,
    pieceBytes: 10,
    readPiece: async (no: number): Promise<Uint8Array> => {
      read.push(no);
      return bytes.slice(no * 10, no * 10 + 10);
    },
  };
  const cases = [
    [{ offset: 505, length: 10 }, [50, 51]],
    [{ offset: 510, length: 10 }, [51]],
    [{ offset: 1_001 }, [100]],
    [{ offset: 2_000 }, []],
    [{ length: 1 }, [0]],
  ] as const;
  for (const [range, expected] of cases) {
    read.length = 0;
    const { offset = 0, length = Infinity }: { offset?: number; length?: number } = range;
    expect(await joinPieces(readPieces(blob, range))).toEqual(bytes.slice(offset, offset + length));
    expect(read).toEqual(expected);
  }
});
