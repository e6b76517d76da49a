/** Dotted paths into a state. Re-exported here for the CLI and the MCP server. */
export { formatPath, parsePath } from '../../history/read/state-path.ts';
