/**
 * The tools of an agent that uses MCP servers: its own, and those of the servers. The servers' lists are recorded as steps, so that a
 * repeated function offers the same tools. Whenever the agent is resumed, the servers list their tools again, and a person is asked about
 * changes.
 */
import { CairnError } from '../../errors.ts';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { FileAccess } from '../../graph/contracts/access.ts';
import type { FileRef } from '../../graph/file-ref.ts';
import { diffValues } from '../../state/values/diff.ts';
import { canonicalText, hashText } from '../../state/values/canonical-text.ts';
import type { FunctionTool, NamedTool, ToolBox, ToolOffer } from '../tools/tool-box.ts';
import { ReusedSession, withMcpServer, type ListedTool, type McpResult, type McpSession } from './mcp-connection.ts';
import type { MadeCall, McpTools } from './mcp-tools.ts';
import type { SavedOffer } from '../turn-note.ts';

// Makes the tools of an MCP server tools of an agent: with names of their own, each call a step, and a fingerprint to notice changes.

/** A hash of everything that is sent to a model about a tool and everything we rely on. */
function fingerprint(tool: ListedTool | readonly ListedTool[]): string {
  return hashText(canonicalText(tool)).slice(0, 22);
}

/** The differences between two lists of tools, in words for the person who is asked. */
export function differences(before: readonly ListedTool[], now: readonly ListedTool[]): readonly string[] {
  const named = (tools: readonly ListedTool[]): ReadonlyMap<string, ListedTool> =>
    new Map(tools.map((tool) => [tool.name, tool]));
  const [old, fresh] = [named(before), named(now)];
  const changed = now.flatMap((tool) => {
    const was = old.get(tool.name);
    if (was === undefined) return [`new: ${tool.name}: ${tool.description}`];
    if (fingerprint(was) === fingerprint(tool)) return [];
    const description = was.description === tool.description ? [] : [`${was.description} -> ${tool.description}`];
    return [`changed: ${tool.name}: ${[...description, ...changesOf(was, tool)].join('; ')}`];
  });
  return [...changed, ...before.filter(({ name }) => !fresh.has(name)).map(({ name }) => `gone: ${name}`)];
}

/** The most changes of one tool that are told, and characters of a value. */
const toldChanges = 20;
const toldCharacters = 200;

/** What is different in a tool's arguments and marks: `arguments.properties.to: new {"type":"string"}`. */
function changesOf(
  { inputSchema: before, isReadOnly: wasReadOnly, idempotent: wasIdempotent }: ListedTool,
  { inputSchema: after, isReadOnly, idempotent }: ListedTool,
): readonly string[] {
  const [was, is] = [
    { arguments: before, isReadOnly: wasReadOnly, idempotent: wasIdempotent },
    { arguments: after, isReadOnly, idempotent },
  ];
  const words = (value: unknown): string => {
    const text = JSON.stringify(value) ?? 'nothing';
    return text.length > toldCharacters ? `${text.slice(0, toldCharacters)}…` : text;
  };
  const changes = diffValues(was, is).map(({ path, kind, before: old, after: now }) => {
    const what =
      kind === 'added'
        ? `new ${words(now)}`
        : kind === 'removed'
          ? `gone ${words(old)}`
          : `${words(old)} -> ${words(now)}`;
    return `${path.join('.')}: ${what}`;
  });
  const more = changes.length - toldChanges;
  return more > 0 ? [...changes.slice(0, toldChanges), `and ${more} more`] : changes;
}

