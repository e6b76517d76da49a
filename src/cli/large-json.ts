/** What commands print as JSON of a run is without its large values, as at every door, unless all is asked for. */
import type { AnyOperation, Field } from '../operations/contract/operation.ts';
import { omitLargeValues } from '../operations/runs/omit-large.ts';
import type { Session } from './session.ts';

/** The option that asks for all. */
export const wholeField: Field = {
  type: 'flag',
  description: 'with --json: values over 64 KiB too, which else are left out, with the command that prints each',
};

export function printWithoutLarge(
  { printJson, commandLine }: Pick<Session, 'printJson' | 'commandLine'>,
  output: unknown,
  { operation, whole }: { readonly operation: Pick<AnyOperation, 'outputSchema'>; readonly whole: boolean },
): void {
  const command = (checkpoint: string, path: string): string => commandLine('state', checkpoint, path);
  printJson(whole ? output : omitLargeValues(output, operation.outputSchema, { command }));
}
