/** Sandboxes of E2B, by its own SDK. They are elsewhere: what is in one is not recorded, and it expires (SB7). Experimental. */
import type * as Sdk from 'e2b';
import { CairnError } from '../errors.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { importPeer } from '../optional-peers.ts';
import type { Sandbox, SandboxCommand, SandboxEnd, Sandboxes } from '../ports/sandboxes.ts';
import { unavailable } from './local-box.ts';

/** Options of {@link e2b}. */
export interface E2bOptions {
  /** The template that sandboxes are made of. Default: that of E2B. */
  readonly template?: string;
  /**
   * Commands that prepare a new sandbox, such as `[['pip', 'install', 'numpy']]`. They run again in each that takes the place of another.
   */
  readonly setup?: readonly (readonly string[])[];
  /** Reads the key. It is called before each connection, and once more where the key is refused. Default: `E2B_API_KEY`. */
  readonly apiKey?: () => string | undefined | Promise<string | undefined>;
  /** How long a sandbox lasts after it was made or connected to, in milliseconds. Default 300,000. */
  readonly lastsMs?: number;
  /** What becomes of it then: it is removed, or paused until somebody connects to it again. Default `kill`. */
  readonly onTimeout?: 'kill' | 'pause';
  /** More options of the SDK's connection, such as `domain` or `proxy`. */
  readonly connection?: Readonly<Record<string, unknown>>;
}

const optionNames = Object.keys({
  template: true,
  setup: true,
  apiKey: true,
  lastsMs: true,
  onTimeout: true,
  connection: true,
} satisfies Record<keyof E2bOptions, true>);

const setupMs = 600_000;

/**
 * Sandboxes of E2B, with the package `e2b`, which is loaded by the first command. Bounds are those of the template. Commands are
 * `external`, with or without the network.
 * @throws CONFIG_INVALID; its sandboxes: SANDBOX_UNAVAILABLE, CONFIG_MISSING_PEER
 */
export function e2b(options: E2bOptions = {}): Sandboxes {
  refuseUnknownKeys('e2b', options, optionNames);
  const { template, setup = [], lastsMs = 300_000, onTimeout = 'kill' } = options;
  if (!Array.isArray(setup) || !setup.every((argv) => Array.isArray(argv) && argv.length > 0))
    throw new CairnError('CONFIG_INVALID', { reason: 'e2b: setup is a list of commands, each a list of texts' });
  if (!['kill', 'pause'].includes(onTimeout))
    throw new CairnError('CONFIG_INVALID', { reason: "e2b: onTimeout must be 'kill' or 'pause'" });
  return {
    name: `e2b ${template ?? 'base'}`,
    isolates: false,
    create: async ({ key, network }) => {
      const sdk = await importPeer<typeof Sdk>('e2b');
      const made = await withKey(sdk, options, (connection) => {
        const settings = {
          ...connection,
          timeoutMs: lastsMs,
          allowInternetAccess: network,
          metadata: { cairn: key },
          lifecycle: { onTimeout },
        };
        return template === undefined ? sdk.Sandbox.create(settings) : sdk.Sandbox.create(template, settings);
      });
      const box = new E2bBox(sdk, made);
      for (const argv of setup) await prepare(box, argv, key);
      return box;
    },
    connect: async (id) => {
      const sdk = await importPeer<typeof Sdk>('e2b');
      try {
        const found = await withKey(sdk, options, (connection) =>
          sdk.Sandbox.connect(id, { ...connection, timeoutMs: lastsMs }),
        );
        return new E2bBox(sdk, found);
      } catch (error) {
        // Only this says that it is gone. Whatever else failed may work later, and the sandbox with what is in it may be there.
        if (CairnError.is(error) && error.cause instanceof sdk.SandboxNotFoundError) return undefined;
        throw error;
      }
    },
  };
}

