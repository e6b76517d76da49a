/** Makes the tools of an MCP server tools of an agent: with names of their own, each call a step, and a fingerprint to notice changes. */
import { CairnError } from '../../errors.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { FileAccess } from '../../graph/contracts/context-access.ts';
import type { FileRef } from '../../graph/file-ref.ts';
import { canonicalText } from '../../state/values/canonical.ts';
import { hashText } from '../../state/values/hash.ts';
import type { FunctionTool } from '../tools/agent-tool.ts';
import { withMcpServer, type ListedTool, type McpResult } from './mcp-connection.ts';
import type { McpTools } from './mcp-tools.ts';

/** A hash of everything a model is told about a tool and everything we rely on. */
export function fingerprint(tool: ListedTool | readonly ListedTool[]): string {
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
    const isSaid = was.description !== tool.description;
    return [
      `changed: ${tool.name}: ${isSaid ? `${was.description} -> ${tool.description}` : 'other arguments or marks'}`,
    ];
  });
  return [...changed, ...before.filter(({ name }) => !fresh.has(name)).map(({ name }) => `gone: ${name}`)];
}

/** The server's tools that the agent offers, sorted by name, because the order in which a server lists them means nothing. */
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

/** The tool's name for the model. Characters that models do not accept become `_`. */
export function servedName({ config }: McpTools, tool: string): string {
  return `${config.server}__${tool.replaceAll(/[^A-Za-z0-9_-]/gu, '_')}`;
}

/** Makes an agent's tool. It has class `external` and asks a person, unless the server is trusted or the user allows the tool. */
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
        // If the tool has changed since it was agreed to, it must not be called.
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

/** The result in the form that is recorded: data if the server returns data, else text. Bytes become files. */
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
