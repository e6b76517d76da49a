/**
 * What is outside of a clerk: the places at which its process may die, a file of what it did, and a model that says other things in each
 * process, so that an answer that is asked for twice would show.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Models } from '../../src/ports/model.ts';
import type { Life } from './deployed-clerk-life.ts';

export const life = JSON.parse(process.argv[2] ?? '{}') as Life;
const { form, folder, dies } = life;
const worldFile = join(folder, 'world.log');
export const tell = (line: string): void => appendFileSync(worldFile, `${line}\n`);
const world = (): readonly string[] => (existsSync(worldFile) ? readFileSync(worldFile, 'utf8').split('\n') : []);

let places = 0;
/** A place at which the process may die. */
export async function place(): Promise<void> {
  places += 1;
  if (dies !== undefined && places === dies.at) setTimeout(() => process.kill(process.pid, 'SIGKILL'), dies.afterMs);
  await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Does something outside, once for each call. */
export async function act(name: string, args: object, key: string): Promise<string> {
  await place();
  const { to, order } = args as { readonly to?: string; readonly order?: string };
  tell(`do ${name} ${to ?? order} ${key}`);
  await place();
  return `${name} ${to ?? order} done`;
}

export type Call = readonly [tool: string, input: object];

const tag = String(process.pid);
/** The call by which a clerk acts: of a tool, of a block, or, since a pipeline's clerk has no tools of its own, of a command. */
function callTo(name: 'mail' | 'refund', whom: string): Call {
  if (form === 'dot') return ['shell', { command: ['sh', '-c', `echo do ${name} ${whom} ${tag} >> world.log`] }];
  const input = { [name === 'mail' ? 'to' : 'order']: whom, tag };
  return [form === 'yaml' ? (name === 'mail' ? 'Mail' : 'Refund') : name, input];
}
const mailTo = (to: string): Call => callTo('mail', to);
const refundOf = (order: string): Call => callTo('refund', order);

/** What the model calls in each of its turns. */
export const script: readonly (readonly Call[])[] = [
  [mailTo('ann'), mailTo('bob'), refundOf('A')],
  [mailTo('cy')],
  [refundOf('B'), mailTo('dan')],
];

const last = form === 'dot' ? 'Fin.\n{"outcome": "success"}' : 'Fin.';

export const models: Models = {
  async generate({ model, messages, tools }) {
    await place();
    const usage = { inputTokens: 1, outputTokens: 1 };
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    tell(`model ${turn}`);
    const calls = script[turn];
    await place();
    // Without tools of the provider's own, the agent speaks in JSON.
    const spoken = calls && { calls: calls.map(([name, input]) => ({ tool: name, input })) };
    const text = tools === undefined ? JSON.stringify(spoken ?? { answer: 'Fin.' }) : last;
    if (calls === undefined || tools === undefined)
      return { model, usage, finishReason: 'stop', content: [{ type: 'text', text }] };
    const content = calls.map(
      ([name, input], index) => ({ type: 'tool-call', id: `c${turn}-${index}`, tool: name, input }) as const,
    );
    return { model, usage, finishReason: 'tool-calls', content };
  },
};

/** What a person says of a question: yes, an approval, or what the world tells of an effect in doubt. */
export function answerTo(prompt: string, choices: readonly unknown[] = []): unknown {
  if (JSON.stringify(choices).includes('"yes"')) return 'yes';
  if (!prompt.includes('It is not known whether')) return 'approve';
  const name = /refund/iu.test(prompt) ? 'refund' : 'mail';
  const whom = (/"(?:to|order)":"(\w+)"/u.exec(prompt) ?? /(?:send|do \w+) (\w+)/u.exec(prompt))?.[1];
  const did = world().some((line) => line.startsWith(`do ${name} ${whom} `));
  return did ? { decision: 'happened', output: 'known' } : 'run again';
}
