/** Finds the command among the arguments. The executable loads this alone before it knows which group of commands to load. */

/** Options of every command that take a value. */
const withValue: readonly (string | undefined)[] = ['--store', '--blobs', '--config'];

/** Tells the command's name from the options that may stand before it: `cairn --store X ls --json`. */
export function splitCommand(args: readonly string[]): {
  readonly name: string | undefined;
  readonly rest: readonly string[];
} {
  let index = 0;
  while (args[index]?.startsWith('-') === true) index += withValue.includes(args[index]) ? 2 : 1;
  const name = args[index];
  return name === undefined
    ? { name, rest: args }
    : { name, rest: [...args.slice(0, index), ...args.slice(index + 1)] };
}
