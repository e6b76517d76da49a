/** Refuses unknown options. Re-exported here for the CLI and the MCP server, which may not import `graph`. */
export { refuseUnknownKeys } from '../../graph/known-keys.ts';
