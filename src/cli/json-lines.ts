/** Prints a long list for programs as it is read: a JSON document a line, so that neither side holds what is said of a million runs. */
import { toJson } from '../operations/contract/to-json.ts';
import { jsonText } from '../operations/format/terminal.ts';
import type { Session } from './session.ts';

/** Lines that are written at once at most. Those that are held are written when the process comes to rest. */
const linesAtOnce = 200;

/**
 * A line for each item, and last `{"end": …}` with what the generator returns: who reads it without that line knows that the list was cut.
 * @returns what the generator returns
 */
export async function printJsonLines<Item, End extends object>(
  { screen }: Pick<Session, 'screen'>,
  items: AsyncGenerator<Item, End>,
): Promise<End> {
  let held: string[] = [];
  let timer: NodeJS.Immediate | undefined;
  const flush = (): void => {
    clearImmediate(timer);
    timer = undefined;
    if (held.length > 0) screen.print(held);
    held = [];
  };
  try {
    for (let next = await items.next(); ; next = await items.next()) {
      if (next.done === true) {
        flush();
        screen.print(jsonText(toJson({ end: next.value })));
        return next.value;
      }
      held.push(jsonText(toJson(next.value)));
      if (held.length >= linesAtOnce) flush();
      else timer ??= setImmediate(flush);
    }
  } finally {
    flush();
  }
}
