/**
 * A sandbox elsewhere, whose folder is not recorded (SB7). It outlives an attempt: which one it is stands in the record of each command,
 * and the next attempt connects to it. If it has expired, or belongs to the run that was forked, a new one is made and set up, and gets the
 * files that were written; the command's result says so.
 */
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';
import type { Sandbox, SandboxCommand, SandboxEnd, Sandboxes, SandboxRequest } from '../ports/sandboxes.ts';
import type { FolderEntry, Manifest } from './folder.ts';
import { throwNotBegun } from './local-box.ts';

/** Which sandbox a command ran in, as it is recorded. */
export interface RemoteSandbox {
  readonly id: string;
  /** The run that made it: a fork does not touch it. */
  readonly runId: string;
}

/** How a command ended, and what is recorded of where. */
export interface RemoteEnd extends SandboxEnd {
  readonly sandbox: RemoteSandbox;
  readonly notice?: string;
}

export const isRemote = (sandboxes: Sandboxes): boolean => sandboxes.connect !== undefined;

/** Why the sandbox that was used is not used any more. */
const notices = {
  expired:
    'The sandbox had expired, so this is a new one: it was set up again and has the files that were written, but nothing that commands made.',
  forked:
    'This run is a fork, so this is a new sandbox: it was set up again and has the files that were written, but nothing that commands made.',
};

export class RemoteBox {
  readonly #sandboxes: Sandboxes;
  readonly #runId: string;
  /** The sandbox of the last command on record. */
  #known: RemoteSandbox | undefined;
  /** The same, connected in this attempt. */
  #open: Sandbox | undefined;
  /** Files written since the last command: they are sent before the next one. */
  readonly #unsent = new Map<string, FolderEntry>();

  constructor(sandboxes: Sandboxes, runId: string) {
    this.#sandboxes = sandboxes;
    this.#runId = runId;
  }

  /** Takes in a command on record. */
  note(sandbox: RemoteSandbox): void {
    this.#known = sandbox;
    this.#unsent.clear();
  }

  /** A file that was written, and that the sandbox does not have yet. */
  unsent(path: string): FolderEntry | undefined {
    return this.#unsent.get(path);
  }

  write(path: string, entry: FolderEntry): void {
    this.#unsent.set(path, entry);
  }

  /** Runs a command. One that did not begin, because the sandbox was not there any more, is run in a new one. */
  async run(
    files: NodeContext['files'],
    request: SandboxRequest,
    argv: readonly string[],
    command: SandboxCommand,
    written: Manifest,
  ): Promise<RemoteEnd> {
    for (let isSecond = false; ; isSecond = true) {
      const { box, notice } = await this.#connect(request, isSecond).catch(throwNotBegun);
      try {
        // A new sandbox gets all files that were written; one that is known, those since its last command.
        const entries = notice === undefined && this.#known !== undefined ? this.#unsent : written;
        await send(box, files, entries).catch(throwNotBegun);
        const end = await box.exec(argv, command);
        return { ...end, sandbox: { id: box.id, runId: this.#runId }, ...(notice !== undefined && { notice }) };
      } catch (error) {
        this.#open = undefined;
        if (isSecond || !(error instanceof NodeFailure) || error.code !== 'SANDBOX_GONE') throw error;
      }
    }
  }

  /** Reads a file as it is in the sandbox now. @throws NodeFailure SANDBOX_LOST it is not there any more */
  async read(path: string, request: SandboxRequest): Promise<Uint8Array> {
    const box = this.#open ?? (await this.#reach(request));
    if (box === undefined)
      throw new NodeFailure('the sandbox is not there any more; run a command, which makes a new one', {
        code: 'SANDBOX_LOST',
        applied: 'no',
      });
    this.#open = box;
    return box.read(path);
  }

  /** Removes the sandbox. One that this attempt did not use expires by itself. */
  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.close();
  }

  async #connect(
    request: SandboxRequest,
    isGone: boolean,
  ): Promise<{ readonly box: Sandbox; readonly notice?: string }> {
    const found = isGone ? undefined : (this.#open ?? (await this.#reach(request)));
    if (found !== undefined) {
      this.#open = found;
      return { box: found };
    }
    const box = await this.#sandboxes.create(request);
    this.#open = box;
    if (this.#known === undefined) return { box };
    return { box, notice: this.#known.runId === this.#runId ? notices.expired : notices.forked };
  }

  async #reach(request: SandboxRequest): Promise<Sandbox | undefined> {
    if (this.#known?.runId !== this.#runId) return undefined;
    return this.#sandboxes.connect?.(this.#known.id, request);
  }
}

async function send(
  box: Sandbox,
  files: NodeContext['files'],
  entries: Iterable<readonly [string, FolderEntry]>,
): Promise<void> {
  for (const [path, entry] of entries)
    if ('file' in entry) await box.write(path, await files.get(entry.file), entry.mode);
}
