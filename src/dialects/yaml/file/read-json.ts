/** Text where any value of JSON is wanted. */

/** The value whose JSON a text is; a text that is none stands for itself. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
