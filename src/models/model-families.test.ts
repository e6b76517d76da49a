import { expect, test } from 'vitest';
import { createAiSdkModels, withProvider } from './ai-sdk.ts';

test.each([
  ['gpt-5', 'openai:gpt-5'],
  ['o3', 'openai:o3'],
  ['claude-large', 'anthropic:claude-large'],
  ['gemini-pro', 'google:gemini-pro'],
  ['ollama', 'ollama'],
  ['acme:gpt-5', 'acme:gpt-5'],
])('L1 %s is the model %s', (model, whole) => {
  expect(withProvider(model)).toBe(whole);
});

test.each([
  ['claude-large', 'anthropic'],
  ['wise', 'anthropic'],
  ['claude-mine', 'odd'],
])(
  'L1 %s is asked of %s: the name tells whose it is, and a profile of that name comes first',
  async (model, provider) => {
    // Neither package is one of a provider, and the error says whose it was.
    const models = createAiSdkModels({
      providers: { anthropic: { package: 'zod' }, odd: { package: 'zod' } },
      profiles: { 'claude-mine': { model: 'odd:m' }, wise: { model: 'claude-large' } },
    });
    const messages = [{ role: 'user', content: 'Hello' }] as const;
    const request = { model, messages, idempotencyKey: 'key', signal: new AbortController().signal };
    await expect(models.generate(request)).rejects.toMatchObject({ data: { path: `models.providers.${provider}` } });
  },
);
