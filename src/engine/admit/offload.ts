/** Large values go to the blob store, put before the commit that names them (C5). */
import type { RunKey } from '../../ports/store.ts';
import { BlobRef, encodeValue, fileHashesIn, type Admitted } from '../../state/values/codec.ts';
import type { AdmittedOutcome, AdmittedUpdates } from './admit-outcome.ts';
import type { EngineEnvironment, RunCore } from '../run/run-core.ts';

const encoder = new TextEncoder();

type Environment = Pick<EngineEnvironment, 'blobs' | 'limits'>;

/** What stands for a value where it is written: itself, or a reference if it is large. */
export async function storedForm(
  env: Environment,
  run: RunKey,
  value: unknown,
  json: string = encodeValue(value),
): Promise<unknown> {
  return json.length <= env.limits.inlineBytes ? value : putJson(env, run, json);
}

async function putJson({ blobs }: Environment, run: RunKey, json: string): Promise<BlobRef> {
  const bytes = encoder.encode(json);
  return new BlobRef(await blobs.put(run, bytes), bytes.byteLength, fileHashesIn(json));
}

/** Each value of an object in its stored form. */
export async function storedForms(
  env: Environment,
  run: RunKey,
  values: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const forms = Object.entries(values).map(async ([key, value]) => [key, await storedForm(env, run, value)] as const);
  return Object.fromEntries(await Promise.all(forms));
}

/** The like for a run that is advanced here. */
export async function offloadForm(core: RunCore, value: unknown): Promise<unknown> {
  const form = await storedForm(core.env, core.run, value);
  if (form !== value) core.draft.hasBlobs = true;
  return form;
}

/** Puts a large value into the blob store and returns it with the reference as its encoding. */
export async function offloadValue(core: RunCore, value: Admitted): Promise<Admitted> {
  if (value.json.length <= core.env.limits.inlineBytes) return value;
  core.draft.hasBlobs = true;
  return { value: value.value, json: (await putJson(core.env, core.run, value.json)).json, hasTags: true };
}

/** Whether some value of the outcome must go to the blob store before it can be committed. */
export function hasLargeValues(outcome: AdmittedOutcome, inlineBytes: number): boolean {
  if (outcome.output !== undefined && outcome.output.json.length > inlineBytes) return true;
  if (outcome.updates === undefined) return false;
  return Object.values(outcome.updates).some((updates) =>
    Object.values(updates).some((value) => value.json.length > inlineBytes),
  );
}

/** The same outcome with its large values in the blob store. */
export async function offloadOutcome(core: RunCore, outcome: AdmittedOutcome): Promise<AdmittedOutcome> {
  const updates: AdmittedUpdates = {};
  for (const [partition, given] of Object.entries(outcome.updates ?? {})) {
    const moved = await Promise.all(
      Object.entries(given).map(async ([key, value]) => [key, await offloadValue(core, value)] as const),
    );
    updates[partition] = Object.fromEntries(moved);
  }
  return {
    ...outcome,
    ...(outcome.output === undefined ? {} : { output: await offloadValue(core, outcome.output) }),
    ...(outcome.updates === undefined ? {} : { updates }),
  };
}
