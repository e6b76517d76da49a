/** What a command is given: the screen, the store it was pointed at, and how cairn is called again. */
import { jsonText } from './text/printable.ts';
import { relative } from 'node:path';
import { quote } from './text/quote.ts';
import type { Screen } from './screen.ts';
import { toJson } from './text/value.ts';

export interface Session {
  readonly screen: Screen;
  readonly isJson: boolean;
  readonly cwd: string;
  /** The option as given. Undefined means the default. */
  readonly storeUrl: string | undefined;
  /** The configuration file that was named. Undefined means that of the folder. */
  readonly configFile: string | undefined;
  /** Whether the folder's configuration is run if it is code. */
  readonly runsConfig: boolean;
  /** Each argument as it was typed, by field; one text for each time it was given. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
  /** A command as it can be pasted into a shell: `cairn answer RUN yes`, with the store if it is not the default. */
  readonly commandLine: (...words: readonly string[]) => string;
  /** Prints one JSON document on one line. */
  readonly printJson: (value: unknown) => void;
}

/** How this process was called, so that what it prints can be called the same way. */
function nameOfProgram(script: string | undefined, cwd: string, environment: NodeJS.ProcessEnv): string {
  // A script of this name finds the Node that a package brings, where the one on the path may be too old.
  if (environment['npm_lifecycle_event'] === 'cairn') return 'npm run -s cairn --';
  if (script?.endsWith('.ts') === true) return `node ${quote(relative(cwd, script))}`;
  return environment['npm_command'] === 'exec' ? 'npx cairn' : 'cairn';
}

/** What names the same store to another process. */
export function storeOptions({ storeUrl, configFile }: Pick<Session, 'storeUrl' | 'configFile'>): readonly string[] {
  return [
    ...(storeUrl === undefined ? [] : ['--store', storeUrl]),
    ...(configFile === undefined ? [] : ['--config', configFile]),
  ];
}

export function openSession(
  screen: Screen,
  given: {
    readonly isJson: boolean;
    readonly storeUrl: string | undefined;
    readonly configFile: string | undefined;
    readonly runsConfig: boolean;
    readonly texts: Readonly<Record<string, readonly string[]>>;
  },
): Session {
  const cwd = process.cwd();
  const program = nameOfProgram(process.argv[1], cwd, process.env);
  const store = storeOptions(given);
  return {
    ...given,
    screen,
    cwd,
    commandLine: (...words) => [program, ...[...words, ...store].map(quote)].join(' '),
    printJson: (value) => screen.print(jsonText(toJson(value))),
  };
}
