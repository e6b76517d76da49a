/** `Idempotency-Key`: a start or a signal that is sent again under its key is the one that was sent first, as long as its run is kept. */
import { createHash } from 'node:crypto';
import { CairnError } from '../errors.ts';
import { HttpRefused } from './problem.ts';

/** The field that a key stands for, by the name of the operation. Answers need none: a question takes one. */
const keyedFields: Readonly<Record<string, string>> = {
  start_run: 'runId',
  send_signal: 'id',
  signal_with_start: 'id',
};

/** Whether an operation takes a key. */
export const takesKey = (operation: string): boolean => Object.hasOwn(keyedFields, operation);

/** What is said of the header in the document of the routes. */
export const keyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'the request that is sent again under this key has no effect; another request under it is refused with 409. It stands for the id, which is not given then',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

/** The field and the id that the key of a request stands for; empty without one. @throws REQUEST_MALFORMED; USAGE_INVALID the id is given too */
export function keyedInput(
  { headers }: Request,
  operation: string,
  { tenant, principal }: { readonly tenant: string; readonly principal: string },
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const field = takesKey(operation) ? keyedFields[operation] : undefined;
  const header = headers.get('idempotency-key');
  if (field === undefined || header === null) return {};
  // The draft of the header has it in quotation marks, and most clients have not.
  const [, key = ''] = /^"?([\x21\x23-\x7e]{1,255})"?$/.exec(header.trim()) ?? [];
  if (key === '') throw new HttpRefused(400, 'an Idempotency-Key has 1 to 255 visible characters of ASCII');
  if (input[field] !== undefined)
    throw new CairnError('USAGE_INVALID', {
      reason: `${field} and the header Idempotency-Key were both given`,
      hint: 'Give one of them.',
    });
  // Whoever has another key, name or tenant cannot come upon it.
  const digest = createHash('sha256')
    .update(JSON.stringify([tenant, principal, key]))
    .digest('base64url');
  return { [field]: `key-${digest.slice(0, 32)}` };
}