/** Calls the SDK with the key, and once more if it is refused and another is there by then. @throws SANDBOX_UNAVAILABLE */
async function withKey<Result>(
  sdk: typeof Sdk,
  { apiKey = () => process.env['E2B_API_KEY'], connection = {} }: E2bOptions,
  call: (connection: Sdk.ConnectionOpts) => Promise<Result>,
): Promise<Result> {
  let refused: string | undefined;
  for (;;) {
    const key = await apiKey();
    if (key === undefined) throw unavailable('e2b', 'there is no key: set E2B_API_KEY, or give `apiKey`');
    try {
      return await call({ ...connection, apiKey: key });
    } catch (error) {
      const isRefused = error instanceof sdk.AuthenticationError;
      if (!isRefused || refused !== undefined || (await apiKey()) === key) {
        throw unavailable('e2b', isRefused ? 'the key is refused' : (error as Error).message, error);
      }
      refused = key;
    }
  }
}

/** Runs a command of the setup. @throws SANDBOX_UNAVAILABLE it failed: the sandbox is removed */
async function prepare(box: Sandbox, argv: readonly string[], key: string): Promise<void> {
  let output = '';
  const onOutput = (_: string, bytes: Uint8Array): void => {
    output = (output + new TextDecoder().decode(bytes)).slice(-300);
  };
  const { exitCode } = await box.exec(argv, { signal: AbortSignal.timeout(setupMs), key, onOutput });
  if (exitCode === 0) return;
  await box.close();
  throw unavailable('e2b', `${argv.join(' ')} of the setup exited with ${exitCode}: ${output.trim()}`);
}

class E2bBox implements Sandbox {
  readonly id: string;
  readonly #sdk: typeof Sdk;
  readonly #box: Sdk.Sandbox;

  constructor(sdk: typeof Sdk, box: Sdk.Sandbox) {
    this.id = box.sandboxId;
    this.#sdk = sdk;
    this.#box = box;
  }

  async write(path: string, bytes: Uint8Array, mode = 0o644): Promise<void> {
    await this.#here(async () => {
      await this.#box.files.write(path, new Uint8Array(bytes).buffer);
      if (mode !== 0o644) await this.#box.commands.run(`chmod ${mode.toString(8)} ${quoted(path)}`);
    });
  }

  async read(path: string): Promise<Uint8Array> {
    try {
      return await this.#here(() => this.#box.files.read(path, { format: 'bytes' }));
    } catch (error) {
      if (!(error instanceof this.#sdk.FileNotFoundError)) throw error;
      throw new NodeFailure(`there is no file ${path}`, { code: 'ARGUMENT_INVALID', applied: 'no', cause: error });
    }
  }

  /** A shell reads the command line of E2B, so each argument is quoted. */
  async exec(argv: readonly string[], { signal, key, env = {}, input, onOutput }: SandboxCommand): Promise<SandboxEnd> {
    const inputFile = `/tmp/cairn-input-${key.replaceAll(/\W/gu, '-')}`;
    if (input !== undefined) await this.write(inputFile, typeof input === 'string' ? Buffer.from(input) : input);
    const line = `${argv.map(quoted).join(' ')} < ${input === undefined ? '/dev/null' : inputFile}`;
    const print = (stream: 'stdout' | 'stderr') => (text: string) => onOutput(stream, Buffer.from(text));
    const running = await this.#here(() =>
      this.#box.commands.run(line, {
        background: true,
        timeoutMs: 0,
        envs: { ...env, CAIRN_IDEMPOTENCY_KEY: key },
        onStdout: print('stdout'),
        onStderr: print('stderr'),
      }),
    );
    const kill = (): void => void running.kill().catch(() => undefined);
    signal.addEventListener('abort', kill, { once: true });
    if (signal.aborted) kill();
    try {
      const { exitCode } = await running.wait();
      return { exitCode, signal: null };
    } catch (error) {
      if (error instanceof this.#sdk.CommandExitError) return { exitCode: error.exitCode, signal: null };
      throw new NodeFailure(`the sandbox was lost while the command ran: ${(error as Error).message}`, {
        code: 'SANDBOX_LOST',
        applied: 'unknown',
        cause: error,
      });
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  async close(): Promise<void> {
    await this.#box.kill();
  }

  /** Begins something in the sandbox. @throws NodeFailure SANDBOX_GONE there is no such sandbox any more */
  async #here<Result>(begin: () => Promise<Result>): Promise<Result> {
    try {
      return await begin();
    } catch (error) {
      if (!(error instanceof this.#sdk.SandboxNotFoundError)) throw error;
      throw new NodeFailure('the sandbox is not there any more', { code: 'SANDBOX_GONE', applied: 'no', cause: error });
    }
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
