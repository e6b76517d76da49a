/** The clerk of a deploy, written in YAML and in DOT. */
import { z } from 'zod';
import { agentBlock } from '../../src/agents/block/agent-block.ts';
import { stageAgent } from '../../src/agents/stage/stage-agent.ts';
import { readDot } from '../../src/dialects/dot/index.ts';
import { readWorkflow } from '../../src/dialects/yaml/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createNodeTypes, defineBlock } from '../../src/nodes/blocks/index.ts';
import { shellBlock } from '../../src/nodes/blocks/shell.ts';
import { act, life, place } from './deployed-clerk-world.ts';

const { deploy, folder } = life;
const instructions = deploy === 'instructions' ? 'Be brief.' : 'Be kind.';
const question = deploy === 'question' ? 'Shall the clerk begin?' : 'May the clerk begin?';
const price = deploy === 'renamed' ? 'quote' : 'price';

const outputs = z.object({ said: z.string() });
const mail = defineBlock({
  name: 'Mail',
  description: deploy === 'description' ? 'Sends a mail.' : 'Mails.',
  inputs: z.object({ to: z.string(), tag: z.string(), ...(deploy === 'stricter' && { subject: z.string() }) }),
  outputs,
  effect: 'external',
  run: async (args, { idempotencyKey }) => ({ said: await act('mail', args, idempotencyKey) }),
});
const refund = defineBlock({
  name: 'Refund',
  description: 'Pays back.',
  inputs: z.object({
    order: z.string(),
    tag: z.string(),
    ...(deploy === 'default' && { in: z.string().default('EUR') }),
  }),
  outputs,
  effect: 'external',
  run: async (args, { idempotencyKey }) => ({ said: await act('refund', args, idempotencyKey) }),
});
const look = defineBlock({
  name: 'Look',
  description: 'Looks.',
  inputs: z.object({}),
  outputs,
  effect: 'read',
  run: () => ({ said: 'seen' }),
});
const know = defineBlock({
  name: 'Know',
  description: 'Knows.',
  inputs: z.object({}),
  outputs,
  effect: 'pure',
  run: async () => {
    await place();
    return { said: 'known' };
  },
});

/** The clerk as a block of a workflow. */
export function yamlClerk(): Graph {
  const hasMail = deploy !== 'removed';
  const inputs = {
    model: 'm',
    instructions,
    prompt: 'Go.',
    blocks: [...(hasMail ? ['Mail'] : []), 'Refund', ...(deploy === 'added' ? ['Look'] : [])],
    ...(hasMail && { allow: ['Mail'] }),
    ask_person: false,
    ...(deploy === 'mode' && { mode: 'json' }),
  };
  const hasPrice = deploy !== 'unpriced';
  const text = `name: desk
description: Works for a desk
blocks:
${hasPrice ? `  - id: ${price}\n    type: Know\n${price === 'price' ? '' : '    renamed_from: price\n'}` : ''}  - id: gate
    type: AskChoice
    depends_on: [${hasPrice ? price : ''}]
    inputs: { question: "${question}", choices: ['yes', 'no'] }
  - id: clerk
    type: Agent
    depends_on: [gate]
    inputs: ${JSON.stringify(inputs)}
${deploy === 'told' ? '  - id: tell\n    type: Know\n    depends_on: [clerk]\n' : ''}`;
  const own = [...createNodeTypes({}), mail, refund, look, know];
  const nodeTypes = [...own, agentBlock(own)];
  return readWorkflow(text, { nodeTypes, source: 'desk.yaml' }).graph;
}

/** The clerk as a stage of a pipeline. */
export function dotClerk(): Graph {
  const tools = deploy === 'removed' ? 'read' : deploy === 'added' ? 'shell, read' : 'shell';
  const allowed = deploy === 'removed' ? '' : ', allow_tools="shell"';
  const before = deploy === 'unpriced' ? 'start' : `start -> ${price}`;
  const text = `digraph desk {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  ${deploy === 'unpriced' ? '' : `${price} [shape=parallelogram, idempotent=true, tool_command="true"${price === 'price' ? '' : ', renamed_from="price"'}]`}
  gate [shape=hexagon, label="${question}"]
  clerk [prompt="${instructions}", tools="${tools}"${allowed}, workdir=${JSON.stringify(folder)}]
  ${deploy === 'told' ? 'tell [shape=parallelogram, idempotent=true, tool_command="true"]' : ''}
  ${before} -> gate
  gate -> clerk [label="yes"]
  gate -> exit [label="no"]
  clerk -> ${deploy === 'told' ? 'tell -> exit' : 'exit'}
}`;
  return readDot(text, { nodeTypes: [shellBlock], source: 'desk.dot', agent: stageAgent() }).graph;
}
