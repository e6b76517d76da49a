/** The largest images that providers take. A larger one would be refused after it was sent, in words that do not say which it was. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';

/** By the name of the provider; bytes of one image. Of others nothing is known. */
const knownLimits: Readonly<Record<string, number>> = {
  anthropic: 5 * 1024 * 1024,
  google: 20 * 1024 * 1024,
  openai: 50 * 1024 * 1024,
};

/** @param limitBytes - default: what is known of the provider @throws NodeFailure MODEL_REFUSED, `applied: 'no'`: names the image */
export function checkImages(
  messages: readonly ModelMessage[],
  provider: string,
  limitBytes: number = (Object.hasOwn(knownLimits, provider) ? knownLimits[provider] : undefined) ?? Infinity,
): void {
  for (const [index, { content }] of messages.entries()) {
    const parts =
      typeof content === 'string' ? [] : content.flatMap((part) => ('parts' in part ? (part.parts ?? []) : part));
    const images = parts.filter(({ type }) => type === 'image');
    for (const [number, part] of images.entries()) {
      if (part.type !== 'image' || !(part.data instanceof Uint8Array) || part.data.length <= limitBytes) continue;
      const name = part.name ?? `image ${number + 1} of message ${index + 1}`;
      throw new NodeFailure(
        `${name} has ${part.data.length} bytes; ${provider} takes images of ${limitBytes} at most`,
        {
          code: 'MODEL_REFUSED',
          applied: 'no',
          data: { name, sizeBytes: part.data.length, limitBytes },
        },
      );
    }
  }
}
