/** A node that runs a command in a sandbox, and tools with which an agent does. */
import { tool, workInTools, type ComposedTool } from '../agents/tools/tool-box.ts';
import { CairnError } from '../errors.ts';
import { NodeFailure, type NodeContext, type StateView } from '../graph/contracts/node-contract.ts';
import type { FileRef } from '../graph/file-ref.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../nodes/draft/node-draft.ts';
import { describeConfig, resolveComputed, type Computed } from '../nodes/draft/computed.ts';
import {
  checkSandboxOptions,
  SandboxSession,
  sandboxOptionNames,
  workOutside,
  type SandboxOptions,
  type SandboxOutput,
} from './session.ts';

type Content = string | Uint8Array | FileRef;

/** Configuration of a {@link sandboxNode}. */
export interface SandboxNodeConfig<S extends StateView = StateView> extends SandboxOptions {
  /** A program and its arguments; no shell reads them. Several are run one after the other, until one fails. */
  readonly commands: Computed<readonly (readonly string[])[], S>;
  /** Files that are there when it begins, by path. */
  readonly files?: Computed<Readonly<Record<string, Content>>, S>;
  /** What the last command reads from stdin. */
  readonly input?: Computed<string, S>;
}

/** The output of a sandbox node: that of its last command, and all files of its folder; none if what is in it `isUnrecorded`. */
export interface SandboxNodeOutput extends SandboxOutput {
  readonly files: Readonly<Record<string, FileRef>>;
}

/**
 * Makes a node that runs commands in a sandbox of its own. Each is a recorded step, with what it changed in its folder. A command that exits with
 * another code than 0 fails the node (`EXIT_CODE`; data: the output).
 * @throws CONFIG_INVALID; the node: SANDBOX_UNAVAILABLE
 */
export function sandboxNode<S extends StateView = StateView>(
  config: SandboxNodeConfig<S>,
  options: NodeOptions = {},
): NodeDraft<S, SandboxNodeOutput> {
  refuseUnknownKeys('sandboxNode', config, [...sandboxOptionNames, 'commands', 'files', 'input']);
  checkSandboxOptions('sandboxNode', config);
  if (typeof config.commands !== 'function' && !isCommands(config.commands))
    throw new CairnError('CONFIG_INVALID', {
      reason: "sandboxNode: commands must be a list of commands: [['python3', 'run.py']]",
    });
  const { sandboxes, ...rest } = config as SandboxNodeConfig;
  const { commands, files, input, ...own } = rest;
  const { data, codeText, config: settings } = describeConfig({ commands, files, input });
  const run = async (ctx: NodeContext): Promise<SandboxNodeOutput> => {
    const resolved = resolveComputed(settings, ctx.state) as {
      readonly commands: unknown;
      readonly files?: Readonly<Record<string, Content>>;
      readonly input?: string;
    };
    if (!isCommands(resolved.commands))
      throw new NodeFailure('commands gave no list of commands', { code: 'ARGUMENT_INVALID', applied: 'no' });
    const session = new SandboxSession(ctx, { sandboxes, ...own });
    try {
      for (const [path, content] of Object.entries(resolved.files ?? {})) await session.write(path, content);
      let output: SandboxOutput | undefined;
      for (const [index, argv] of resolved.commands.entries()) {
        output = await session.exec(argv, {
          input: index === resolved.commands.length - 1 ? resolved.input : undefined,
        });
        if (output.exitCode !== 0) throw failure(argv, output);
      }
      const files = output?.isUnrecorded === true ? {} : session.files;
      await session.close();
      return { ...(output as SandboxOutput), files };
    } finally {
      await session.leave();
    }
  };
  return draftNode(
    {
      type: 'sandbox',
      effect: 'read',
      config: { ...(data as object), ...own, sandboxes: sandboxes.name },
      implementation: { run, codeText, inside: workOutside(config) },
    },
    options,
  );
}

function isCommands(value: unknown): value is readonly (readonly string[])[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      (argv: unknown) => Array.isArray(argv) && argv.length > 0 && argv.every((one) => typeof one === 'string'),
    )
  );
}

function failure(argv: readonly string[], output: SandboxOutput): NodeFailure {
  const { exitCode, signal, exceeded, stderr } = output;
  const how =
    exceeded === undefined
      ? exitCode === null
        ? `was ended by ${signal}`
        : `exited with ${exitCode}`
      : `used more ${exceeded} than it may`;
  const line = stderr.trimEnd().split('\n').at(-1)?.slice(0, 200) ?? '';
  return new NodeFailure(`${argv[0]} ${how}${line === '' ? '' : `: ${line}`}`, {
    code: 'EXIT_CODE',
    data: output,
    applied: 'ended',
  });
}

/** The sessions of agents, by the signal of their attempt: the tools of one agent share a folder. */
const sessions = new WeakMap<AbortSignal, SandboxSession>();

/**
 * Makes tools with which an agent works in a sandbox: `exec`, `write_file` and `read_file`. They share one folder, which lasts as long as the
 * agent's visit. With the network on, a person is asked before each command.
 * @throws CONFIG_INVALID
 */
export function sandboxTools(
  options: SandboxOptions,
): Readonly<Record<'exec' | 'write_file' | 'read_file', ComposedTool>> {
  refuseUnknownKeys('sandboxTools', options, sandboxOptionNames);
  checkSandboxOptions('sandboxTools', options);
  const sessionOf = (ctx: NodeContext): SandboxSession => {
    if (ctx.retired !== undefined)
      throw new NodeFailure('a sandbox is not kept over a summary: take `summary` out of the history of the agent', {
        code: 'SANDBOX_LOST',
      });
    const known = sessions.get(ctx.signal);
    if (known !== undefined) return known;
    const made = new SandboxSession(ctx, options);
    sessions.set(ctx.signal, made);
    return made;
  };
  const text = { type: 'string' } as const;
  const path = { type: 'string', description: 'Path in the folder: a/b.txt' } as const;
  const object = (
    properties: object,
    required: readonly string[] = Object.keys(properties),
  ): Readonly<Record<string, unknown>> => ({ type: 'object', required, additionalProperties: false, properties });
  const exec: ComposedTool['run'] = (args, ctx) => {
    const { command, input } = args as { readonly command: readonly string[]; readonly input?: string };
    return sessionOf(ctx).exec(command, { input, ctx });
  };
  const [outside] = workOutside(options);
  if (outside !== undefined) workInTools.set(exec, outside);
  return {
    exec: tool({
      description: `Runs a program in a sandbox${options.network === true ? '' : ' without a network'}, and gives its exit code and what it printed. No shell reads the arguments; for a script: ["sh", "-c", "…"].`,
      input: object(
        {
          command: { type: 'array', minItems: 1, items: text },
          input: { type: 'string', description: 'What it reads from stdin.' },
        },
        ['command'],
      ),
      composed: true,
      approval: 'never',
      run: exec,
    }),
    write_file: tool({
      description: 'Writes a file in the folder of the sandbox.',
      input: object({ path, content: text }),
      composed: true,
      run: async (args, ctx) => {
        const file = args as { readonly path: string; readonly content: string };
        await sessionOf(ctx).write(file.path, file.content, { ctx });
        return 'written';
      },
    }),
    read_file: tool({
      description: 'Reads a text file in the folder of the sandbox.',
      input: object({ path }),
      composed: true,
      run: async (args, ctx) =>
        new TextDecoder().decode(await sessionOf(ctx).read((args as { readonly path: string }).path, ctx)),
    }),
  };
}
