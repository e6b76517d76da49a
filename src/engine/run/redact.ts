/** Keys whose values are never written, whoever gives them: nodes, callers, people who answer. */
import type { Secrets } from '../../ports/secrets.ts';

/** Says of a key whether its value is redacted before anything is written. */
export function redactorOf({ secrets }: { readonly secrets: Secrets | undefined }): (key: string) => boolean {
  return secrets === undefined ? () => false : (key) => secrets.redacts(key);
}
