/** Finds the known word nearest to a mistyped one. Re-exported here for the CLI and the MCP server, which may not import `graph`. */
export { nearest } from '../../graph/nearest.ts';
