/** What a session keeps of a command, and what it lets nobody read: over kinds of sandboxes that are made here. */
import { expect, test } from 'vitest';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import '../index.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { END, START } from '../graph/graph.ts';
import type { Sandbox, Sandboxes } from '../ports/sandboxes.ts';
import { agent } from '../agents/agent.ts';
import { strengthOfNode } from '../graph/effect-strength.ts';
import { SandboxSession, sandboxNode, sandboxTools } from './index.ts';

/** A kind whose commands print what they are told to, to both streams. */
function printing(connects: boolean): { readonly sandboxes: Sandboxes; readonly read: string[] } {
  const read: string[] = [];
  const box: Sandbox = {
    id: 'one',
    write: () => Promise.resolve(),
    read: (path) => {
      read.push(path);
      return Promise.resolve(Buffer.from(`what is in ${path}`));
    },
    exec: ([text = ''], { onOutput }) => {
      for (const stream of ['stdout', 'stderr'] as const) onOutput(stream, Buffer.from(text));
      return Promise.resolve({ exitCode: 0, signal: null });
    },
    close: () => Promise.resolve(),
  };
  const create = (): Promise<Sandbox> => Promise.resolve(box);
  const sandboxes = { name: 'printing', isolates: true, create, ...(connects && { connect: create }) };
  return { sandboxes, read };
}

/** The result of a node that works in a session. */
async function inSession(
  sandboxes: Sandboxes,
  work: (session: SandboxSession, ctx: NodeContext) => Promise<unknown>,
): Promise<unknown> {
  const run = async (ctx: NodeContext): Promise<unknown> =>
    work(new SandboxSession(ctx, { sandboxes, approval: 'never' }), ctx);
  const { state, error } = await new AgentGraph({})
    .addNode('a', run, { effectClass: 'read' })
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ secrets: { read: () => 'hunter2-hunter2' } })
    .invoke({});
  if (error !== undefined) throw error;
  return state.outputs['a'];
}

test.each([false, true])(
  'SB2 of what a command prints no secret is recorded, of either stream, elsewhere: %s',
  async (isElsewhere) => {
    const found = await inSession(printing(isElsewhere).sandboxes, async (session, ctx) => {
      const { stdout, stderr } = await session.exec([`the key is ${await ctx.secrets.get('KEY')}`]);
      // Looked at here: what leaves the node is masked once more.
      return [stdout, stderr].map((text) => [text.startsWith('the key is '), text.includes('hunter2')]);
    });
    expect(found).toEqual([
      [true, false],
      [true, false],
    ]);
  },
);

test.each(['../up', '/etc/passwd', 'a/../../b', 'a//b', '', 'nul\0'])(
  'SB2.2 no path out of a sandbox elsewhere is read: %j',
  async (path) => {
    const { sandboxes, read } = printing(true);
    const reading = inSession(sandboxes, async (session) => {
      await session.exec(['begin']);
      return Buffer.from(await session.read('in/it.txt')).toString();
    });
    expect(await reading).toBe('what is in in/it.txt');
    const leaving = inSession(sandboxes, async (session) => {
      await session.exec(['begin']);
      return session.read(path);
    });
    await expect(leaving).rejects.toThrow(/is no path inside the sandbox/u);
    expect(read).toEqual(['in/it.txt']);
  },
);

test.each([
  [{}, 'pure', 'pure', 'pure'],
  [{ approval: 'always' }, 'pure', 'pure', 'pure'],
  [{ network: true }, 'external', 'pure', 'pure'],
  [{ network: true, approval: 'never' }, 'external', 'external', 'external'],
] as const)(
  'SB5 A6 what a command does outside is known before, and whether it asks: %j',
  (options, act, unasked, allowed) => {
    const given = { sandboxes: printing(false).sandboxes, ...options };
    const own = strengthOfNode(sandboxNode({ ...given, commands: [['act']] }));
    const asTool = strengthOfNode(agent({ model: 'm', prompt: 'Go.', tools: sandboxTools(given) }));
    const shown = [own, asTool].map((one) =>
      [one.act, one.unasked, one.allowed].map((name) => name.replace('read', 'pure')),
    );
    expect(shown).toEqual([
      [act, unasked, allowed],
      [act, unasked, allowed],
    ]);
  },
);

test('SB5 A6 in a kind that does not isolate, every command counts', () => {
  const sandboxes = { ...printing(false).sandboxes, isolates: false };
  const { act, unasked } = strengthOfNode(sandboxNode({ sandboxes, commands: [['act']] }));
  expect([act, unasked]).toEqual(['external', 'read']);
});
