/** Checks ids and names from outside: text that is not empty, not too long, and well-formed. */
import { CairnError } from '../../errors.ts';

const encoder = new TextEncoder();

/** Whether a text has more bytes. A UTF-16 unit takes three at most, so that most texts need not be encoded to know. */
function isLonger(text: string, limitBytes: number): boolean {
  return text.length * 3 > limitBytes && encoder.encode(text).byteLength > limitBytes;
}

/** @throws ID_INVALID */
export function checkId(kind: string, id: string, limitBytes: number): void {
  const fault =
    typeof id !== 'string'
      ? 'it is no text'
      : id === ''
        ? 'it is empty'
        : isLonger(id, limitBytes)
          ? `it is longer than ${limitBytes} bytes`
          : id.isWellFormed()
            ? undefined
            : 'it is not well-formed Unicode';
  if (fault !== undefined)
    throw new CairnError('ID_INVALID', {
      kind,
      id: typeof id === 'string' && id.length > 60 ? `${id.slice(0, 60)}…` : id,
      reason: fault,
    });
}
