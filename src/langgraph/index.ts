/** Threads of LangGraph in a store: the entry point `cairn-workflows/langgraph`. Guide: docs/guide/from-langgraph.md. */
export { saverOver, type SaverOptions } from './cairn-saver.ts';