/** The server's tools that the agent offers, sorted by name, because the order in which a server lists them means nothing. */
function offeredOf({ config }: McpTools, tools: readonly ListedTool[]): readonly ListedTool[] {
  const { server, only } = config;
  const missing = only?.find((name) => !tools.some((tool) => tool.name === name));
  if (missing !== undefined) {
    const there = tools.map(({ name }) => name).join(', ') || 'none';
    const reason = `the MCP server ${server} has no tool ${missing}; it has: ${there}`;
    throw new CairnError('CONFIG_INVALID', { reason });
  }
  return tools
    .filter(({ name }) => only?.includes(name) ?? true)
    .toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

/** The tool's name for the model. Characters that models do not accept become `_`. */
function nameForModel({ config }: McpTools, tool: string): string {
  return `${config.server}__${tool.replaceAll(/[^A-Za-z0-9_-]/gu, '_')}`;
}

/** Makes an agent's tool. It has class `external` and asks a person, unless the server is trusted or the user allows the tool. */
function toolOfServer(source: McpTools, listed: ListedTool, reused?: ReusedSession): FunctionTool {
  const { server, allow, trustsAnnotations } = source.config;
  const { name, description, inputSchema } = listed;
  const isRead = trustsAnnotations && listed.isReadOnly;
  const mark = fingerprint(listed);
  return {
    description,
    input: inputSchema,
    effect: isRead ? 'read' : 'external',
    idempotent: trustsAnnotations && listed.idempotent,
    approval: isRead || allow === true || allow.includes(name) ? 'never' : 'always',
    retry: { attempts: 3, on: ['MCP_UNAVAILABLE'] },
    run: (args, { secrets, signal, files, answered }) => {
      const call = async (session: McpSession): Promise<unknown> => {
        // If the tool has changed since it was agreed to, it must not be called.
        const now = (await session.list()).find((tool) => tool.name === name);
        if (now === undefined || fingerprint(now) !== mark) throw changed(server, [name]);
        return resultOf(await session.call(name, args, { signal, ...(answered && { answered }) }), files, name);
      };
      if (reused === undefined) return withMcpServer(source, { secrets, signal }, call);
      return reused.with(name, async (session, notice) => withNotice(await call(session), notice));
    },
  };
}

/** A result with what is to be reported of its session. */
function withNotice(result: unknown, notice: string | undefined): unknown {
  if (notice === undefined) return result;
  return typeof result === 'string' ? `${notice}\n\n${result}` : { notice, result };
}

function changed(server: string, what: readonly string[]): NodeFailure {
  return new NodeFailure(
    `the tools of the MCP server ${server} are not those that were agreed to: ${what.join('; ')}. Resume the run to be asked about them`,
    { code: 'MCP_CHANGED', applied: 'no', data: { server, what } },
  );
}

/** The result in the form that is recorded: data if the server returns data, else text. Bytes become files. */
async function resultOf(
  { content, structuredContent, isError }: McpResult,
  files: FileAccess,
  tool: string,
): Promise<unknown> {
  const texts: string[] = [];
  const stored: FileRef[] = [];
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'image' || part.type === 'audio')
      stored.push(await keep(files, tool, part.data, part.mimeType));
    else if (part.type === 'resource_link') texts.push(part.uri);
    else if ('text' in part.resource) texts.push(part.resource.text);
    else stored.push(await keep(files, part.resource.uri, part.resource.blob, part.resource.mimeType));
  }
  const text = texts.join('\n');
  if (isError === true) return { error: text };
  const result = structuredContent ?? text;
  return stored.length === 0 ? result : { result: result, files: stored };
}

function keep(files: FileAccess, name: string, base64: string, type: string | undefined): Promise<FileRef> {
  return files.put(Buffer.from(base64, 'base64'), { name, ...(type !== undefined && { type }) });
}

/** The recorded result of listing a server's tools. `tools` is absent if they are those already agreed to. */
interface Look {
  readonly mark: string;
  readonly tools?: readonly ListedTool[];
}

/** A server and the tools agreed to so far. */
interface Agreed {
  readonly source: McpTools;
  tools: readonly ListedTool[];
  /** Whether the server has listed its tools in this attempt. */
  isFresh: boolean;
}

const goOn = 'go on';
const retry = { attempts: 3, on: ['MCP_UNAVAILABLE'] } as const;

export class ServerTools implements ToolOffer {
  readonly #ctx: NodeContext;
  readonly #own: ToolBox;
  readonly #servers: readonly Agreed[];
  #tools = new Map<string, NamedTool>();
  #offered: ToolOffer['offered'] = [];
  readonly #sessions = new Map<McpTools, ReusedSession>();
  /** The place in the conversation at which the tools were last checked. */
  #place: number | undefined;

  private constructor(ctx: NodeContext, own: ToolBox, servers: readonly Agreed[]) {
    this.#ctx = ctx;
    this.#own = own;
    this.#servers = servers;
  }

  /**
   * Lists the tools of all servers. @throws NodeFailure MCP_UNAVAILABLE; CairnError CONFIG_INVALID two tools have one name, or a tool is
   * missing
   */
  static async open(
    ctx: NodeContext,
    own: ToolBox,
    sources: readonly McpTools[],
    saved: SavedOffer = {},
  ): Promise<ServerTools> {
    const servers = await Promise.all(
      sources.map(async (source): Promise<Agreed> => {
        const agreed = saved[source.config.server] as readonly ListedTool[] | undefined;
        if (agreed !== undefined) return { source, tools: agreed, isFresh: false };
        const isFresh = recordedLooks(ctx, nameOf(source)) === 0;
        return { source, tools: (await look(ctx, source, nameOf(source))).tools ?? [], isFresh };
      }),
    );
    const box = new ServerTools(ctx, own, servers);
    box.#offer();
    return box;
  }

  get offered(): ToolOffer['offered'] {
    return this.#offered;
  }

