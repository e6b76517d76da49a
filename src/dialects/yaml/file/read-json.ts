/** Reads text as JSON where any value is allowed. */

/** The parsed value; the text itself if it is not JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
