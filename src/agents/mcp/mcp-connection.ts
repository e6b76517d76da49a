/** The only place that talks to MCP servers. A connection is opened for one piece of work and closed with it. */
import type * as ClientSdk from '@modelcontextprotocol/client';
import type { Client, CallToolResult, Transport } from '@modelcontextprotocol/client';
import type * as StdioSdk from '@modelcontextprotocol/client/stdio';
import { CairnError } from '../../errors.ts';
import { importPeer } from '../../optional-peers.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { SecretReader } from '../../graph/contracts/access.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { maskFailure, resolveSecrets, type ResolvedSecrets } from '../../nodes/secrets/secret.ts';
import type { MadeCall, McpTools } from './mcp-tools.ts';
import {
  askedFailure,
  isSameQuestion,
  questionIn,
  questionsInError,
  type AnsweredQuestion,
  type ElicitReply,
  type ServerQuestion,
} from './server-questions.ts';

/** A tool as its server describes it. Nothing of it is verified. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly isReadOnly: boolean;
  readonly idempotent: boolean;
}

/** The result of a call, in the format of MCP. */
export type McpResult = Pick<CallToolResult, 'content' | 'structuredContent' | 'isError'>;

/** An open connection. */
export interface McpSession {
  list(): Promise<readonly ListedTool[]>;
  /** Makes a call. @throws NodeFailure MCP_ASKS the server asks a person, and `answered` has no answer */
  call(tool: string, args: unknown, how?: CallOptions): Promise<McpResult>;
}

/** How a call is made. */
interface CallOptions {
  /** Ends this call. Default: that of the connection. */
  readonly signal?: AbortSignal;
  /** What the server asked when the call was made before, with the answers. */
  readonly answered?: readonly AnsweredQuestion[];
}

/** A call that is under way: what the server may be told, and what it asked that nobody has answered. */
interface OpenCall {
  readonly answered: readonly AnsweredQuestion[];
  readonly asked: ServerQuestion[];
}

/** What a connection needs from its user. */
export interface McpUse {
  readonly secrets: SecretReader;
  readonly signal: AbortSignal;
}

/** What a server said beside its answers. */
interface ServerOutput {
  /** The end of what it wrote to standard error. */
  text: string;
  /** Whether it refused the last request, or one while connecting, for its credentials. */
  isUnauthorized: boolean;
}

/** How many characters of a server's standard error are shown if the server fails. */
const errorCharacters = 500;

/**
 * Connects, does the work, and closes the connection. Secrets in the settings are masked in everything that comes back. After a 401 they
 * are read again, and if one has changed, the work is done once more over a new connection.
 * @param renewed - the secrets as they were read again
 * @throws NodeFailure MCP_UNAVAILABLE (`applied: 'no'`) there is no connection or no list of tools; MCP_CALL_FAILED; CairnError
 * CONFIG_MISSING_PEER; the signal's reason
 */
export async function withMcpServer<T>(
  source: McpTools,
  use: McpUse,
  work: (session: McpSession) => Promise<T>,
  renewed?: ResolvedSecrets,
): Promise<T> {
  const { config } = source;
  const { secrets, signal } = use;
  const { value, mask } = renewed ?? (await resolveSecrets(config, secrets));
  const settings = value as McpTools['config'];
  const sdk = await importPeer<typeof ClientSdk>('@modelcontextprotocol/client');
  // Negotiating the protocol with a program would start it twice, so programs get the older protocol, which they all speak.
  const mode = 'url' in settings ? 'auto' : 'legacy';
  const capabilities = { elicitation: { form: {}, url: {} } };
  const client = new sdk.Client({ name: 'cairn', version: '1' }, { capabilities, versionNegotiation: { mode } });
  // Servers do not say for which call they ask: it is the one that was made last.
  const open: OpenCall[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => replyTo(open.at(-1), params));
  const output: ServerOutput = { text: '', isUnauthorized: false };
  const options = { signal, timeout: settings.timeoutMs };
  try {
    await tryFirst(settings.server, output, async () =>
      client.connect(await transportOf(settings, sdk.StreamableHTTPClientTransport, output), options),
    );
    const masked = <Result>(what: Promise<Result>): Promise<Result> =>
      what.then(
        (value) => mask.all(value) as Result,
        (error: unknown) => {
          throw error instanceof NodeFailure ? maskFailure(error, mask) : error;
        },
      );
    const list = (): Promise<readonly ListedTool[]> =>
      masked(
        tryFirst(settings.server, output, async () => (await client.listTools(undefined, options)).tools.map(listed)),
      );
    const call = async (name: string, args: unknown, how: CallOptions = {}): Promise<McpResult> => {
      const own: OpenCall = { answered: how.answered ?? [], asked: [] };
      open.push(own);
      const within = { ...options, signal: how.signal ?? signal };
      const made = callTool(client, settings.server, output, name, args, within, own).finally(() =>
        open.splice(open.indexOf(own), 1),
      );
      return masked(made);
    };
    return await work({ list, call });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof NodeFailure)) throw error;
    if (output.isUnauthorized && error.applied === 'no' && renewed === undefined) {
      const again = await resolveSecrets(config, secrets).catch(() => undefined);
      if (again !== undefined && encodeValue(again.value) !== encodeValue(value))
        return await withMcpServer(source, use, work, again);
    }
    throw maskFailure(error, mask);
  } finally {
    await client.close().catch(() => undefined);
  }
}

/** Work over a connection, and what is to be said of it once: that it is a new one. */
type SessionWork<T> = (session: McpSession, notice: string | undefined) => Promise<T>;

