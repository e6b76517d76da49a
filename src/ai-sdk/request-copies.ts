/**
 * Copies of the SDK's requests. The SDK builds each request anew; parts equal to those of the request before keep their earlier copy, so
 * that only new parts are hashed.
 */
import type { SdkCallOptions, SdkModel } from './sdk-types.ts';
import { isCopyOf, plainCopy } from './plain-copy.ts';

/** The parts of a request that are hashed. */
export interface PlainRequest {
  readonly settings: object;
  readonly messages: readonly object[];
}

/** Keeps the copies of one conversation. */
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
