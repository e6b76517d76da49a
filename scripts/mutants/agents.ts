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
  {
    name: 'a tool of a server is called whatever it says of itself now',
    file: 'src/agents/mcp/served-tools.ts',
    old: 'if (now === undefined || fingerprint(now) !== mark)',
    new: 'if (now === undefined)',
    tests: ['src/agents/mcp/mcp-tools.test.ts'],
  },
  {
    name: 'servers are not asked again when an agent is taken up',
    file: 'src/agents/mcp/served-box.ts',
    old: 'isCaughtUp && !server.isFresh ? recorded + 1 : recorded',
    new: 'recorded',
    tests: ['src/agents/mcp/mcp-tools.test.ts'],
  },
  {
    name: 'a model is told secrets that the run knows',
    file: 'src/ports/model-access.ts',
    old: 'withoutSecrets(call.messages, attempt.secrets)',
    new: 'call.messages',
    tests: ['src/agents/injections.test.ts'],
  },
  {
    name: "a tool call of the AI SDK's loop is made though no model asked for it",
    file: 'src/ai-sdk/durable-tools.ts',
    old: '?? attempt.refuse(`tool ${name}`, reason)',
    new: '?? 1',
    tests: ['src/ai-sdk/traps.test.ts'],
  },
  {
    name: 'a stream that was cut off is asked for again, and its pieces come twice',
    file: 'src/ai-sdk/durable-model.ts',
    old: 'const isInterrupted = told.queue.hasBegun;',
    new: 'const isInterrupted = false;',
    tests: ['src/ai-sdk/streams.test.ts'],
  },
  {
    name: "a call of the AI SDK's loop that lets the provider act is repeated after a crash",
    file: 'src/ai-sdk/model-calls.ts',
    old: 'idempotent: idempotent || !isActing,',
    new: 'idempotent: true,',
    tests: ['src/ai-sdk/streams.test.ts'],
  },
  {
    name: 'a workflow that acts is a tool that does not ask',
    file: 'src/agents/block/run-agent.ts',
    old: "isActing && asksIfActing ? 'always' : 'never'",
    new: "'never'",
    tests: ['src/agents/block/agent-block.test.ts'],
  },
  {
    name: 'what a model gives to a block is not held to the grants before the block begins',
    file: 'src/agents/block/block-tool.ts',
    old: 'refuse(type, given, ctx);',
    new: '',
    tests: ['src/agents/block/agent-block.test.ts'],
  },
];
