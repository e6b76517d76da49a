/** A sandbox in a node's function: its folder is part of the history, so commands can be repeated, forked and taken over (SB1, SB2). */
import { CairnError } from '../errors.ts';
import { hashValue } from '../graph/canonical.ts';
import { NodeFailure, type InnerWork, type NodeContext, type StepContext } from '../graph/contracts/node-contract.ts';
import type { FileRef } from '../graph/file-ref.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { createBoundedText } from '../nodes/shell/bounded-text.ts';
import type {
  Sandbox,
  SandboxCommand,
  SandboxEnd,
  SandboxLimits,
  SandboxRequest,
  Sandboxes,
} from '../ports/sandboxes.ts';
import { approvalSchema, readApproval } from '../schema/approval-answer.ts';
import { changesIn, checkPath, makeEqual, withChanges, withFile, type FolderChanges, type Manifest } from './folder.ts';
import { throwNotBegun } from './local-box.ts';
import { isRemote, RemoteBox, type RemoteSandbox } from './remote-box.ts';

/** Options of a sandbox. */
export interface SandboxOptions {
  /** Of what kind: `bubblewrap()`. */
  readonly sandboxes: Sandboxes;
  /** Whether commands may reach the network. Then each is `external`, and a person is asked before it. Default false. */
  readonly network?: boolean;
  /** When a person is asked before a command. Default: `always` with the network on or in a kind that does not isolate, else `never`. */
  readonly approval?: 'always' | 'never';
  readonly limits?: SandboxLimits;
  /** Environment variables of commands, beside PATH, HOME, LANG and CAIRN_IDEMPOTENCY_KEY. */
  readonly env?: Readonly<Record<string, string>>;
  /** Timeout of one command in milliseconds. Default 120,000. */
  readonly timeoutMs?: number;
  /** The most bytes of contents that are recorded of what one command changed. Default 64 MiB. */
  readonly maxChangedBytes?: number;
  /** The most bytes recorded of stdout, and of stderr: beginning and end. Default 64 KiB. */
  readonly maxOutputBytes?: number;
}

export const sandboxOptionNames: readonly (keyof SandboxOptions)[] = ['sandboxes', 'network', 'approval', 'limits', 'env', 'timeoutMs', 'maxChangedBytes', 'maxOutputBytes']; // prettier-ignore

/** What a command gave. An exit code other than 0 is no failure here. */
export interface SandboxOutput extends SandboxEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** True if it changed more than `maxChangedBytes`: then what is in the folder is known to this attempt alone (SB2.1). */
  readonly isUnrecorded?: true;
  /** What changed since the command before: that the sandbox is a new one (SB7). */
  readonly notice?: string;
}

/** A command on record. */
interface RecordedCommand extends SandboxOutput {
  readonly changes: FolderChanges;
  readonly sandbox?: RemoteSandbox;
}

/** What a person may say that a command in doubt gave: what it printed, or more. */
const answerSchema = {
  type: ['null', 'string', 'object'],
  properties: {
    exitCode: { type: ['integer', 'null'] },
    signal: { type: ['string', 'null'] },
    stdout: { type: 'string' },
    stderr: { type: 'string' },
    changes: { type: 'object' },
  },
};

const folderIsGone = 'A person said that this command happened. What it changed in the folder is not there.';

/** Manifests of folders of which more was changed than is recorded: a folder that is not at hand cannot be made equal to one. */
const unrecorded = new WeakSet<Manifest>();

const lost = (): NodeFailure =>
  new NodeFailure(
    'the folder of the sandbox is not there any more: a command changed more than `maxChangedBytes`, so it was not recorded. Fork before that command, or raise the bound',
    { code: 'SANDBOX_LOST', applied: 'no' },
  );

/** @throws CONFIG_INVALID */
export function checkSandboxOptions(builder: string, options: SandboxOptions): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `${builder}: ${reason}` });
  };
  const { sandboxes, limits = {}, approval, network } = options;
  if (typeof (sandboxes as Partial<Sandboxes> | undefined)?.create !== 'function')
    refuse('sandboxes must be given, such as bubblewrap()');
  refuseUnknownKeys(`${builder}: limits`, limits, ['processes', 'memoryBytes', 'diskBytes']);
  if (![undefined, 'always', 'never'].includes(approval)) refuse("approval must be 'always' or 'never'");
  if (![undefined, true, false].includes(network)) refuse('network must be true or false');
}

/** What commands do to the world beside their folder, and whether a person is asked before each. Empty: nothing. */
export function workOutside({ sandboxes, network = false, approval = 'always' }: SandboxOptions): readonly InnerWork[] {
  if (!network && sandboxes.isolates) return [];
  const asks = approval === 'always';
  return [{ effect: 'external', asks, isAllowed: !asks }];
}

