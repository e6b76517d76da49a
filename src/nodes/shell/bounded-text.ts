/** Keeps the beginning and the end of a text that may be very long. */

export interface BoundedText {
  push(text: string): void;
  /** The whole text; or its beginning and end, with a line in between that says how much was omitted. */
  end(): { readonly text: string; readonly omittedBytes: number };
}

/** @param limitBytes - the most bytes, as UTF-8, without the line in between */
export function createBoundedText(limitBytes: number): BoundedText {
  const headBytes = Math.ceil(limitBytes / 2);
  const tailBytes = limitBytes - headBytes;
  const head: Buffer[] = [];
  let tail: Buffer[] = [];
  let headRoom = headBytes;
  let tailSize = 0;
  let omittedBytes = 0;

  const trimTail = (): void => {
    const all = Buffer.concat(tail);
    const cut = cutForward(all, all.length - tailBytes);
    omittedBytes += cut;
    tail = [all.subarray(cut)];
    tailSize = all.length - cut;
  };

  return {
    push(text) {
      const bytes = Buffer.from(text);
      const fitting = headRoom >= bytes.length ? bytes.length : cutBack(bytes, headRoom);
      if (fitting > 0) head.push(bytes.subarray(0, fitting));
      // Once a piece did not fit, the head is closed, or a later short piece would come before it.
      headRoom = fitting === bytes.length ? headRoom - fitting : 0;
      if (fitting === bytes.length) return;
      tail.push(bytes.subarray(fitting));
      tailSize += bytes.length - fitting;
      // Trimming only at twice the size keeps the total cost proportional to the input.
      if (tailSize > 2 * tailBytes + 65_536) trimTail();
    },
    end() {
      if (tailSize > tailBytes) trimTail();
      const middle = omittedBytes === 0 ? '' : `\n[${omittedBytes} bytes left out]\n`;
      return { text: Buffer.concat(head).toString() + middle + Buffer.concat(tail).toString(), omittedBytes };
    },
  };
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The largest cut at or before `index` that does not split a character. */
function cutBack(bytes: Buffer, index: number): number {
  let cut = index;
  while (cut > 0 && isContinuation(bytes[cut])) cut -= 1;
  return cut;
}

/** The smallest cut at or after `index` that does not split a character. */
function cutForward(bytes: Buffer, index: number): number {
  let cut = index;
  while (cut < bytes.length && isContinuation(bytes[cut])) cut += 1;
  return cut;
}
