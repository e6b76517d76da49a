/** What calls under `durable` have cost. */
import { generateText, streamText } from 'ai';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../test/engine-kit.ts';
import { scriptedSdkModel } from '../../test/agents/scripted-sdk-model.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { durable } from './index.ts';

const models = ['m:n', scriptedSdkModel(['Hi.', 'Hi.'])];

test.each(models)('U2 a call of the model %s is counted once', async (given) => {
  for (const ask of [generateText, (...asked: Parameters<typeof streamText>) => streamText(...asked)]) {
    const scripted = createScriptedModels([{ text: 'Hi.', usage: { inputTokens: 10, outputTokens: 5 } }]);
    const a = node('a', 'pure', async (ctx) => {
      const d = durable(ctx, { name: 'd' });
      const { text } = await ask({ model: d.model(given), prompt: 'Go.', ...d.settings });
      return text;
    });
    const { engine } = createBench({ models: scripted });
    const { spent } = await runToRest(engine, graphOf('g', [a], edges('> a', 'a >')));
    expect(spent).toEqual({ inputTokens: 10, outputTokens: 5 });
  }
});
