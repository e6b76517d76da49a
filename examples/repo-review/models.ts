/** Who answers as the reviewer: the cassette, or a model of a provider that REVIEW_MODEL names. */
import { join } from 'node:path';
import { createAiSdkModels, createCassetteModels, type Models } from '../../src/models/index.ts';

export const cassette: string = join(import.meta.dirname, 'cassette.jsonl');

/** @param model - `provider:model`; its package, `ai` and the provider's key are needed then */
export function liveModels(model: string): Models {
  return createAiSdkModels({ profiles: { reviewer: { model } } });
}

export function chooseModels(model: string | undefined): Models {
  return model === undefined ? createCassetteModels({ path: cassette }) : liveModels(model);
}
