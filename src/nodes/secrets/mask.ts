/** Failures of processes and servers without the secrets that they may quote. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';

/** The same failure, with nothing secret in what it says. */
export function maskFailure({ message, applied, retryAfterMs, code, data }: NodeFailure, mask: TextMask): NodeFailure {
  return new NodeFailure(mask.text(message), {
    applied,
    code,
    data: mask.all(data),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
