/** Threads: which conversation a stage goes on in, what it is told, and that a kill changes none of it. */
import { expect, test } from 'vitest';
import { digraph, dotOptions, runDot } from '../../../../../test/dot-kit.ts';
import { restartedAfter } from '../../../../../test/dying-engine.ts';
import { createBench } from '../../../../../test/engine-kit.ts';
import { textOf, type ModelCall } from '../../../../graph/contracts/model-messages.ts';
import { createScriptedModels, type ScriptedModels } from '../../../../models/scripted.ts';
import { readDot } from '../../index.ts';

/** Each answer names the call. */
const counting = (): ScriptedModels => createScriptedModels((_, index) => `answer ${index}`);

function said({ messages }: Pick<ModelCall, 'messages'>): readonly string[] {
  return messages.map((message) =>
    message.role === 'tool' ? 'tool' : `${message.role}: ${textOf(message.content).split('\n\n').at(-1)}`,
  );
}

async function requestsOf(body: string, attributes?: string): Promise<ScriptedModels['requests']> {
  const models = counting();
  const { result } = await runDot(digraph(body, attributes), { asksModels: true, engine: { models } });
  expect(result.status).toBe('completed');
  return models.requests;
}

const chain = 'start -> a -> b -> c -> exit\na [prompt=one]\nb [prompt=two]\nc [prompt=three]';

test('DOT29 under full a stage goes on in the conversation of the stage before it, word for word', async () => {
  const [first, second, third] = await requestsOf(chain, 'graph [goal=ship, default_fidelity=full]');
  expect(first && said(first)).toEqual(['user: one']);
  expect(textOf(first?.messages[0]?.content as string)).toContain('Goal:\nship');
  expect(second && said(second)).toEqual(['user: one', 'assistant: answer 0', 'user: two']);
  expect(third?.messages.slice(0, 4)).toEqual([
    ...(second?.messages.slice(0, 3) ?? []),
    { role: 'assistant', content: 'answer 1' },
  ]);
  // Nothing happened in between that the conversation does not hold.
  expect(third?.messages[4]).toEqual({ role: 'user', content: 'three' });
});

test('DOT29 a thread goes on with what other stages did since its last turn', async () => {
  const body =
    'start -> a -> t -> b -> exit\na [prompt=one]\nb [prompt=two]\nt [shape=parallelogram, tool_command="echo 3 failed"]';
  const [, second] = await requestsOf(body, 'graph [default_fidelity=full]');
  const prompt = textOf(second?.messages.at(-1)?.content as string);
  expect(prompt).toContain('Stages since then:\n- t: success');
  expect(prompt).toContain('- tool.output: 3 failed');
  expect(prompt).not.toContain('- a: success');
});

test('DOT29 the edge names the thread before the stage, the stage before the graph, the graph before the block around it', async () => {
  const turns = async (edge: string, stage: string, graph: string, block = ''): Promise<number> => {
    const inner = `b [prompt=two${stage}]`;
    const requests = await requestsOf(
      `a [prompt=one, thread_id=t]\n${block === '' ? inner : `subgraph s { label="${block}"\n${inner} }`}\nstart -> a -> b${edge}\nb -> exit`,
      `graph [default_fidelity=full${graph}]`,
    );
    return requests[1]?.messages.length ?? 0;
  };
  // `t` is the thread of the first stage: three messages there, one in any other.
  expect(await turns('', '', '')).toBe(3);
  expect(await turns('', '', '', 'T')).toBe(3);
  expect(await turns('', '', '', 'other')).toBe(1);
  expect(await turns('', '', ', default_thread=t', 'other')).toBe(3);
  expect(await turns('', ', thread_id=u', ', default_thread=t')).toBe(1);
  expect(await turns(' [thread_id=t]', ', thread_id=u', '')).toBe(3);
});

test('DOT29 the fidelity of an edge holds at the beginning of a branch and of a restart too', async () => {
  const branch = await requestsOf(
    'start -> a -> p\np -> b -> j [fidelity=truncate]\np -> c -> j\nj -> exit\np [shape=component]\nj [shape=tripleoctagon]\na [prompt=one]\nb [prompt=two]\nc [prompt=three]',
    '',
  );
  const told = (part: string): boolean | undefined => {
    const texts = branch.map(({ messages }) => textOf(messages.at(-1)?.content as string));
    return texts.find((text) => text.includes(part))?.includes('answer 0');
  };
  expect([told('two'), told('three')]).toEqual([false, true]);
  const models = createScriptedModels(() => '{"outcome": "success", "preferred_label": "again"}');
  const restart = digraph(
    'start -> a\na -> b [label=again, loop_restart=true, fidelity=full, thread_id=t]\na -> exit [label=done]\nb -> c -> exit\na [prompt=one]\nb [prompt=two]\nc [prompt=three, fidelity=full, thread_id=t]',
  );
  await runDot(restart, { asksModels: true, engine: { models } });
  expect(models.requests.map(({ messages }) => messages.length)).toEqual([1, 1, 3]);
});

