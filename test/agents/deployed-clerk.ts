/**
 * A process that goes on with one run of a clerk, under the code of one deploy, and kills itself on the way: `node FILE LIFE`. What the
 * clerk does outside is a line of `world.log`, written by nobody else.
 */
import { generateText, isStepCount, tool as sdkTool, type ToolSet } from 'ai';
import { z } from 'zod';
import { agent, tool } from '../../src/agents/index.ts';
import { callOf, contextOf, durable } from '../../src/ai-sdk/index.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { AgentGraph, END, humanNode, START, type NodeContext } from '../../src/index.ts';
import { reasonOf } from '../../src/errors.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { storeOfCase } from '../crash/cases/open-case.ts';
import { dotClerk, yamlClerk } from './deployed-clerk-texts.ts';
import { act, answerTo, life, models, place, script, tell } from './deployed-clerk-world.ts';
import { scriptedSdkModel, type Turn } from './scripted-sdk-model.ts';

const { form, deploy, folder, runId } = life;

const mailInput = z.object({ to: z.string(), tag: z.string(), ...(deploy === 'stricter' && { subject: z.string() }) });
const refundFields = z.object({
  order: z.string(),
  tag: z.string(),
  ...(deploy === 'default' && { in: z.string().default('EUR') }),
});
const refundInput =
  deploy === 'transform'
    ? refundFields.transform((args) => ({ ...args, in: 'EUR' }))
    : (refundFields as z.ZodType<object>);
const mailWords = deploy === 'description' ? 'Sends a mail.' : 'Mails.';
const instructions = deploy === 'instructions' ? 'Be brief.' : 'Be kind.';
const dated = (): string => `It is ${Date.now()}.`;

function nativeClerk() {
  const mail =
    deploy === 'composed'
      ? tool({
          description: mailWords,
          input: mailInput,
          composed: true,
          run: (args, ctx) =>
            ctx.step(`send ${args.to}`, { effect: 'external', input: args }, ({ idempotencyKey }) =>
              act('mail', args, idempotencyKey),
            ),
        })
      : tool({ description: mailWords, input: mailInput, run: (args, call) => act('mail', args, call.idempotencyKey) });
  const refund = tool({
    description: 'Pays back.',
    input: refundInput,
    run: (args, call) => act('refund', args, call.idempotencyKey),
  });
  const look = tool({ description: 'Looks.', input: z.object({}), effect: 'read', run: () => 'seen' });
  const hasMail = deploy !== 'removed';
  return agent({
    model: 'm',
    instructions: deploy === 'dated' ? dated : instructions,
    allow: hasMail ? ['mail'] : [],
    tools: { ...(hasMail && { mail }), refund, ...(deploy === 'added' && { look }) },
    ...(deploy === 'mode' && { mode: 'json' as const }),
  });
}

const turnOf = (calls: readonly (readonly [string, object])[] | undefined): Turn =>
  calls === undefined ? 'Fin.' : { calls };

async function sdkClerk(ctx: NodeContext): Promise<string> {
  const scripted = scriptedSdkModel(({ prompt }) =>
    turnOf(script[prompt.filter(({ role }) => role === 'assistant').length]),
  );
  const model: typeof scripted = {
    ...scripted,
    doGenerate: async (options) => {
      await place();
      tell('model');
      const result = await scripted.doGenerate(options);
      await place();
      return result;
    },
  };
  const d = durable(ctx, { name: 'clerk' });
  const keyOf = (options: object): string => callOf(options)?.idempotencyKey ?? '';
  const mail = sdkTool({
    description: mailWords,
    inputSchema: mailInput,
    execute: (args, options) =>
      deploy === 'composed'
        ? contextOf(options)?.step(`send ${args.to}`, { effect: 'external', input: args }, ({ idempotencyKey }) =>
            act('mail', args, idempotencyKey),
          )
        : act('mail', args, keyOf(options)),
  });
  const refund = sdkTool({
    description: 'Pays back.',
    inputSchema: refundInput,
    needsApproval: true,
    execute: (args, options) => act('refund', args, keyOf(options)),
  });
  const look = sdkTool({ description: 'Looks.', inputSchema: z.object({}), execute: () => 'seen' });
  const named = { ...(deploy !== 'removed' && { mail }), refund, ...(deploy === 'added' && { look }) } as ToolSet;
  const { text } = await generateText({
    model: d.model(model),
    tools: d.tools(named, deploy === 'composed' ? { mail: { composed: true } } : {}),
    stopWhen: isStepCount(12),
    instructions: deploy === 'dated' ? dated() : instructions,
    prompt: 'Go.',
    ...d.settings,
  });
  return text;
}

/** The clerk, a price before it that nobody reads, and a question whether it may begin. */
function graphOf(clerk: unknown): Graph {
  const price = deploy === 'renamed' ? 'quote' : 'price';
  const known = async (): Promise<string> => {
    await place();
    return 'known';
  };
  const prompt = deploy === 'question' ? 'Shall the clerk begin?' : 'May the clerk begin?';
  const works: Readonly<Record<string, unknown>> = {
    ...(deploy !== 'unpriced' && { [price]: known }),
    gate: humanNode({ prompt, choices: ['yes', 'no'] }),
    clerk,
    ...(deploy === 'told' && { tell: known }),
  };
  const graph = new AgentGraph({}, { id: 'desk' }) as unknown as {
    addNode(id: string, work: unknown): void;
    addEdge(from: string, to: string): void;
  } & Pick<AgentGraph, 'toGraph'>;
  const ids = Object.keys(works);
  for (const id of ids) graph.addNode(id, works[id]);
  for (const [index, id] of [START, ...ids].entries()) graph.addEdge(id, ids[index] ?? END);
  return graph.toGraph(price === 'price' ? {} : { renamed: { [price]: 'price' } });
}

const graphs = {
  native: () => graphOf(nativeClerk()),
  sdk: () => graphOf(sdkClerk),
  yaml: yamlClerk,
  dot: dotClerk,
};

const store = await storeOfCase.openStore(folder);
const graph = graphs[form]();
const engine = createDefaultEngine({ store, models, leaseMs: 2_000, findGraph: () => graph });

const isKnown = (await store.readRun({ tenant: engine.ports.tenant, runId })) !== undefined;
const handle = isKnown
  ? await engine.resume(runId, { graph, leaveOutAdded: true })
  : await engine.start(graph, form === 'native' || form === 'sdk' ? { prompt: 'Go.' } : {}, { runId });
let result = await handle.result();
for (let asked = 0; asked < 30 && result.status === 'paused'; asked += 1) {
  const wait = result.waits[0];
  await place();
  await engine.answer(runId, wait?.waitId ?? '', answerTo(wait?.prompt ?? '', wait?.choices), { stays: true });
  result = await (await engine.resume(runId, { graph, leaveOutAdded: true })).result();
}
process.stdout.write(
  JSON.stringify({
    status: result.status,
    error: result.error?.message,
    cause: reasonOf(result.error?.cause),
    asks: result.waits.map(({ prompt }) => prompt),
  }),
);
process.exit(result.status === 'completed' ? 0 : 2);