  get names(): readonly string[] {
    return [...this.#own.names, ...this.#tools.keys()];
  }

  find(name: string): NamedTool | undefined {
    return this.#tools.get(name) ?? this.#own.find(name);
  }

  /**
   * Applies the checks that were recorded at this place of the conversation. Where the recorded part ends and new calls begin, asks the
   * servers once.
   * @param place - number of the model's answers so far
   * @param isCaughtUp - whether every recorded answer was used
   * @throws NodeFailure MCP_UNAVAILABLE, MCP_CHANGED
   */
  async check(place: number, isCaughtUp: boolean): Promise<void> {
    if (place === this.#place) return;
    this.#place = place;
    for (const server of this.#servers) await this.#check(server, place, isCaughtUp);
  }

  keep(): SavedOffer {
    return Object.fromEntries(this.#servers.map(({ source, tools }) => [source.config.server, tools]));
  }

  async #check(server: Agreed, place: number, isCaughtUp: boolean): Promise<void> {
    const name = `${nameOf(server.source)} ${place}`;
    const refused = new Set<string>();
    const recorded = recordedLooks(this.#ctx, name);
    const looks = isCaughtUp && !server.isFresh ? recorded + 1 : recorded;
    for (let nth = 1; nth <= looks; nth += 1) {
      const isNew = nth > recorded;
      if (isNew) server.isFresh = true;
      const { mark, tools } = await look(this.#ctx, server.source, name, fingerprint(server.tools));
      if (tools === undefined) continue;
      const what = differences(server.tools, tools);
      if (!refused.has(mark) && (await this.#ask(server, name, what))) {
        server.tools = tools;
        this.#offer();
      } else if (isNew) throw changed(server.source.config.server, what);
      else refused.add(mark);
    }
  }

  /** Asks a person whether the agent may go on with changed tools. */
  async #ask({ source }: Agreed, name: string, what: readonly string[]): Promise<boolean> {
    const { server } = source.config;
    const answer = await this.#ctx.ask({
      name: `${name} changed`,
      prompt: `The tools of the MCP server ${server} have changed since the agent began:\n${what.join('\n')}\nMay it go on with them?`,
      choices: [goOn, 'stop'],
      metadata: { server, changes: what },
      isApproval: true,
    });
    return answer === goOn;
  }

  /** The session of a server that keeps one. */
  #sessionOf(source: McpTools): ReusedSession | undefined {
    if (source.config.session === undefined) return undefined;
    const { past, secrets, signal } = this.#ctx;
    const prefix = `tool ${source.config.server}__`;
    const recorded = (): readonly MadeCall[] =>
      past
        .steps()
        .filter(({ name, status }) => status === 'done' && name.startsWith(prefix))
        .map(({ name, output }) => ({ tool: name.slice(prefix.length).split(' ')[0] ?? '', output }));
    const session = this.#sessions.get(source) ?? new ReusedSession(source, { secrets, signal }, recorded);
    this.#sessions.set(source, session);
    return session;
  }

  #offer(): void {
    this.#tools = new Map();
    for (const { source, tools } of this.#servers)
      for (const listed of tools) {
        const name = nameForModel(source, listed.name);
        if (this.#tools.has(name) || this.#own.find(name) !== undefined || name.length > 64)
          throw new CairnError('CONFIG_INVALID', {
            reason: `the tool ${listed.name} of the MCP server ${source.config.server} would be known as ${name}, which ${name.length > 64 ? 'is too long for models' : 'is another tool'}: leave it out with \`only\``,
          });
        const definition = toolOfServer(source, listed, this.#sessionOf(source));
        this.#tools.set(name, {
          name,
          definition,
          inputSchema: listed.inputSchema,
          graph: undefined,
          nodeId: undefined,
        });
      }
    const serverTools = [...this.#tools.values()].map(({ name, definition: { description }, inputSchema }) => {
      return { name, description, inputSchema };
    });
    this.#offered = [...this.#own.offered, ...serverTools];
  }
}

function nameOf({ config }: McpTools): string {
  return `mcp ${config.server}`;
}

/** How many checks of a server were recorded under this name when the attempt began. */
function recordedLooks({ past }: NodeContext, name: string): number {
  return past.steps().filter((step) => step.name === name && step.status === 'done').length;
}

/** Asks a server for its tools, as a step. @param agreed - mark of the tools known so far */
function look(ctx: NodeContext, source: McpTools, name: string, agreed?: string): Promise<Look> {
  return ctx.step(name, { effect: 'read', input: null, retry }, ({ signal }) =>
    withMcpServer(source, { secrets: ctx.secrets, signal }, async (session): Promise<Look> => {
      const tools = offeredOf(source, await session.list());
      const mark = fingerprint(tools);
      return mark === agreed ? { mark } : { mark, tools };
    }),
  );
}