test('DOT29 what is not told in full is in no thread, and is told by its own fidelity', async () => {
  const requests = await requestsOf(
    chain.replace('prompt=two', 'prompt=two, fidelity=compact'),
    'graph [default_fidelity=full]',
  );
  expect(requests.map(({ messages }) => messages.length)).toEqual([1, 1, 3]);
  expect(requests[2] && said(requests[2])).toEqual(['user: one', 'assistant: answer 0', 'user: three']);
  expect(textOf(requests[2]?.messages[2]?.content as string)).toContain('Answer of b:\nanswer 1');
});

test('DOT29 a branch goes on in the thread as it was where it began, and adds nothing to it outside', async () => {
  const body = `start -> a -> par\npar -> b -> join\npar -> c -> join\njoin -> d -> exit
par [shape=component]\njoin [shape=tripleoctagon]\na [prompt=one]\nb [prompt=two]\nc [prompt=three]\nd [prompt=four]`;
  const requests = await requestsOf(body, 'graph [default_fidelity=full]');
  const ofPrompt = (text: string): readonly string[] => {
    const request = requests.find(({ messages }) => textOf(messages.at(-1)?.content as string).endsWith(text));
    return request === undefined ? [] : said(request).slice(0, -1);
  };
  for (const text of ['two', 'three', 'four']) expect(ofPrompt(text)).toEqual(['user: one', 'assistant: answer 0']);
});

test('DOT29 of a conversation over its bound the oldest turns are left out, whole', async () => {
  const models = createScriptedModels((_, index) => `${index}${'x'.repeat(150_000)}`);
  const stages = Array.from({ length: 4 }, (_, index) => `s${index}`);
  const text = digraph(
    `start -> ${stages.join(' -> ')} -> exit\n${stages.map((id) => `${id} [prompt=${id}]`).join('\n')}`,
    'graph [default_fidelity=full]',
  );
  const { result } = await runDot(text, { asksModels: true, engine: { models } });
  expect(result.status).toBe('completed');
  expect(models.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5, 5]);
  expect(said(models.requests[3] as ModelCall).filter((line) => line.startsWith('user'))).toEqual([
    'user: s1',
    'user: s2',
    'user: s3',
  ]);
});

test('DOT29 P1 killed at every commit, a run under full and one with summaries ask what they ask without', async () => {
  const attributes = 'graph [goal=ship, default_fidelity=full, summary_model=small]';
  const text = digraph(chain.replace('prompt=two', 'prompt=two, fidelity="summary:low"'), attributes);
  // Answers hang on what is asked alone, so that a repeated call gets the same one.
  const models = (): ScriptedModels =>
    createScriptedModels(({ messages }) => `on ${textOf(messages.at(-1)?.content as string).length}`);
  const asked = ({ requests }: ScriptedModels): readonly string[] => [
    ...new Set(requests.map(({ model, messages }) => JSON.stringify([model, messages]))),
  ];
  const quiet = models();
  await runDot(text, { asksModels: true, engine: { models: quiet } });
  expect(quiet.requests.map(({ model }) => model)).toEqual(['default', 'small', 'default', 'default']);
  expect(quiet.requests[1]).toMatchObject({ tokensMax: 600 });
  expect(said(quiet.requests[2] as ModelCall)[0]).toBe('user: two');
  expect(JSON.stringify(quiet.requests[2])).toContain('The run so far:\\non ');
  let trials = 0;
  for (let commits = 1; commits < 40; commits += 1) {
    const killed = models();
    const bench = createBench({ models: killed });
    const { graph } = readDot(text, dotOptions());
    const done = await restartedAfter(bench, commits, graph);
    if (done === undefined) break;
    expect(done.status).toBe('completed');
    expect([commits, asked(killed)]).toEqual([commits, asked(quiet)]);
    trials += 1;
  }
  expect(trials).toBeGreaterThan(5);
});
