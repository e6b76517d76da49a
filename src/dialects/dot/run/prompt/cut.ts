/** The beginning of a text, and how much more there is. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)} […${text.length - length} more characters]`;
}
