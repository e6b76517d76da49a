/** Models whose names tell whose they are. */

/** By the beginnings of their names, the providers. */
const families: readonly (readonly [RegExp, string])[] = [
  [/^(?:gpt-|chatgpt-|o\d)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
];

/** The name with its provider, which may be left out for models whose names tell whose they are. */
export function withProvider(model: string): string {
  const family = model.includes(':') ? undefined : families.find(([names]) => names.test(model));
  return family === undefined ? model : `${family[1]}:${model}`;
}