/**
 * A connection that stays open from call to call as long as an attempt, for a server whose session has a state. When it is opened and calls
 * were made before, `reopen` brings the state back. After a failure the next call opens another.
 */
export class ReusedSession {
  readonly #source: McpTools;
  readonly #use: McpUse;
  /** Calls that were made, in this attempt and before it: by the server's name of the tool, and what each gave. */
  #made: MadeCall[];
  readonly #recorded: () => readonly MadeCall[];
  #opened: Promise<McpSession> | undefined;
  #notice: string | undefined;
  #end: () => void = () => undefined;

  /** @param recorded - the calls that are on record now */
  constructor(source: McpTools, use: McpUse, recorded: () => readonly MadeCall[]) {
    this.#source = source;
    this.#use = use;
    this.#recorded = recorded;
    this.#made = [...recorded()];
    use.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  /** @throws as withMcpServer */
  async with<T>(tool: string, work: SessionWork<T>): Promise<T> {
    const opened = (this.#opened ??= this.#open());
    try {
      const session = await opened;
      const notice = this.#notice;
      this.#notice = undefined;
      const output = await work(session, notice);
      this.#made.push({ tool, output });
      return output;
    } catch (error) {
      if (this.#opened === opened) {
        this.#opened = undefined;
        this.#end();
      }
      throw error;
    }
  }

  #open(): Promise<McpSession> {
    return new Promise<McpSession>((resolve, reject) => {
      const ended = new Promise<void>((end) => (this.#end = end));
      withMcpServer(this.#source, this.#use, async (session) => {
        const { reopen } = this.#source.config.session ?? {};
        // A call in doubt of which a person said in this attempt that it happened is on record, and was not made here.
        const recorded = this.#recorded();
        if (recorded.length > this.#made.length) this.#made = [...recorded];
        if (reopen !== undefined && this.#made.length > 0)
          this.#notice = await reopen({ call: (tool, args) => session.call(tool, args), made: this.#made });
        resolve(session);
        await ended;
      }).catch(reject);
    });
  }
}

async function transportOf(
  config: McpTools['config'],
  OverHttp: new (
    url: URL,
    options: { readonly requestInit: RequestInit; readonly fetch: ClientSdk.FetchLike },
  ) => Transport,
  output: ServerOutput,
): Promise<Transport> {
  if ('url' in config)
    return new OverHttp(new URL(config.url), {
      requestInit: { headers: config.headers as Record<string, string> },
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (init?.method === 'POST' && response.status === 401) output.isUnauthorized = true;
        return response;
      },
    });
  const { StdioClientTransport, getDefaultEnvironment } = await importPeer<typeof StdioSdk>(
    '@modelcontextprotocol/client/stdio',
  );
  const { command, args = [], env = {}, cwd } = config;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...(env as Record<string, string>) },
    stderr: 'pipe',
    ...(cwd !== undefined && { cwd }),
  });
  transport.stderr?.on('data', (chunk: Buffer) => {
    output.text = `${output.text}${chunk.toString()}`.slice(-errorCharacters);
  });
  return transport;
}

/** Runs what comes before a call. A failure here had no effect, so it may be retried. */
async function tryFirst<T>(server: string, output: { readonly text: string }, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (CairnError.is(error)) throw error;
    const wrote = output.text.trim() === '' ? '' : `; it wrote: ${output.text.trim()}`;
    throw new NodeFailure(`the MCP server ${server} cannot be used: ${(error as Error).message}${wrote}`, {
      code: 'MCP_UNAVAILABLE',
      applied: 'no',
      cause: error,
    });
  }
}

/** Error codes of JSON-RPC that mean that nothing was done: unknown method, invalid parameters. */
const refusals: ReadonlySet<unknown> = new Set([-32_601, -32_602]);

async function callTool(
  client: Client,
  server: string,
  output: ServerOutput,
  name: string,
  args: unknown,
  options: { readonly signal: AbortSignal; readonly timeout: number },
  { asked }: OpenCall,
): Promise<McpResult> {
  output.isUnauthorized = false;
  try {
    const result = await client.callTool({ name, arguments: args as Record<string, unknown> }, options);
    if (asked.length > 0) throw askedFailure(server, name, asked);
    return result;
  } catch (error) {
    const questions = asked.length > 0 ? asked : questionsInError(error);
    if (questions.length > 0) throw askedFailure(server, name, questions);
    const { message, code } = error as { readonly message: string; readonly code?: unknown };
    throw new NodeFailure(`the MCP server ${server} did not answer the call of ${name}: ${message}`, {
      code: 'MCP_CALL_FAILED',
      applied: refusals.has(code) || output.isUnauthorized ? 'no' : 'unknown',
      cause: error,
    });
  }
}

/** The answer to what a server asks; without one it is told that nobody answered, which ends the call. */
function replyTo(call: OpenCall | undefined, params: unknown): ElicitReply {
  const question = questionIn(params);
  if (call === undefined || question === undefined) return { action: 'cancel' };
  const known = call.answered.find((one) => isSameQuestion(one.question, question));
  if (known !== undefined) return known.reply;
  call.asked.push(question);
  return { action: 'cancel' };
}

function listed(tool: {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined;
}): ListedTool {
  const { name, description, inputSchema, annotations = {} } = tool;
  return {
    name,
    description: description === undefined || description === '' ? name : description,
    inputSchema: inputSchema as JsonSchema,
    isReadOnly: annotations.readOnlyHint === true,
    idempotent: annotations.idempotentHint === true,
  };
}
