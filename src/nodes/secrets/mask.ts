/** Masks secrets in failures of programs and servers, whose messages may quote them. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';

/** A copy of the failure with secrets masked. */
export function maskFailure({ message, applied, retryAfterMs, code, data }: NodeFailure, mask: TextMask): NodeFailure {
  return new NodeFailure(mask.text(message), {
    applied,
    code,
    data: mask.all(data),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
