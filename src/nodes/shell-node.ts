/** The shell node: runs a program. No value can become shell syntax. */
import { CairnError } from '../errors.ts';
import { NodeFailure, type NodeContext, type StateView } from '../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../graph/contracts/retry-policy.ts';
import { beforeEffect } from './draft/before-effect.ts';
import { describeConfig, resolveComputed, type Computed } from './draft/computed.ts';
import type { TextMask } from '../state/secrecy/text-mask.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { SecretReference } from '../graph/secret-reference.ts';
import { resolveSecrets } from './secrets/secret.ts';
import {
  createShellRequest,
  describeEnd,
  endedBy,
  runCommand,
  type ResolvedShell,
  type ShellRequest,
} from './shell/run-command.ts';

type Argument = string | number;

export interface ShellNodeConfig<S extends StateView = StateView> {
  /**
   * Either a program and its arguments, started without a shell; or a fixed script for `/bin/sh`. The program's name and the script come
   * from the author. Values reach a script only as `"$1"` and `"$@"` (from `args`) or as `"$NAME"` (from `env`).
   */
  readonly command: readonly [string, ...Computed<Argument, S>[]] | string;
  /** Further arguments. Each value stays one argument, but a program may read a leading `-` as an option: put `--` before it. */
  readonly args?: Computed<readonly Computed<Argument, S>[], S>;
  /** Environment variables. Beside PATH, HOME, LANG and CAIRN_IDEMPOTENCY_KEY, the program sees only these. */
  readonly env?: Readonly<Record<string, Computed<Argument | boolean | undefined, S> | SecretReference>>;
  readonly cwd?: Computed<string, S>;
  /** What the program reads from stdin. Default: nothing. */
  readonly input?: Computed<string | Uint8Array, S>;
  /** Timeout of one attempt in milliseconds. When it is over, the process group is killed. */
  readonly timeoutMs?: number;
  /** The most bytes recorded of stdout, and of stderr: beginning and end. Default 1 MiB. */
  readonly maxOutputBytes?: number;
  /** Exit codes that count as success. Default `[0]`. */
  readonly okExitCodes?: readonly number[];
  /** Milliseconds between SIGTERM and SIGKILL. Default 2,000. */
  readonly killGraceMs?: number;
  readonly retry?: RetryPolicy;
}

/** The output of a shell node; also the data of its failure. */
export interface ShellOutput {
  /** Null if the program was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  /** Number of bytes omitted from stdout and stderr. */
  readonly omittedBytes: number;
}

const configKeys = [
  'command',
  'args',
  'env',
  'cwd',
  'input',
  'timeoutMs',
  'maxOutputBytes',
  'okExitCodes',
  'killGraceMs',
  'retry',
] as const satisfies readonly (keyof ShellNodeConfig)[];

/**
 * Makes a node that runs a program. Its output is a {@link ShellOutput}. The effect class is `external`. Fails with code `EXIT_CODE` (data:
 * the output), or, before anything happened, with `SPAWN_FAILED` or `ARGUMENT_INVALID`.
 * @throws CONFIG_INVALID the command is neither a list that begins with a file nor a script, or `env` contains an invalid name
 */
export function shellNode<S extends StateView = StateView>(
  config: ShellNodeConfig<S>,
  options: NodeOptions = {},
): NodeDraft<S, ShellOutput> {
  refuseUnknownKeys('shellNode', config, configKeys);
  checkConfig(config);
  const { timeoutMs, retry, ...rest } = config as ShellNodeConfig;
  const { config: own, data, codeText } = describeConfig(rest);
  return draftNode(
    {
      type: 'shell',
      effect: 'external',
      config: data,
      retry,
      timeoutMs,
      implementation: { run: (ctx) => runShell(ctx, own), codeText },
    },
    options,
  );
}

function checkConfig({ command, env = {} }: { readonly command: unknown; readonly env?: unknown }): void {
  const file: unknown = Array.isArray(command) ? command[0] : command;
  if (typeof file !== 'string' || file === '')
    throw new CairnError('CONFIG_INVALID', {
      reason: 'shellNode: command must be [file, ...arguments] or the text of a script',
    });
  if (typeof env !== 'object' || env === null)
    throw new CairnError('CONFIG_INVALID', {
      reason: 'shellNode: env must be an object; its values may be functions of the state',
    });
  const badName = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (badName !== undefined)
    throw new CairnError('CONFIG_INVALID', {
      reason: `shellNode: ${JSON.stringify(badName)} cannot name an environment variable`,
    });
}

async function runShell(ctx: NodeContext, config: ShellNodeConfig): Promise<ShellOutput> {
  const { request, mask } = await beforeEffect(() => prepare(ctx, config));
  const end = await runCommand(ctx, request, { ...config, mask });
  const output: ShellOutput = { ...end, truncated: end.omittedBytes > 0 };
  if (end.exitCode !== null && (config.okExitCodes ?? [0]).includes(end.exitCode)) return output;
  throw new NodeFailure(`${nameCommand(config.command)} ${describeEnd(end)}`, {
    code: 'EXIT_CODE',
    data: output,
    ...endedBy(end),
  });
}

async function prepare(
  ctx: NodeContext,
  config: ShellNodeConfig,
): Promise<{ readonly request: ShellRequest; readonly mask: TextMask }> {
  const { env = {}, ...rest } = resolveComputed(config, ctx.state) as ResolvedShell;
  const { value, mask } = await resolveSecrets(env, ctx.secrets);
  return { request: createShellRequest({ ...rest, env: value as typeof env }, ctx.idempotencyKey), mask };
}

function nameCommand(command: ShellNodeConfig['command']): string {
  return typeof command === 'string' ? 'the script' : command[0];
}
