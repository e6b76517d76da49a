/** Adapts models that implement an earlier version of the SDK's interface to the current one. */
import type { LanguageModel, wrapLanguageModel } from 'ai';
import { importPeer } from '../models/ai-sdk-providers.ts';
import type { SdkModel } from './sdk-types.ts';

interface AiSdk {
  readonly wrapLanguageModel: typeof wrapLanguageModel;
}

/** Returns the model in the current version. Older ones are converted by the SDK itself at the first call. */
export function currentModel(given: Exclude<LanguageModel, string>): SdkModel {
  if (given.specificationVersion === 'v4') return given;
  let translated: Promise<SdkModel> | undefined;
  const current = (): Promise<SdkModel> => (translated ??= translate(given));
  const { provider, modelId } = given;
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    get supportedUrls() {
      return given.supportedUrls;
    },
    doGenerate: async (options) => (await current()).doGenerate(options),
    doStream: async (options) => (await current()).doStream(options),
  };
}

async function translate(model: Parameters<typeof wrapLanguageModel>[0]['model']): Promise<SdkModel> {
  const sdk = (await importPeer('ai')) as AiSdk;
  return sdk.wrapLanguageModel({ model, middleware: [] });
}
