/** Checks ids and names from outside: text that is not empty, not too long, and well-formed. */
import { CairnError } from '../../errors.ts';

const encoder = new TextEncoder();

/** @throws ID_INVALID */
export function checkId(kind: string, id: string, limitBytes: number): void {
  const fault =
    typeof id !== 'string'
      ? 'it is no text'
      : id === ''
        ? 'it is empty'
        : encoder.encode(id).byteLength > limitBytes
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
