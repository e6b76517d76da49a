/** Reads the body of a request, up to a size. */
import { CairnError } from '../errors.ts';
import { HttpRefused } from './problem.ts';

/** The body as an object. @throws 413, 415; USAGE_INVALID it is no JSON object */
export async function readBody(request: Request, limit: number): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readBytes(request, limit);
  if (bytes.length === 0) return {};
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/json') throw new HttpRefused(415, 'send application/json');
  const invalid = (reason: string): CairnError => new CairnError('USAGE_INVALID', { reason, hint: 'Send an object.' });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalid('the body is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('the body is no JSON object');
  return value as Readonly<Record<string, unknown>>;
}

/** The body as it came. @throws 413, 400 */
export async function readBytes({ body, headers }: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = new HttpRefused(413, `the body is over the limit of ${limit} bytes`, { connection: 'close' });
  if (Number(headers.get('content-length') ?? 0) > limit) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > limit) throw tooLarge;
      chunks.push(chunk);
    }
  } catch (error) {
    // The client is gone in the middle of it: nothing of the server's is wrong.
    throw error === tooLarge ? error : new HttpRefused(400, 'the body was not sent to its end');
  }
  return Buffer.concat(chunks);
}

const formBytes = 100_000;

/** The answer in a form. @throws 413, 415, 400 */
export async function readFormValue(request: Request): Promise<string> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') throw new HttpRefused(415, 'send the form');
  const value = new URLSearchParams(new TextDecoder().decode(await readBytes(request, formBytes))).get('value');
  if (value === null) throw new HttpRefused(400, 'the form has no answer');
  return value;
}
