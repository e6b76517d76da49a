/** Prompts with images and files (L3, L10). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, runToRest } from '../../test/engine-kit.ts';
import type { FileRef } from '../graph/file-ref.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { agent } from './agent.ts';

test('L3 images and files of the run’s input are references in the conversation, and bytes for the model', async () => {
  const models = createScriptedModels(['A stone.']);
  const bench = createBench({ models });
  const photo = await bench.engine.files.put(Buffer.from('pixels'), { name: 'photo.png', type: 'image/png' });
  const paper = await bench.engine.files.put(Buffer.from('pages'), { name: 'paper.pdf', type: 'application/pdf' });
  const own = agent({
    model: 'm',
    prompt: ({ state }) => {
      const { image, file } = state.input as { readonly image: FileRef; readonly file: FileRef };
      return [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image', data: image },
            { type: 'file', data: file, mediaType: 'application/pdf' },
          ],
        },
      ];
    },
  });
  const graph = graphOf('g', [{ id: 'a', ...own }], edges('> a', 'a >'));
  const { runId, state } = await runToRest(bench.engine, graph, { image: photo, file: paper });
  expect(state.outputs).toEqual({ a: 'A stone.' });
  const [asked] = models.requests[0]?.messages ?? [];
  expect(Array.isArray(asked?.content) ? asked.content.slice(1) : undefined).toEqual([
    { type: 'image', data: new Uint8Array(Buffer.from('pixels')), mediaType: 'image/png', name: 'photo.png' },
    { type: 'file', data: new Uint8Array(Buffer.from('pages')), mediaType: 'application/pdf', name: 'paper.pdf' },
  ]);
  const rows = await bench.store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
  expect(JSON.stringify(rows)).not.toContain(Buffer.from('pixels').toString('base64'));
});
