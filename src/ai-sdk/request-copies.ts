/** The SDK puts each request together anew. What was in the one before is taken for the same object, so that only what is new is hashed. */
import type { SdkCallOptions, SdkModel } from './sdk-types.ts';
import { isCopyOf, plainCopy } from './plain-copy.ts';

/** A request as it is hashed: what is asked, and nothing of how. */
export interface PlainRequest {
  readonly settings: object;
  readonly messages: readonly object[];
}

/** Remembers the requests of one conversation. */
export class RequestCopies {
  #settings: object = {};
  #messages: readonly object[] = [];

  copyOf(
    { provider, modelId }: Pick<SdkModel, 'provider' | 'modelId'>,
    { prompt, abortSignal: _signal, headers: _headers, includeRawChunks: _raw, ...asked }: SdkCallOptions,
  ): PlainRequest {
    const settings = { provider, modelId, ...asked };
    if (!isCopyOf(this.#settings, settings)) this.#settings = plainCopy(settings) as object;
    const known = this.#messages;
    this.#messages = prompt.map((message, at) => {
      const before = known[at];
      return before !== undefined && isCopyOf(before, message) ? before : (plainCopy(message) as object);
    });
    return { settings: this.#settings, messages: this.#messages };
  }
}
