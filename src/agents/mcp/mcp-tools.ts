/** Describes an MCP server for an agent: how it is reached, which of its tools are used, and what of its claims is trusted. */
import { CairnError } from '../../errors.ts';
import type { SecretReference } from '../../graph/secret-reference.ts';
import { describeConfig } from '../../nodes/draft/computed.ts';
import { isTexts } from '../check-options.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** A text, or a secret that is resolved each time the server is reached. */
type Setting = string | SecretReference;

interface McpCommonConfig {
  /** Name of the server here; its tools are called `server__tool`. Letters, digits, `-` and single `_`, at most 32 characters. */
  readonly server: string;
  /** Tools to offer to the model, by the server's names. Default: all. */
  readonly only?: readonly string[];
  /** Tools that may be called without asking a person, by the server's names; `true` for all. Default: none. */
  readonly allow?: readonly string[] | true;
  /**
   * Whether to trust the server's annotations. A tool marked read-only then gets class `read` and asks nobody, and one marked idempotent is
   * repeated when in doubt. Default false: every tool is `external`.
   */
  readonly trustsAnnotations?: boolean;
  /** Timeout of one request, with connecting, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /**
   * For a server whose session has a state, such as a browser: the connection stays open from call to call, as long as the attempt, and a
   * program is started once. Default: a connection for each call.
   */
  readonly session?: McpSessionConfig;
}

/** A session of an MCP server that stays open. */
export interface McpSessionConfig {
  /**
   * Brings the state of a session back when a new one is opened after calls were made: in another attempt, or after a failure. The text
   * that it returns is put before what the next call gives, for the model.
   */
  readonly reopen?: (past: ReopenedSession) => string | undefined | Promise<string | undefined>;
}

/** A session that has just been opened, and the calls that were made in those before. */
export interface ReopenedSession {
  /** Calls a tool, by the server's name. The call is part of the next one of the model, and not on record by itself. */
  call(tool: string, args: unknown): Promise<unknown>;
  /** In order. Calls that a summary of the conversation replaces are not among them. */
  readonly made: readonly MadeCall[];
}

export interface MadeCall {
  /** The server's name of the tool. */
  readonly tool: string;
  readonly output: unknown;
}

/** A server that is started as a program for each use, and spoken to over standard input and output. */
export interface McpCommandConfig extends McpCommonConfig {
  readonly command: string;
  readonly args?: readonly string[];
  /** Environment variables, in addition to PATH, HOME and the like. */
  readonly env?: Readonly<Record<string, Setting>>;
  readonly cwd?: string;
}

/** A server that is reached over HTTP. */
export interface McpUrlConfig extends McpCommonConfig {
  readonly url: string;
  readonly headers?: Readonly<Record<string, Setting>>;
}

export type McpConfig = McpCommandConfig | McpUrlConfig;

/** The tools of one MCP server, for an agent's `servers`. */
export interface McpTools {
  /** A copy of the configuration with defaults filled in. */
  readonly config: McpConfig & Required<Pick<McpCommonConfig, 'allow' | 'trustsAnnotations' | 'timeoutMs'>>;
  /** The part that is hashed; secrets are represented by their names. */
  readonly data: unknown;
}

const configKeys = 'server only allow trustsAnnotations timeoutMs command args env cwd url headers session'.split(' ');
const timeoutMsDefault = 60_000;

/**
 * Describes the tools of an MCP server. It does not connect yet: an agent lists the tools when it begins, and checks that they are the same
 * when it is resumed. Needs the package `@modelcontextprotocol/client`.
 * @throws CONFIG_INVALID
 */
export function mcpTools(config: McpConfig): McpTools {
  refuseUnknownKeys('mcpTools', config, configKeys);
  const { config: copy, data } = describeConfig(config);
  const { server, timeoutMs = timeoutMsDefault } = copy;
  if (typeof server !== 'string' || !/^(?=.{1,32}$)[A-Za-z][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*$/u.test(server))
    refuse('server must be a name of letters, digits, - and single _, 32 at most');
  const [command, url] = ['command' in copy ? copy.command : undefined, 'url' in copy ? copy.url : undefined];
  if ((command === undefined) === (url === undefined)) refuse(`${server} needs a command, or a url`);
  if (url !== undefined && !/^https?:$/u.test(protocolOf(url))) refuse(`${server}: url must be http or https`);
  if (url !== undefined ? 'args' in copy || 'env' in copy || 'cwd' in copy : 'headers' in copy)
    refuse(`${server}: args, env and cwd are for a command, headers for a url`);
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) refuse(`${server}: timeoutMs must be a whole number over 0`);
  const { allow = [], only, session, trustsAnnotations = false } = copy;
  if (allow !== true && !isTexts(allow)) refuse(`${server}: allow must be a list of names of tools, or true`);
  if (only !== undefined && !isTexts(only)) refuse(`${server}: only must be a list of names of tools`);
  if (typeof trustsAnnotations !== 'boolean') refuse(`${server}: trustsAnnotations must be true or false`);
  if (session !== undefined) refuseUnknownKeys('mcpTools: session', session, ['reopen']);
  if (!['undefined', 'function'].includes(typeof session?.reopen)) refuse(`${server}: reopen must be a function`);
  const stray = allow === true || only === undefined ? undefined : allow.find((name) => !only.includes(name));
  if (stray !== undefined) refuse(`${server}: allow names ${stray}, which is not offered`);
  return { config: { ...copy, allow, trustsAnnotations, timeoutMs }, data };
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : '';
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `mcpTools: ${reason}` });
}