/** The sandbox of one attempt. It is opened when a command really runs, so never for commands on record. */
export class SandboxSession {
  readonly #ctx: NodeContext;
  readonly #options: SandboxOptions;
  /** For sandboxes that outlive an attempt. */
  readonly #remote: RemoteBox | undefined;
  #manifest: Manifest = new Map();
  #opened: Promise<Sandbox> | undefined;
  /** The manifest that the folder is equal to; undefined: nobody knows what is in it. */
  #equalTo: Manifest | undefined;
  /** The manifest from which a command ran in this attempt that has not been taken in yet. */
  #ranFrom: Manifest | undefined;
  /** Commands share the folder, so they run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  /** @throws CONFIG_INVALID */
  constructor(ctx: NodeContext, options: SandboxOptions) {
    refuseUnknownKeys('SandboxSession', options, sandboxOptionNames);
    checkSandboxOptions('SandboxSession', options);
    this.#ctx = ctx;
    this.#options = options;
    this.#remote = isRemote(options.sandboxes) ? new RemoteBox(options.sandboxes, ctx.runId) : undefined;
    ctx.signal.addEventListener('abort', () => void this.leave(), { once: true });
  }

  /** What is in the folder, by path. */
  get files(): Readonly<Record<string, FileRef>> {
    const entries = [...this.#manifest].flatMap(([path, entry]) =>
      'file' in entry ? [[path, entry.file] as const] : [],
    );
    return Object.fromEntries(entries);
  }

  /** Puts a file into the folder. @throws NodeFailure ARGUMENT_INVALID; PERMISSION_DENIED a link of a command leads out of the folder */
  write(
    path: string,
    content: string | Uint8Array | FileRef,
    { ctx = this.#ctx, mode = 0o644 }: { readonly ctx?: NodeContext; readonly mode?: number } = {},
  ): Promise<void> {
    return this.#inTurn(async () => {
      checkPath(path, this.#manifest);
      const bytes = typeof content === 'string' ? Buffer.from(content) : content;
      const file = bytes instanceof Uint8Array ? await ctx.files.put(bytes, { name: path }) : bytes;
      const before = this.#manifest;
      const after = withChanges(before, withFile(before, path, file, mode));
      this.#remote?.write(path, { file, mode });
      if (unrecorded.has(before)) {
        // The folder stays as it is, so the file is put into it now.
        if (this.#equalTo === before) {
          const box = await this.#opened;
          await box?.write(path, bytes instanceof Uint8Array ? bytes : await ctx.files.get(bytes), mode);
          this.#equalTo = after;
        }
        unrecorded.add(after);
      }
      this.#manifest = after;
    });
  }

