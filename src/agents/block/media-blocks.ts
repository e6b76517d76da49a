/** The blocks `Transcribe` and `ImageGen`: speech as text, and images by a description. Bytes are files of the run. */
import { basename } from 'node:path';
import type { Inputs, NodeType, TypedNodeContext } from '../../graph/contracts/node-type.ts';
import { FileRef } from '../../graph/file-ref.ts';
import {
  fieldsOf,
  numberOption,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  requireText,
  textField,
} from '../../nodes/blocks/block-options.ts';
import { readRegularFile } from '../../nodes/file/files.ts';
import { pathNeeds, resolveLocalPath } from '../../nodes/file/local-path.ts';
import { generateImages, transcribeAudio } from '../model/media-steps.ts';
import { modelField, modelNeed } from './model-field.ts';

/** Of both: their calls are steps, which are bought once. */
const bought = { effect: 'pure', isComposed: true } as const;
const audioBytesMax = 100 * 1024 * 1024;

export const transcribeBlock: NodeType = {
  name: 'Transcribe',
  description: 'Turns speech into text.',
  inputs: {
    file: {
      schema: {},
      description: 'A path, or a file of the run that an input or another block gives.',
      isRequired: true,
    },
    model: modelField,
  },
  outputs: {
    text: outputField('string', 'What is said.'),
    segments: {
      schema: { type: 'array', items: { type: 'object' } },
      description: 'Its pieces, `{ text, from, to }` in seconds, as far as the model tells.',
    },
    language: outputField(['string', 'null'], 'As a code, such as `en`; null where the model does not tell.'),
    seconds: outputField(['number', 'null'], 'How long it is.'),
  },
  ...bought,
  needs: (inputs, pending = []) => [
    modelNeed(inputs, pending),
    // What is computed may be a file of the run, which is no path; before the attempt it is known.
    ...(typeof inputs['file'] === 'string' ? pathNeeds(inputs['file']) : []),
  ],
  check: ({ file }) =>
    file === undefined || typeof file === 'string' || file instanceof FileRef
      ? []
      : [{ input: 'file', message: 'file is neither a path nor a file', fix: 'give a path, or a file of the run' }],
  run: async (ctx) => {
    const audio = await fileOf(ctx, ctx.inputs);
    const {
      text,
      segments,
      language = null,
      seconds = null,
    } = await transcribeAudio(ctx, {
      model: requireText(ctx.inputs, 'model'),
      audio,
    });
    return { text, segments, language, seconds };
  },
};

/** The file of the run; one at a path is read once, in a step. */
async function fileOf(ctx: TypedNodeContext, { file }: Inputs): Promise<FileRef> {
  if (file instanceof FileRef) return file;
  if (typeof file !== 'string') throw refuseInput('file', 'is neither a path nor a file');
  return ctx.step('read', { effect: 'read', input: file }, async () => {
    const path = resolveLocalPath(file);
    const bytes = await readRegularFile(path, { limitBytes: audioBytesMax, isGranted: ctx.isGranted });
    return ctx.files.put(bytes, { name: basename(path) });
  });
}

const count = numberOption('count', 'How many.', { default: 1, min: 1, max: 10 });

export const imageGenBlock: NodeType = {
  name: 'ImageGen',
  description: 'Makes images by a description.',
  inputs: {
    prompt: textField('What they show.', { isRequired: true }),
    model: modelField,
    size: textField('Such as 1024x1024. Default: as the model makes them.'),
    ...fieldsOf([count]),
  },
  outputs: {
    images: { schema: { type: 'array' }, description: 'Files of the run, as other blocks and prompts take them.' },
    image: { schema: {}, description: 'The first of them.' },
  },
  ...bought,
  needs: (inputs, pending) => [modelNeed(inputs, pending)],
  check: (inputs) => [
    ...optionFaults([count], inputs),
    ...(inputs['size'] === undefined || /^\d+x\d+$/.test(readText(inputs, 'size') ?? '')
      ? []
      : [{ input: 'size', message: 'size is no size', fix: 'write it as 1024x1024' }]),
  ],
  run: async (ctx) => {
    const { inputs } = ctx;
    const size = readText(inputs, 'size');
    const images = await generateImages(ctx, {
      model: requireText(inputs, 'model'),
      prompt: requireText(inputs, 'prompt'),
      count: count.read(inputs),
      ...(size !== undefined && { size }),
    });
    return { images, image: images[0] };
  },
};
