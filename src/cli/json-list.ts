/** Prints a JSON document with a long list as it comes, so that nobody holds what is said of a million runs. */
import { toJson } from '../operations/contract/to-json.ts';
import { jsonText } from '../operations/format/terminal.ts';
import type { Session } from './session.ts';

/** So many items are one line with the rest; longer lists have a line for each item. */
const onOneLine = 200;

/** @param name - the list's key. What the generator returns stands beside it. @returns that */
export async function printJsonList<Item, Rest extends object>(
  { screen, printJson }: Pick<Session, 'screen' | 'printJson'>,
  name: string,
  items: AsyncGenerator<Item, Rest>,
): Promise<Rest> {
  let held: Item[] = [];
  let isOpen = false;
  const flush = (): void => {
    const lines = held.map((item) => jsonText(toJson(item)));
    const begin = isOpen ? ',' : `{${JSON.stringify(name)}:[`;
    if (lines.length > 0) screen.print(begin + lines.join(',\n'));
    [held, isOpen] = [[], true];
  };
  for (let next = await items.next(); ; next = await items.next()) {
    if (next.done === true) {
      const rest = next.value;
      if (!isOpen) printJson({ [name]: held, ...rest });
      else {
        flush();
        const text = jsonText(toJson(rest));
        screen.print(text === '{}' ? ']}' : `],${text.slice(1)}`);
      }
      return rest;
    }
    held.push(next.value);
    if (held.length >= onOneLine) flush();
  }
}
