/** Images that a provider would refuse are refused by name, before anything is sent (L10). */
import { expect, test } from 'vitest';
import type { ModelMessage } from '../graph/contracts/model-messages.ts';
import { createAiSdkModels, type AiSdkOptions } from './ai-sdk.ts';

const image = (sizeBytes: number, name?: string) =>
  ({
    type: 'image',
    data: new Uint8Array(sizeBytes),
    mediaType: 'image/png',
    ...(name !== undefined && { name }),
  }) as const;

function ask(messages: readonly ModelMessage[], model = 'anthropic:m', options: AiSdkOptions = {}): Promise<unknown> {
  const signal = AbortSignal.timeout(10_000);
  const providers = { anthropic: { package: 'no-such-package' }, ...options.providers };
  return createAiSdkModels({ ...options, providers })
    .generate({ model, messages, idempotencyKey: 'k', signal })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}

const limit = 5 * 1024 * 1024;

test('L10 an image over the limit is refused with its name, its size and the limit, also in a result', async () => {
  const big = image(limit + 1, 'photo.png');
  const refusal = {
    code: 'MODEL_REFUSED',
    applied: 'no',
    message: `photo.png has ${limit + 1} bytes; anthropic takes images of ${limit} at most`,
  };
  expect(await ask([{ role: 'user', content: [image(1), big] }])).toMatchObject(refusal);
  const result = { type: 'tool-result', id: '1', tool: 't', parts: [{ type: 'text', text: 'it' }, big] } as const;
  expect(await ask([{ role: 'tool', content: [result] }])).toMatchObject(refusal);
  const profiles = { eyes: { model: 'anthropic:m' } };
  expect(await ask([{ role: 'user', content: [big] }], 'eyes', { profiles })).toMatchObject(refusal);
  const unnamed: ModelMessage = { role: 'user', content: [image(1), image(limit + 1)] };
  expect(await ask([{ role: 'system', content: 's' }, unnamed])).toMatchObject({
    message: expect.stringContaining('image 2 of message 2 has') as unknown,
  });
});

test('L10 an image within the limit goes its way, and a provider can be given another limit', async () => {
  const sent = { code: 'CONFIG_MISSING_PEER' };
  expect(await ask([{ role: 'user', content: [image(limit)] }])).toMatchObject(sent);
  const providers = { anthropic: { package: 'no-such-package', imageBytesMax: 10 } };
  expect(await ask([{ role: 'user', content: [image(11)] }], 'anthropic:m', { providers })).toMatchObject({
    code: 'MODEL_REFUSED',
  });
});
