/** Shortens texts for prompts. */

/** The beginning of a text, and how much more there is. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)} […${text.length - length} more characters]`;
}

/** The beginning and the end of a text: what programs print says at its end how it went. */
export function cutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  const left = text.length - 2 * half;
  return `${text.slice(0, half)} [… ${left} more characters …] ${text.slice(-half)}`.toWellFormed();
}
