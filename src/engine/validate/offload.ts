/** Moves large values to the blob store, before the commit that refers to them (C5). */
import type { Admitted } from '../../state/values/admit.ts';
import { BlobRef } from '../../state/values/value-codec.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { fileHashesIn } from '../../state/values/file-references.ts';
import type { RunCore, EngineEnvironment } from '../live-run/run-core.ts';
import type { RunKey } from '../../ports/store.ts';
import type { AdmittedOutcome, AdmittedUpdates } from './admit-outcome.ts';

const encoder = new TextEncoder();

type Environment = Pick<EngineEnvironment, 'blobs' | 'bounds'>;

/** The form in which a value is written: itself, or a reference to a blob if it is large. */
export async function storedForm(
  env: Environment,
  run: RunKey,
  value: unknown,
  json: string = encodeValue(value),
): Promise<unknown> {
  return json.length <= env.bounds.inlineBytes ? value : putJson(env, run, json);
}

async function putJson({ blobs }: Environment, run: RunKey, json: string): Promise<BlobRef> {
  const bytes = encoder.encode(json);
  return new BlobRef(await blobs.put(run, bytes), bytes.byteLength, fileHashesIn(json));
}

/** The stored form of each value in an object. */
export async function storedForms(
  env: Environment,
  run: RunKey,
  values: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const forms = Object.entries(values).map(async ([key, value]) => [key, await storedForm(env, run, value)] as const);
  return Object.fromEntries(await Promise.all(forms));
}

/** Like {@link storedForm}, for a run that is being advanced. */
export async function offloadForm(core: RunCore, value: unknown): Promise<unknown> {
  const form = await storedForm(core.env, core.run, value);
  if (form !== value) core.draft.hasBlobs = true;
  return form;
}

/** If a value is large, puts it into the blob store and returns it with the reference as its JSON text. */
export async function offloadValue(core: RunCore, value: Admitted): Promise<Admitted> {
  if (value.json.length <= core.env.bounds.inlineBytes) return value;
  core.draft.hasBlobs = true;
  return { value: value.value, json: (await putJson(core.env, core.run, value.json)).json, hasTags: true };
}

/** Whether a value of the outcome is so large that it must be in the blob store before the commit. */
export function hasLargeValues(outcome: AdmittedOutcome, inlineBytes: number): boolean {
  if (outcome.output !== undefined && outcome.output.json.length > inlineBytes) return true;
  if (outcome.updates === undefined) return false;
  return Object.values(outcome.updates).some((updates) =>
    Object.values(updates).some((value) => value.json.length > inlineBytes),
  );
}

/** The outcome with its large values in the blob store. */
export async function offloadOutcome(core: RunCore, outcome: AdmittedOutcome): Promise<AdmittedOutcome> {
  const updates: AdmittedUpdates = {};
  for (const [partition, values] of Object.entries(outcome.updates ?? {})) {
    const moved = await Promise.all(
      Object.entries(values).map(async ([key, value]) => [key, await offloadValue(core, value)] as const),
    );
    updates[partition] = Object.fromEntries(moved);
  }
  return {
    ...outcome,
    ...(outcome.output === undefined ? {} : { output: await offloadValue(core, outcome.output) }),
    ...(outcome.updates === undefined ? {} : { updates }),
  };
}
