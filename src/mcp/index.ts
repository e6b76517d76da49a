/** The MCP server: workflows for models, over stdio and streamable HTTP. */
export { startMcpServer, type McpServerOptions, type RunningMcpServer } from './serve/start-mcp-server.ts';
export type { HttpOptions } from './serve/serve-http.ts';
