/** Changes of meaning in agents: what they ask, what they may call, and what they take for an answer. */
import type { Mutant } from './mutant.ts';

export const agentMutants: readonly Mutant[] = [
  {
    name: 'a verdict that only reaches the threshold does not pass',
    file: 'src/agents/answers/judge-node.ts',
    old: 'const passed = given >= threshold;',
    new: 'const passed = given > threshold;',
    tests: ['src/agents/answers/answers.test.ts'],
  },
  {
    name: 'any arguments that a person gives are taken as an answer',
    file: 'src/agents/approval.ts',
    old: 'schema: answerSchema(inputSchema),',
    new: "schema: answerSchema({ type: 'object' }),",
    tests: ['src/agents/approval.test.ts'],
  },
];
