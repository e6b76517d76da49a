/** Speech and images as steps of a node: each is paid for once, and known by its request (X4, X6). Bytes become files of the run. */
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { ImageCall, TranscribeCall, TranscribeResponse } from '../../graph/contracts/model-messages.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { checkModel } from '../check-options.ts';
import { buy, type VectorStepOptions } from './vector-steps.ts';

/** What is heard of a recording. */
export type Transcript = Pick<TranscribeResponse, 'text' | 'segments' | 'language' | 'seconds'>;

/**
 * Turns speech into text, in one recorded step: after a crash, and in a fork, it is not bought again.
 * @param call.audio - a file of the run (`ctx.files.put`)
 * @throws NodeFailure as `ctx.models.transcribe`; CONFIG_INVALID
 */
export async function transcribeAudio(
  ctx: NodeContext,
  call: Omit<TranscribeCall, 'audio'> & { readonly audio: FileRef },
  options: VectorStepOptions = {},
): Promise<Transcript> {
  refuseUnknownKeys('transcribeAudio', call, ['model', 'audio', 'provider']);
  refuseUnknownKeys('transcribeAudio', options, ['retry', 'timeoutMs']);
  checkModel('transcribeAudio', call.model);
  if (!(call.audio instanceof FileRef))
    throw new NodeFailure('transcribeAudio: audio is no file of the run', { code: 'ARGUMENT_INVALID', applied: 'no' });
  return buy(ctx, 'transcribe', call, [], options, async ({ idempotencyKey, signal }) => {
    const audio = await ctx.files.get(call.audio);
    const { text, segments, language, seconds, usage } = await ctx.models.transcribe(
      { ...call, audio },
      { idempotencyKey, signal },
    );
    const more = { ...(language !== undefined && { language }), ...(seconds !== undefined && { seconds }) };
    return { usage, value: { text, segments, ...more } };
  });
}

/**
 * Makes images by a description, in one recorded step.
 * @returns files of the run
 * @throws NodeFailure as `ctx.models.generateImages`; CONFIG_INVALID
 */
export async function generateImages(
  ctx: NodeContext,
  call: ImageCall,
  options: VectorStepOptions = {},
): Promise<readonly FileRef[]> {
  refuseUnknownKeys('generateImages', call, ['model', 'prompt', 'count', 'size', 'provider']);
  refuseUnknownKeys('generateImages', options, ['retry', 'timeoutMs']);
  checkModel('generateImages', call.model);
  return buy(ctx, 'image', call, [call.prompt], options, async ({ idempotencyKey, signal }) => {
    const { images, usage } = await ctx.models.generateImages(call, { idempotencyKey, signal });
    const value = await Promise.all(
      images.map(({ data, mediaType }, index) =>
        ctx.files.put(data, { name: `image-${index + 1}.${mediaType.split('/')[1] ?? 'bin'}`, type: mediaType }),
      ),
    );
    return { usage, value };
  });
}
