/** A tool that lets a model run programs. A person is asked before each, unless the agent's `allow` says otherwise. */
import { NodeFailure, type EffectClass, type StateView } from '../../graph/contracts/node-contract.ts';
import type { SecretReference } from '../../graph/secret-reference.ts';
import { beforeEffect } from '../../nodes/draft/before-effect.ts';
import { resolveSecrets } from '../../nodes/secrets/secret.ts';
import { createShellRequest, runCommand } from '../../nodes/shell/run-command.ts';
import { tool, type Approval, type FunctionTool } from '../agent-tool.ts';

/** A program and its arguments; no shell reads them. */
export type Command = readonly string[];

export interface ShellToolOptions {
  /** Where programs run. Default: where the process was started. */
  readonly cwd?: string | ((given: { readonly state: StateView }) => string);
  /** Beside PATH, HOME and LANG, the whole environment. CAIRN_IDEMPOTENCY_KEY is added. */
  readonly env?: Readonly<Record<string, string | SecretReference>>;
  /** Why a command is not run at all, which the model is told; undefined: it may be. Default: any may be. */
  readonly refuses?: (command: Command) => string | undefined;
  /** What recovery may do with a command. Default `external`; give less only where `refuses` sees to it. */
  readonly effect?: EffectClass;
  /** Default: a person is asked, unless the class says that nothing is changed or `allow` names the tool. */
  readonly approval?: Approval<{ readonly command: Command }>;
  /** Of one command; its process group is killed then. Default 120,000 ms. */
  readonly timeoutMs?: number;
  /** Kept of stdout and of stderr each: the head and the tail. Default 32 KiB. */
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

/** Makes the tool. What a program says of secrets that the run knows is masked; an exit code other than 0 is told, and is no failure. */
export function shellTool(options: ShellToolOptions = {}): FunctionTool {
  const {
    cwd,
    env = {},
    refuses,
    effect = 'external',
    approval,
    timeoutMs = 120_000,
    outputBytesMax = 32 * 1024,
  } = options;
  return tool({
    description: 'Runs a program and gives its exit code and what it printed.',
    input,
    effect,
    timeoutMs,
    ...(approval !== undefined && { approval: approval as Approval<unknown> }),
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
        const place = typeof cwd === 'function' ? cwd({ state: node.state }) : cwd;
        const given = {
          command,
          env: resolved.value as Record<string, string>,
          ...(place !== undefined && { cwd: place }),
        };
        return {
          request: createShellRequest(given, idempotencyKey),
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
