/** Estimates the number of tokens in messages without asking the provider: a quarter of their bytes. */
import type { ModelCall, ModelMessage } from '../graph/contracts/model-messages.ts';
import { encodeValue } from '../state/values/encode.ts';

const bytesPerToken = 4;
/** Tokens counted for an image or file. Providers do not read it as text, and count some hundreds to some thousands. */
const tokensPerFile = 1_600;

/** Cache of estimates. A message never changes, so each is measured once. */
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

export function tokensOfTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + tokensOfText(text), 0);
}

/** About how many tokens a call takes, the longest answer that it allows included. */
export function tokensOfCall({ messages, tools = [], tokensMax = 0 }: ModelCall): number {
  return tokensOfAll(messages) + tokensOfText(JSON.stringify(tools)) + tokensMax;
}
