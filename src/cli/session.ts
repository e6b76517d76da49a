/** What a command gets: the screen, the store it was pointed at, and how cairn is called again. */
import { orderedWords } from '../errors.ts';
import type { Screen } from './screen.ts';
import { jsonText, printable } from '../operations/format/terminal.ts';
import { quote } from './text/quote.ts';
import { wrap } from './text/width.ts';
import { toJson } from './text/value.ts';
import { relative } from 'node:path';
import { missingStore } from '../app/open-store/open-reading.ts';
import { splitPassword } from '../app/open-store/store-url.ts';

export interface Session {
  readonly screen: Screen;
  readonly isJson: boolean;
  readonly cwd: string;
  /** The option as it was typed. Undefined means the default. */
  readonly storeUrl: string | undefined;
  /** Where its blobs are, as it was typed or as the environment says. Undefined means as configured, else beside the store. */
  readonly blobsUrl: string | undefined;
  /** Whether texts of runs in the store are believed to be files of this user: see `AppOptions`. */
  readonly trustsStore: boolean;
  /** The configuration file that was named. Undefined means that of the folder. */
  readonly configFile: string | undefined;
  /** Whether the folder's configuration is run if it is code. */
  readonly runsConfig: boolean;
  /** Each argument as it was typed, by field; one text for each time it was typed. */
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

/** What names the same store to another process. A password is omitted: it comes from CAIRN_STORE_PASSWORD. */
export function storeOptions({
  storeUrl,
  blobsUrl,
  configFile,
}: Pick<Session, 'storeUrl' | 'blobsUrl' | 'configFile'>): readonly string[] {
  return [
    ...(storeUrl === undefined ? [] : ['--store', splitPassword(storeUrl).url]),
    ...(blobsUrl === undefined ? [] : ['--blobs', blobsUrl]),
    ...(configFile === undefined ? [] : ['--config', configFile]),
  ];
}

/**
 * The store and its blobs: as typed, else as the environment says. What is said of blobs there is said of its store, or the folder's own:
 * beside a store that is typed it means nothing, so that two stores never have their blobs in one place unasked.
 */
function placesOf(
  typed: Pick<Session, 'storeUrl' | 'blobsUrl'>,
  { CAIRN_STORE: store, CAIRN_BLOBS: blobs }: NodeJS.ProcessEnv,
): Pick<Session, 'storeUrl' | 'blobsUrl'> {
  const isTyped = typed.storeUrl !== undefined;
  // A variable that is set to nothing is not set.
  return {
    storeUrl: isTyped ? typed.storeUrl : store || undefined,
    blobsUrl: typed.blobsUrl ?? (isTyped ? undefined : blobs || undefined),
  };
}

/** The same session over no store: for commands that read texts alone. */
export const withoutStore = (session: Session): Session => ({ ...session, storeUrl: 'memory:', blobsUrl: undefined });

export function openSession(
  screen: Screen,
  options: {
    readonly isJson: boolean;
    readonly storeUrl: string | undefined;
    readonly blobsUrl: string | undefined;
    readonly configFile: string | undefined;
    readonly runsConfig: boolean;
    readonly texts: Readonly<Record<string, readonly string[]>>;
  },
): Session {
  const cwd = process.cwd();
  const program = nameOfProgram(process.argv[1], cwd, process.env);
  const store = storeOptions(options);
  return {
    ...options,
    ...placesOf(options, process.env),
    // A store that somebody types may be a file that somebody else made.
    trustsStore: options.storeUrl === undefined,
    screen,
    cwd,
    commandLine: (...words) => [program, ...orderedWords([...words, ...store]).map(quote)].join(' '),
    printJson: (value) => screen.print(jsonText(toJson(value))),
  };
}

export function noteBlobs(
  { screen }: Pick<Session, 'screen'>,
  { blobs, blobsLeft = 0 }: { readonly blobs: number; readonly blobsLeft?: number },
): void {
  const values = (count: number): string => `${count} large ${count === 1 ? 'value' : 'values'}`;
  if (blobs > 0) screen.note(`${values(blobs)} that nothing refers to any more went too.`);
  if (blobsLeft > 0)
    screen.note(
      ...wrap(
        `${values(blobsLeft)} of it ${blobsLeft === 1 ? 'stays' : 'stay'} for now: cairn cleanup removes what nothing refers to once it is a day old.`,
        screen.width,
      ),
    );
}

/** What to do about a store that does not exist. */
export const namesStore = 'Name the store with --store, or change to the folder it belongs to.';

/** @param words - without a full stop, such as `No runs here` */
export async function noteNone(session: Session, words: string): Promise<void> {
  const missing = await missingStore(session);
  session.screen.note(missing === undefined ? `${words}.` : `${words}: there is no ${printable(missing)}`);
}
