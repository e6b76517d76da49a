/** Runs one program to its end. Its output is masked, limited in size, and sent as live events. */
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';
import { createBoundedText, type BoundedText } from './bounded-text.ts';
import type { ProcessEnd } from './run-process.ts';
import type { ShellRequest } from './shell-request.ts';

export { createShellRequest, type ResolvedShell, type ShellRequest } from './shell-request.ts';

/** How a program ended, and its output. */
export interface CommandEnd extends ProcessEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Number of bytes omitted from stdout and stderr. */
  readonly omittedBytes: number;
}

export interface CommandOptions {
  readonly mask: TextMask;
  /** The most bytes recorded of stdout, and of stderr: beginning and end. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** Milliseconds between SIGTERM and SIGKILL. Default 2,000. */
  readonly killGraceMs?: number | undefined;
}

/**
 * Runs a program. Resolves when it is dead, whatever its exit code.
 * @throws NodeFailure SPAWN_FAILED (`applied: 'no'`); the signal's reason when aborted, once the program is dead
 */
export async function runCommand(
  ctx: Pick<NodeContext, 'emit' | 'signal'>,
  request: ShellRequest,
  { mask, maxOutputBytes = 1024 * 1024, killGraceMs = 2_000 }: CommandOptions,
): Promise<CommandEnd> {
  const stdout = collectStream('stdout', ctx, mask, createBoundedText(maxOutputBytes));
  const stderr = collectStream('stderr', ctx, mask, createBoundedText(maxOutputBytes));
  const end = await start(ctx.signal, request, killGraceMs, { stdout, stderr });
  const out = stdout.end();
  const err = stderr.end();
  ctx.signal.throwIfAborted();
  return { ...end, stdout: out.text, stderr: err.text, omittedBytes: out.omittedBytes + err.omittedBytes };
}

/** Hint for the failure of a command. With an exit code it ended by itself; a signal may have stopped it at any moment (X3). */
export function endedBy({ exitCode }: CommandEnd): { readonly applied?: 'ended' } {
  return exitCode === null ? {} : { applied: 'ended' };
}

/** How a program ended, for a message: `exited with 3: the last line of stderr`. */
export function describeEnd({ exitCode, signal, stderr }: CommandEnd): string {
  const how = exitCode === null ? `was ended by ${signal ?? 'a signal'}` : `exited with ${exitCode}`;
  const line = stderr.trimEnd().split('\n').at(-1)?.slice(0, 200) ?? '';
  return line === '' ? how : `${how}: ${line}`;
}

interface Collector {
  push(bytes: Buffer): void;
  end(): ReturnType<BoundedText['end']>;
}

/** Decodes a stream to text, masks secrets, sends complete pieces as live events, and keeps beginning and end. */
function collectStream(
  stream: 'stdout' | 'stderr',
  ctx: Pick<NodeContext, 'emit'>,
  mask: TextMask,
  collected: BoundedText,
): Collector {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const masked = mask.createStream();
  const take = (text: string): void => {
    if (text === '') return;
    collected.push(text);
    ctx.emit({ kind: 'output', stream, text });
  };
  return {
    push: (bytes) => take(masked.push(decoder.decode(bytes, { stream: true }))),
    end() {
      take(masked.push(decoder.decode()));
      take(masked.end());
      return collected.end();
    },
  };
}

async function start(
  signal: AbortSignal,
  request: ShellRequest,
  killGraceMs: number,
  collectors: Readonly<Record<'stdout' | 'stderr', Collector>>,
): Promise<ProcessEnd> {
  // Loaded on demand, for those who never run a program.
  const { runProcess } = await import('./run-process.ts');
  signal.throwIfAborted();
  try {
    return await runProcess({
      ...request,
      signal,
      killGraceMs,
      onOutput: (stream, bytes) => collectors[stream].push(bytes),
    });
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown';
    const where = request.cwd === undefined ? '' : ` in ${request.cwd}`;
    throw new NodeFailure(`${request.file} could not be started${where} (${reason})`, {
      code: 'SPAWN_FAILED',
      applied: 'no',
      data: { file: request.file, reason, ...(request.cwd !== undefined && { cwd: request.cwd }) },
    });
  }
}
