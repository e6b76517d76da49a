/** Why a turn of a chat has ended without an answer, in words for its user. What an error says stays with those who run the workflow. */

const words: Readonly<Record<string, string>> = {
  AGENT_DIVERGED: 'The agent was changed while it was at work.',
  STEPS_CHANGED: 'The agent was changed while it was at work.',
  RUN_GRAPH_CHANGED: 'The agent was changed, and this conversation cannot go on where it stood.',
  MODEL_UNAVAILABLE: 'The model could not be reached.',
  MODEL_REFUSED: 'The model gave no answer.',
  MODEL_OUTPUT_TRUNCATED: 'The answer grew too long.',
  OUTPUT_INVALID: 'The agent found no answer.',
  AGENT_LOST: 'The agent found no answer.',
  AGENT_LOOPS_EXCEEDED: 'The agent found no answer.',
  BUDGET_EXCEEDED: 'The budget is used up.',
  NODE_TIMED_OUT: 'It took too long.',
};

/** What may be over when it is tried again. */
const passing: readonly string[] = ['MODEL_UNAVAILABLE', 'MCP_UNAVAILABLE', 'NODE_TIMED_OUT'];

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
};

export function turnFailure(error: unknown): string {
  const code = codeOf(error);
  return Object.hasOwn(words, code) ? (words[code] as string) : 'The agent failed.';
}

/** Whether the same turn may succeed when it is tried again. */
export function mayPass(error: unknown): boolean {
  return passing.includes(codeOf(error));
}
