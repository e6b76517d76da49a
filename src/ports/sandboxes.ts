/** The port to sandboxes: places in which commands run that must not reach anything else. */

/** Bounds of one sandbox. */
export interface SandboxLimits {
  /** The most processes and threads at once. Default 64. */
  readonly processes?: number;
  /** The most memory, in bytes. Default 512 MiB. */
  readonly memoryBytes?: number;
  /** The most bytes in its folder, and in its `/tmp`. Default 256 MiB. */
  readonly diskBytes?: number;
}

/** What a sandbox is made for. */
export interface SandboxRequest {
  /** The same for every attempt of the work that it is for. */
  readonly key: string;
  /** Whether commands may reach the network. */
  readonly network: boolean;
  readonly limits: Required<SandboxLimits>;
}

/** One command. */
export interface SandboxCommand {
  /** When it is aborted, the command and all that it started are killed. */
  readonly signal: AbortSignal;
  /** Idempotency key of this command; the command finds it as `CAIRN_IDEMPOTENCY_KEY`. */
  readonly key: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
}

/** How a command ended. */
export interface SandboxEnd {
  /** Null if it was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The bound that it was killed for. */
  readonly exceeded?: 'disk';
}

/** One sandbox. Paths are relative to its folder, in which commands begin. */
export interface Sandbox {
  readonly id: string;
  /**
   * The folder on this machine, if it is one. What commands change in it is then recorded, and it is made as it was before a command is
   * repeated.
   */
  readonly folder?: string;
  /** Whom what is in the folder belongs to. Default: the user of this process. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  write(path: string, bytes: Uint8Array, mode?: number): Promise<void>;
  read(path: string): Promise<Uint8Array>;
  /**
   * Runs a program; no shell reads its arguments. Rejects if the program could not be started. A sandbox that was found by `connect` rejects
   * with the NodeFailure SANDBOX_GONE if it is not there any more and nothing began: the command is then run in a new one.
   */
  exec(argv: readonly string[], command: SandboxCommand): Promise<SandboxEnd>;
  /** Removes the sandbox with all that is in it. */
  close(): Promise<void>;
}

/** Makes sandboxes of one kind. */
export interface Sandboxes {
  readonly name: string;
  /** Whether a command can change nothing but its folder, as long as it has no network. Commands are `external` if not. */
  readonly isolates: boolean;
  /** @throws SANDBOX_UNAVAILABLE nothing was run */
  create(request: SandboxRequest): Promise<Sandbox>;
  /**
   * The sandbox with this id; undefined if it is not there any more. For kinds whose sandboxes have no `folder` here and outlive an attempt:
   * what is in them is not recorded, so they are found again by their id.
   */
  connect?(id: string, request: SandboxRequest): Promise<Sandbox | undefined>;
}
