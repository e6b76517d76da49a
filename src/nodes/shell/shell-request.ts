/** Validates the input of a shell node, and makes from it one process to start. No value can become shell syntax. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

/** A configuration with its functions called and its secrets inserted. */
export interface ResolvedShell {
  readonly command: string | readonly unknown[];
  readonly args?: unknown;
  readonly env?: Readonly<Record<string, unknown>>;
  readonly cwd?: unknown;
  readonly input?: unknown;
}

export interface ShellRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
}

/** Environment variables that every process inherits. All others must be named. */
const passedOn = ['PATH', 'HOME', 'LANG'];

/** Makes the request. @throws NodeFailure ARGUMENT_INVALID before anything is started */
export function createShellRequest(
  { command, args = [], env = {}, cwd, input }: ResolvedShell,
  idempotencyKey: string,
): ShellRequest {
  if (!Array.isArray(args)) refuse('args', 'is no list');
  const values = (args as readonly unknown[]).map((value, index) => toArgument(value, `args[${index}]`));
  const [file = '', ...own] =
    typeof command === 'string'
      ? ['/bin/sh', '-c', command, 'sh']
      : command.map((value, index) => toArgument(value, `command[${index}]`));
  if (input !== undefined && typeof input !== 'string' && !(input instanceof Uint8Array))
    refuse('input', 'is neither text nor bytes');
  return {
    file,
    args: [...own, ...values],
    env: createEnvironment(env, idempotencyKey),
    ...(cwd !== undefined && { cwd: toArgument(cwd, 'cwd') }),
    ...(input !== undefined && { input }),
  };
}

function createEnvironment(named: Readonly<Record<string, unknown>>, idempotencyKey: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of passedOn) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) env[name] = typeof value === 'boolean' ? String(value) : toArgument(value, `env.${name}`);
  }
  env['CAIRN_IDEMPOTENCY_KEY'] = idempotencyKey;
  return env;
}

function toArgument(value: unknown, place: string): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
    refuse(place, 'is neither text nor a number');
  const text = String(value);
  if (text.includes('\0')) refuse(place, 'holds a NUL character');
  return text;
}

function refuse(place: string, reason: string): never {
  throw new NodeFailure(`${place} ${reason}`, { code: 'ARGUMENT_INVALID', applied: 'no', data: { place } });
}
