/** Data of zstd that unpacks to far more than it is: blocks of four bytes, each of which stands for 128 KiB of one byte. */
export function zstdBomb(sizeBytes: number): Buffer {
  const blockBytes = 128 * 1024;
  const count = Math.ceil(sizeBytes / blockBytes);
  const blocks = Buffer.alloc(count * 4);
  for (let index = 0; index < count; index += 1) {
    const isLast = index === count - 1 ? 1 : 0;
    // A block's header has 3 bytes: whether it is the last, its kind (1: one byte, repeated), its size.
    blocks.writeUIntLE(isLast | (1 << 1) | (blockBytes << 3), index * 4, 3);
    blocks.writeUInt8(0x20, index * 4 + 3);
  }
  // The mark, a header without a content size, and a window of 8 MiB.
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68]), blocks]);
}
