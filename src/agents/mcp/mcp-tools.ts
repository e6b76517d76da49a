/** Which MCP server an agent may use, how it is reached, and what is believed of it. */
import { CairnError } from '../../errors.ts';
import type { SecretReference } from '../../graph/secret-reference.ts';
import { describeConfig } from '../../nodes/draft/computed.ts';
import { refuseUnknownKeys } from '../../nodes/draft/known-keys.ts';

/** A text, or a secret that is resolved whenever the server is reached. */
type Setting = string | SecretReference;

interface McpCommonConfig {
  /** Its name here: its tools are known as `server__tool`. Letters, digits, `-` and single `_`, 32 at most. */
  readonly server: string;
  /** Tools that the model is offered, by the server's names. Default: all. */
  readonly only?: readonly string[];
  /** Tools that may be called without asking a person, by the server's names; true: all that are offered. Default: none. */
  readonly allow?: readonly string[] | true;
  /**
   * Whether what the server says of its tools is believed: one that it calls read-only is of class `read` and does not ask, one that it
   * calls idempotent is repeated when it is in doubt. Default false: every tool is `external`.
   */
  readonly trustsAnnotations?: boolean;
  /** Of one request, connecting included. Default 60,000. */
  readonly timeoutMs?: number;
}

/** A server that is started for each use, and spoken to over its standard input and output. */
export interface McpCommandConfig extends McpCommonConfig {
  readonly command: string;
  readonly args?: readonly string[];
  /** On top of PATH, HOME and the like. */
  readonly env?: Readonly<Record<string, Setting>>;
  readonly cwd?: string;
}

/** A server that is reached by HTTP. */
export interface McpUrlConfig extends McpCommonConfig {
  readonly url: string;
  readonly headers?: Readonly<Record<string, Setting>>;
}

export type McpConfig = McpCommandConfig | McpUrlConfig;

/** The tools of one MCP server, for `servers` of an agent. */
export interface McpTools {
  /** A copy of what was given, with defaults. */
  readonly config: McpConfig & Required<Pick<McpCommonConfig, 'allow' | 'trustsAnnotations' | 'timeoutMs'>>;
  /** What is hashed of it: secrets stand as their names. */
  readonly data: unknown;
}

const configKeys = 'server only allow trustsAnnotations timeoutMs command args env cwd url headers'.split(' ');
const timeoutMsDefault = 60_000;

/**
 * The tools of an MCP server. Nothing is reached here: an agent asks for the tools when it begins, and whether they are the same when it
 * is taken up again. Needs the package `@modelcontextprotocol/client`.
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
  const { allow = [], only, trustsAnnotations = false } = copy;
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
