/** How many tokens messages are, as far as that can be told without the provider: a quarter of their bytes. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';
import { encodeValue } from '../state/values/codec.ts';

const bytesPerToken = 4;
/** An image or a file is not read as text: providers count some hundreds to some thousands for one. */
const tokensPerFile = 1_600;

/** Each message is measured once: it is never changed. */
const known = new WeakMap<ModelMessage, number>();

export function tokensOf(message: ModelMessage): number {
  let tokens = known.get(message);
  if (tokens === undefined) known.set(message, (tokens = measure(message)));
  return tokens;
}

export function tokensOfAll(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

function measure({ content }: ModelMessage): number {
  if (typeof content === 'string') return tokensOfText(content);
  return content.reduce((sum, part) => {
    if (part.type === 'image' || part.type === 'file') return sum + tokensPerFile;
    return sum + tokensOfText('text' in part ? part.text : encodeValue(part));
  }, 0);
}

export function tokensOfText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
