/** Size limits of images. A provider would refuse a larger image only after it was sent, and without saying which image it was. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';

/** Known limits in bytes for one image, by provider. */
const knownLimits: Readonly<Record<string, number>> = {
  anthropic: 5 * 1024 * 1024,
  google: 20 * 1024 * 1024,
  openai: 50 * 1024 * 1024,
};

/**
 * Checks the images of a request.
 * @param limitBytes - default: the known limit of the provider
 * @throws NodeFailure MODEL_REFUSED, `applied: 'no'`: names the image
 */
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
