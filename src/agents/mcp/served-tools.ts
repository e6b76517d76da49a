/** The tools of an MCP server as tools of an agent: under names of their own, each a step, marked so that a change is seen. */
import { CairnError } from '../../errors.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { FileAccess } from '../../graph/contracts/context-access.ts';
import type { FileRef } from '../../graph/file-ref.ts';
import { canonicalText } from '../../state/values/canonical.ts';
import { hashText } from '../../state/values/hash.ts';
import type { FunctionTool } from '../agent-tool.ts';
import { withMcpServer, type ListedTool, type McpResult } from './mcp-connection.ts';
import type { McpTools } from './mcp-tools.ts';

/** All that a model is told of a tool, and what is believed of it, as one mark. */
export function fingerprint(tool: ListedTool | readonly ListedTool[]): string {
  return hashText(canonicalText(tool)).slice(0, 22);
}

/** What differs between two lists, in words for the person who is asked about it. */
export function differences(before: readonly ListedTool[], now: readonly ListedTool[]): readonly string[] {
  const named = (tools: readonly ListedTool[]): ReadonlyMap<string, ListedTool> =>
    new Map(tools.map((tool) => [tool.name, tool]));
  const [old, fresh] = [named(before), named(now)];
  const changed = now.flatMap((tool) => {
    const was = old.get(tool.name);
    if (was === undefined) return [`new: ${tool.name}: ${tool.description}`];
    if (fingerprint(was) === fingerprint(tool)) return [];
    const isSaid = was.description !== tool.description;
    return [
      `changed: ${tool.name}: ${isSaid ? `${was.description} -> ${tool.description}` : 'other arguments or marks'}`,
    ];
  });
  return [...changed, ...before.filter(({ name }) => !fresh.has(name)).map(({ name }) => `gone: ${name}`)];
}

/** Those of a server's tools that the agent is offered, in the order of their names: which comes first is nothing that they say. */
export function offeredOf({ config }: McpTools, tools: readonly ListedTool[]): readonly ListedTool[] {
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

/** The name under which a model knows it: what models do not accept in a name becomes `_`. */
export function servedName({ config }: McpTools, tool: string): string {
  return `${config.server}__${tool.replaceAll(/[^A-Za-z0-9_-]/gu, '_')}`;
}

/** A tool of the server. Of class `external`, and asks, unless its server is trusted or the user allows it. */
export function servedTool(source: McpTools, listed: ListedTool): FunctionTool {
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
    run: (args, { secrets, signal, files }) =>
      withMcpServer(source, { secrets, signal }, async (session) => {
        // Another tool under the name that was agreed to is not the one that was agreed to.
        const now = (await session.list()).find((tool) => tool.name === name);
        if (now === undefined || fingerprint(now) !== mark) throw changed(server, [name]);
        return resultOf(await session.call(name, args), files, name);
      }),
  };
}

export function changed(server: string, what: readonly string[]): NodeFailure {
  return new NodeFailure(
    `the tools of the MCP server ${server} are not those that were agreed to: ${what.join('; ')}. Resume the run to be asked about them`,
    { code: 'MCP_CHANGED', applied: 'no', data: { server, what } },
  );
}

/** A result as it is recorded: data if the server gives data, else its text; bytes are files. */
async function resultOf(
  { content, structuredContent, isError }: McpResult,
  files: FileAccess,
  tool: string,
): Promise<unknown> {
  const texts: string[] = [];
  const kept: FileRef[] = [];
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'image' || part.type === 'audio')
      kept.push(await keep(files, tool, part.data, part.mimeType));
    else if (part.type === 'resource_link') texts.push(part.uri);
    else if ('text' in part.resource) texts.push(part.resource.text);
    else kept.push(await keep(files, part.resource.uri, part.resource.blob, part.resource.mimeType));
  }
  const text = texts.join('\n');
  if (isError === true) return { error: text };
  const said = structuredContent ?? text;
  return kept.length === 0 ? said : { result: said, files: kept };
}

function keep(files: FileAccess, name: string, base64: string, type: string | undefined): Promise<FileRef> {
  return files.put(Buffer.from(base64, 'base64'), { name, ...(type !== undefined && { type }) });
}