  /**
   * Reads a file of the folder, as it was after the last command.
   * @throws NodeFailure ARGUMENT_INVALID there is no such file, or what is in the folder is not recorded
   */
  read(path: string, ctx: NodeContext = this.#ctx): Promise<Uint8Array> {
    return this.#inTurn(async () => {
      if (unrecorded.has(this.#manifest))
        throw new NodeFailure(`${path} is not recorded: a command changed too much. Print it with a command`, {
          code: 'ARGUMENT_INVALID',
          applied: 'no',
        });
      if (this.#remote !== undefined && this.#remote.unsent(path) === undefined) return this.#readRemote(path, ctx);
      const entry = this.#manifest.get(path);
      if (entry === undefined || !('file' in entry))
        throw new NodeFailure(`there is no file ${path}`, { code: 'ARGUMENT_INVALID', applied: 'no' });
      return ctx.files.get(entry.file);
    });
  }

  /**
   * Runs a program as a recorded step. Without the network it is `pure`: all it does is change the folder, which is recorded, and made as
   * it was before it is repeated.
   * @throws SANDBOX_UNAVAILABLE; NodeFailure SANDBOX_REFUSED, SANDBOX_LOST
   */
  exec(
    argv: readonly string[],
    { input, ctx = this.#ctx }: { readonly input?: string | undefined; readonly ctx?: NodeContext } = {},
  ): Promise<SandboxOutput> {
    return this.#inTurn(async () => {
      const {
        sandboxes,
        network = false,
        approval = network || !sandboxes.isolates ? 'always' : 'never',
        timeoutMs = 120_000,
      } = this.#options;
      const isOutside = network || !sandboxes.isolates;
      if (approval === 'always') await this.#ask(ctx, argv, network);
      const before = this.#manifest;
      const { changes, sandbox, ...output } = await ctx.step(
        'command',
        {
          effect: isOutside ? 'external' : 'pure',
          input: {
            argv,
            input: input ?? null,
            network,
            folder: `${hashOf(before)}${unrecorded.has(before) ? ' and more' : ''}`,
          },
          about: argv.join(' ').slice(0, 500),
          timeoutMs,
          readAnswer: (answer) => this.#commandOf(answer),
          answerSchema,
        },
        (step) => this.#run(ctx, step, argv, input, before),
      );
      if (sandbox !== undefined) this.#remote?.note(sandbox);
      this.#manifest = withChanges(before, changes);
      if (output.isUnrecorded === true) unrecorded.add(this.#manifest);
      // After a command that ran just now the folder is as the record says.
      if (this.#ranFrom === before) this.#equalTo = this.#manifest;
      this.#ranFrom = undefined;
      return output;
    });
  }

  /** Ends this attempt's use of the sandbox. One that outlives attempts stays as it is, for the next one. */
  async leave(): Promise<void> {
    if (this.#remote === undefined) await this.close();
  }

  /** Removes the sandbox. */
  async close(): Promise<void> {
    await this.#remote?.close().catch(() => undefined);
    const opened = this.#opened;
    this.#opened = undefined;
    // A later command opens a new folder, which is made from the record.
    this.#equalTo = undefined;
    await opened?.then((box) => box.close()).catch(() => undefined);
  }

  async #ask(ctx: NodeContext, argv: readonly string[], network: boolean): Promise<void> {
    const answer = await ctx.ask({
      name: 'command',
      prompt: `Run this command${network ? ' with the network on' : ''}?\n${argv.join(' ')}`,
      choices: ['approve', 'refuse'],
      matching: 'open',
      schema: approvalSchema(undefined, false),
      metadata: { argv, network },
      isApproval: true,
    });
    const { approved, feedback } = readApproval(answer);
    if (approved) return;
    throw new NodeFailure(`a person refused the command${feedback === undefined ? '' : `: ${feedback}`}`, {
      code: 'SANDBOX_REFUSED',
      applied: 'no',
    });
  }

  async #run(
    ctx: NodeContext,
    { signal, idempotencyKey: key }: StepContext,
    argv: readonly string[],
    input: string | undefined,
    before: Manifest,
  ): Promise<RecordedCommand> {
    const { env = {}, maxOutputBytes = 64 * 1024, maxChangedBytes = 64 * 1024 * 1024 } = this.#options;
    const texts = { stdout: createBoundedText(maxOutputBytes), stderr: createBoundedText(maxOutputBytes) };
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    const onOutput = (stream: 'stdout' | 'stderr', bytes: Uint8Array): void =>
      texts[stream].push(decoders[stream].decode(bytes, { stream: true }));
    const command: SandboxCommand = { signal, key, env, onOutput, ...(input !== undefined && { input }) };
    // Secrets that the run has used are masked where the step's result is taken in.
    const printed = (): Pick<SandboxOutput, 'stdout' | 'stderr'> => ({
      stdout: texts.stdout.end().text,
      stderr: texts.stderr.end().text,
    });
    if (this.#remote !== undefined) {
      const end = await this.#remote.run(ctx.files, this.#request(key), argv, command, before);
      signal.throwIfAborted();
      return { ...end, ...printed(), changes: {} };
    }
    if (this.#equalTo !== before && unrecorded.has(before)) throw lost();
    const box = await this.#open(key);
    if (this.#equalTo !== before && box.folder !== undefined) {
      this.#equalTo = undefined;
      await makeEqual(box.folder, before, ctx.files, box.owner);
    }
    this.#equalTo = undefined;
    const end = await box.exec(argv, command);
    signal.throwIfAborted();
    const known =
      box.folder === undefined
        ? {}
        : unrecorded.has(before)
          ? undefined
          : await changesIn(box.folder, before, ctx.files, maxChangedBytes);
    this.#ranFrom = before;
    return known === undefined
      ? { ...end, ...printed(), isUnrecorded: true, changes: {} }
      : { ...end, ...printed(), changes: known };
  }

  /** The record of a command of which a person says that it happened. The folder in which it ran is gone. */
  #commandOf(answer: unknown): RecordedCommand {
    const known = typeof answer === 'string' ? { stdout: answer } : (answer as Partial<RecordedCommand> | null);
    const notice = this.#remote === undefined && known?.changes === undefined ? { notice: folderIsGone } : {};
    return { exitCode: 0, signal: null, stdout: '', stderr: '', changes: {}, ...notice, ...known };
  }

  /** Reads a file of a sandbox elsewhere, as a recorded step. */
  async #readRemote(path: string, ctx: NodeContext): Promise<Uint8Array> {
    checkPath(path, new Map());
    const file = await ctx.step('read file', { effect: 'read', input: { path }, about: path }, async (step) => {
      const bytes = await this.#remote?.read(path, this.#request(step.idempotencyKey));
      return ctx.files.put(bytes ?? new Uint8Array(), { name: path });
    });
    return ctx.files.get(file);
  }

  #request(key: string): SandboxRequest {
    const { network = false, limits = {} } = this.#options;
    const all = { processes: 64, memoryBytes: 512 * 1024 * 1024, diskBytes: 256 * 1024 * 1024, ...limits };
    return { key, network, limits: all };
  }

  #open(key: string): Promise<Sandbox> {
    return (this.#opened ??= this.#options.sandboxes.create(this.#request(key)).catch((error: unknown) => {
      this.#opened = undefined;
      return throwNotBegun(error);
    }));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => undefined);
    return next;
  }
}

/** Hash of what is in a folder. */
function hashOf(manifest: Manifest): string {
  return hashValue(
    [...manifest].map(([path, entry]) => [path, 'file' in entry ? [entry.file.hash, entry.mode] : entry]),
  );
}
