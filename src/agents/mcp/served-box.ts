/**
 * The tools of an agent that uses MCP servers: its own, and those of the servers. The servers' lists are recorded as steps, so that a
 * repeated function offers the same tools. Whenever the agent is resumed, the servers are asked again, and a person is asked about changes.
 */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { NamedTool, ToolBox, ToolOffer } from '../tools/tool-box.ts';
import type { KeptOffer } from '../turn-note.ts';
import { withMcpServer, type ListedTool } from './mcp-connection.ts';
import type { McpTools } from './mcp-tools.ts';
import { changed, differences, fingerprint, offeredOf, servedName, servedTool } from './served-tools.ts';

/** The recorded result of listing a server's tools. `tools` is absent if they are those already agreed to. */
interface Look {
  readonly mark: string;
  readonly tools?: readonly ListedTool[];
}

/** A server and the tools agreed to so far. */
interface Agreed {
  readonly source: McpTools;
  tools: readonly ListedTool[];
  /** Whether the server was asked in this attempt. */
  isFresh: boolean;
}

const goOn = 'go on';
const retry = { attempts: 3, on: ['MCP_UNAVAILABLE'] } as const;

export class ServedBox implements ToolOffer {
  readonly #ctx: NodeContext;
  readonly #own: ToolBox;
  readonly #servers: readonly Agreed[];
  #served = new Map<string, NamedTool>();
  #offered: ToolOffer['offered'] = [];
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
    kept: KeptOffer = {},
  ): Promise<ServedBox> {
    const servers = await Promise.all(
      sources.map(async (source): Promise<Agreed> => {
        const agreed = kept[source.config.server] as readonly ListedTool[] | undefined;
        if (agreed !== undefined) return { source, tools: agreed, isFresh: false };
        const isFresh = recordedLooks(ctx, nameOf(source)) === 0;
        return { source, tools: (await look(ctx, source, nameOf(source))).tools ?? [], isFresh };
      }),
    );
    const box = new ServedBox(ctx, own, servers);
    box.#offer();
    return box;
  }

  get offered(): ToolOffer['offered'] {
    return this.#offered;
  }

  get names(): readonly string[] {
    return [...this.#own.names, ...this.#served.keys()];
  }

  find(name: string): NamedTool | undefined {
    return this.#served.get(name) ?? this.#own.find(name);
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

  keep(): KeptOffer {
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

  #offer(): void {
    this.#served = new Map();
    for (const { source, tools } of this.#servers)
      for (const listed of tools) {
        const name = servedName(source, listed.name);
        if (this.#served.has(name) || this.#own.find(name) !== undefined || name.length > 64)
          throw new CairnError('CONFIG_INVALID', {
            reason: `the tool ${listed.name} of the MCP server ${source.config.server} would be known as ${name}, which ${name.length > 64 ? 'is too long for models' : 'is another tool'}: leave it out with \`only\``,
          });
        const definition = servedTool(source, listed);
        this.#served.set(name, {
          name,
          definition,
          inputSchema: listed.inputSchema,
          graph: undefined,
          nodeId: undefined,
        });
      }
    const served = [...this.#served.values()].map(({ name, definition: { description }, inputSchema }) => {
      return { name, description, inputSchema };
    });
    this.#offered = [...this.#own.offered, ...served];
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
