/** A tool with which a model runs programs. A person is asked before each call, unless the agent's `allow` names the tool. */
import { NodeFailure, type EffectClass, type StateView } from '../../graph/contracts/node-contract.ts';
import type { SecretReference } from '../../graph/secret-reference.ts';
import { beforeEffect } from '../../nodes/draft/before-effect.ts';
import type { Computed, OfState } from '../../nodes/draft/computed.ts';
import { resolveSecrets } from '../../nodes/secrets/secret.ts';
import { createShellRequest, runCommand } from '../../nodes/shell/run-command.ts';
import { tool, type ApprovalPolicy, type FunctionTool } from '../tools/tool-box.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** A program and its arguments. They are not interpreted by a shell. */
export type Command = readonly string[];

export interface ShellToolOptions<S extends StateView = StateView> {
  /** Working directory of the programs. Default: that of this process. */
  readonly cwd?: Computed<string, S>;
  /** Environment variables. Beside PATH, HOME, LANG and CAIRN_IDEMPOTENCY_KEY, the program sees only these. */
  readonly env?: Readonly<Record<string, string | SecretReference>>;
  /** Returns why a command must not be run, which becomes the call's result; undefined if it may. Default: every command may be run. */
  readonly refuses?: (command: Command) => string | undefined;
  /**
   * Effect class of the commands: what recovery may do. Default `external`. Choose a weaker one only if `refuses` excludes other commands.
   */
  readonly effect?: EffectClass;
  /** When to ask a person. Default: always, unless the effect class says that nothing is changed or `allow` names the tool. */
  readonly approval?: ApprovalPolicy<{ readonly command: Command }>;
  /** Timeout of one command in milliseconds, after which its process group is killed. Default 120,000. */
  readonly timeoutMs?: number;
  /** The most bytes recorded of stdout, and of stderr: beginning and end. Default 32 KiB. */
  readonly outputBytesMax?: number;
}

const input = {
  type: 'object',
  required: ['command'],
  additionalProperties: false,
  properties: {
    command: {
      type: 'array',
      minItems: 1,
      items: { type: 'string' },
      description:
        'A program and its arguments: ["git", "log", "-5"]. No shell reads them; for a script: ["sh", "-c", "…"].',
    },
  },
} as const;

const optionNames = Object.keys({
  cwd: true,
  env: true,
  refuses: true,
  effect: true,
  approval: true,
  timeoutMs: true,
  outputBytesMax: true,
} satisfies Record<keyof ShellToolOptions, true>);

/**
 * Makes the tool. Secrets that the run knows are masked in the output. An exit code other than 0 is reported to the model and is not a
 * failure.
 */
export function shellTool<S extends StateView = StateView>(
  options: ShellToolOptions<S> = {},
): FunctionTool & OfState<S> {
  refuseUnknownKeys('shellTool', options, optionNames);
  const {
    cwd,
    env = {},
    refuses,
    effect = 'external',
    approval,
    timeoutMs = 120_000,
    outputBytesMax = 32 * 1024,
  } = options as ShellToolOptions<never>;
  return tool({
    description: 'Runs a program and gives its exit code and what it printed.',
    input,
    effect,
    timeoutMs,
    ...(approval !== undefined && { approval: approval as ApprovalPolicy<unknown> }),
    run: async (args, { idempotencyKey, signal, secrets, emit, node }) => {
      const { command } = args as { readonly command: Command };
      const { request, mask } = await beforeEffect(async () => {
        const reason = refuses?.(command);
        if (reason !== undefined)
          throw new NodeFailure(reason, {
            code: 'COMMAND_REFUSED',
            applied: 'no',
          });
        const resolved = await resolveSecrets(env, secrets);
        const place = typeof cwd === 'function' ? cwd({ state: node.state as never }) : cwd;
        const process = {
          command,
          env: resolved.value as Record<string, string>,
          ...(place !== undefined && { cwd: place }),
        };
        return {
          request: createShellRequest(process, idempotencyKey),
          mask: resolved.mask,
        };
      });
      const end = await runCommand({ emit, signal }, request, {
        mask,
        maxOutputBytes: outputBytesMax,
      });
      const { exitCode, signal: endedBy, stdout, stderr } = end;
      return {
        exitCode,
        ...(endedBy !== null && { signal: endedBy }),
        stdout,
        ...(stderr !== '' && { stderr }),
      };
    },
  });
}
