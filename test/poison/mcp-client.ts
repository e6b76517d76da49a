/** A client of `cairn mcp` over standard input and output, without the SDK's care for servers that die. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

type Content = Readonly<Record<string, unknown>>;

export interface McpClient {
  /** Resolves with what a tool said; rejects when the server has died meanwhile. */
  call(tool: string, input: Content): Promise<Content>;
  /** What the server wrote to standard error. */
  errors(): string;
  close(): Promise<void>;
}

/** @param args - of Node */
export async function connect(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<McpClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    cwd,
    env: { ...(process.env as Record<string, string>), ...env },
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const client = new Client({ name: 'cairn-tests', version: '1.0.0' });
  await client.connect(transport);
  return {
    async call(name, input) {
      const { structuredContent, content } = await client.callTool(
        { name, arguments: { ...input } },
        { timeout: 900_000 },
      );
      if (structuredContent === undefined) throw new Error(JSON.stringify(content));
      return structuredContent as Content;
    },
    errors: () => errors,
    close: () => client.close(),
  };
}
