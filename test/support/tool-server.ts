/**
 * An MCP server for tests: the tools that a JSON file says, which is read whenever somebody connects. Each call is a line in the file
 * beside it that ends in `.log`. As a program it serves standard input and output: `node tool-server.ts FILE`.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as sdk from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** A tool and what it does: gives its arguments, fails, gives data or an image, tells a variable, never answers, ends the process, or asks its caller's person. */
export interface ServedTool {
  readonly name: string;
  readonly description: string;
  readonly does?: 'echo' | 'fail' | 'data' | 'image' | 'tell' | 'hang' | 'die' | 'form' | 'link' | 'needs';
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
}

/** Where each call stands, by its tool and its text, and `cancelled` for each that was called off. */
export const logOf = (file: string): string => `${file}.log`;
/** Where the program says `open` when it starts and `closed` when it ends. */
export const livesOf = (file: string): string => `${file}.lives`;

/** How Node is started as the program. It is started for each connection, so its compiled code is kept: that is half of what a start takes. */
export const argsOf = (file: string): readonly string[] => [
  '--import',
  join(import.meta.dirname, '../../src/compile-cache.ts'),
  import.meta.filename,
  file,
];

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

export function createToolServer(file: string): sdk.McpServer {
  const server = new sdk.McpServer({ name: 'tools', version: '1.0.0' });
  const log = (line: string): void => appendFileSync(logOf(file), `${line}\n`);
  const text = (value: string): sdk.CallToolResult => ({ content: [{ type: 'text', text: value }] });
  for (const { name, description, does = 'echo', annotations } of JSON.parse(
    readFileSync(file, 'utf8'),
  ) as ServedTool[]) {
    const about = { description, inputSchema: z.object({ text: z.string() }), ...(annotations && { annotations }) };
    server.registerTool(name, about, async (args, { mcpReq }): Promise<sdk.CallToolResult> => {
      log(`${name} ${args.text}`);
      switch (does) {
        case 'fail':
          return { ...text('no such file'), isError: true };
        case 'data':
          return { ...text('{"n":1}'), structuredContent: { n: 1 } };
        case 'image':
          return { content: [{ type: 'image', data: png, mimeType: 'image/png' }] };
        case 'tell':
          return text(process.env[args.text] ?? 'unset');
        case 'form': {
          const requestedSchema = {
            type: 'object' as const,
            properties: { size: { type: 'string' as const } },
            required: ['size'],
          };
          return text(JSON.stringify(await mcpReq.elicitInput({ message: 'Which size?', requestedSchema })));
        }
        case 'link': {
          const link = { mode: 'url' as const, message: 'Sign in', url: 'https://example.org/in', elicitationId: 'e1' };
          return text(JSON.stringify(await mcpReq.elicitInput(link)));
        }
        case 'needs':
          if (readFileSync(logOf(file), 'utf8').trim().split('\n').length > 1) return text('signed in');
          throw new sdk.UrlElicitationRequiredError([
            { mode: 'url', message: 'Sign in first', url: 'https://example.org/in', elicitationId: 'e1' },
          ]);
        case 'die':
          return process.exit(1);
        case 'hang':
          return new Promise((resolve) => {
            mcpReq.signal.addEventListener('abort', () => {
              log('cancelled');
              resolve(text('too late'));
            });
          });
        default:
          return text(args.text);
      }
    });
  }
  return server;
}

if (import.meta.main) {
  const [, , file = ''] = process.argv;
  const live = (line: string): void => appendFileSync(livesOf(file), `${line}\n`);
  live('open');
  process.on('exit', () => live('closed'));
  serveStdio(() => createToolServer(file), { transport: new StdioServerTransport(process.stdin, process.stdout) });
}
