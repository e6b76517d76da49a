/** What an agent tells when it is another than when its conversation began: a recorded event of its node (A3). */

/** Name of the event. */
export const agentChanged = 'agent-changed';

/** Detail of the event. */
export interface AgentChange {
  readonly type: typeof agentChanged;
  /** Number of the first model call that was made with the changed agent. */
  readonly call: number;
  /** In words: `instructions`, `tool refund`, `tool mail removed`. */
  readonly changes: readonly string[];
}

/** The change that an event tells; undefined if it is of another kind. */
export function readAgentChange(name: string | undefined, detail: unknown): AgentChange | undefined {
  const { call, changes } = (detail ?? {}) as Partial<AgentChange>;
  if (name !== agentChanged && name?.endsWith(` ${agentChanged}`) !== true) return undefined;
  const isWhole = typeof call === 'number' && Array.isArray(changes) && changes.every((one) => typeof one === 'string');
  return isWhole ? { type: agentChanged, call, changes } : undefined;
}

/** `agent changed at call 3: instructions; tool refund` */
export function agentChangeWords({ call, changes }: Pick<AgentChange, 'call' | 'changes'>): string {
  return `agent changed at call ${call}: ${changes.join('; ')}`;
}
