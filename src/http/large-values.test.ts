/** Large values are left out of what HTTP tells of a run, with where they are read. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest, type Bench } from '../../test/engine-kit.ts';
import { functionCondition } from '../graph/condition.ts';
import { outcome } from '../graph/contracts/node-contract.ts';
import { END, START, type Graph } from '../graph/graph.ts';
import { bearerTokens, createHandler } from './index.ts';

/** Reads what HTTP answers, for somebody who may read. */
function readerOf({ graph, engine }: { readonly graph: Graph; readonly engine: Bench['engine'] }) {
  const token = 'token-of-ann-0123456789';
  const ann = { token, principal: 'ann', kind: 'person', scopes: ['read'] } as const;
  const handler = createHandler({ graphs: [{ graph, engine }], authorize: bearerTokens([ann]) });
  return async (path: string, headers = {}): Promise<string> => {
    const request = new Request(`http://localhost${path}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    return (await handler(request)).text();
  };
}

test('D54 what is large is left out of a run, a checkpoint and a story, and is where they say', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'read', () => 'x'.repeat(70_000))], edges('> a', 'a >'));
  await runToRest(engine, graph, {}, 'r');
  const get = readerOf({ graph, engine });
  for (const path of [
    '/v1/runs/r',
    '/v1/checkpoints/r',
    '/v1/checkpoints/r/story',
    '/v1/checkpoints/r/story?limit=2',
  ]) {
    const text = await get(path);
    const [, sha256, href] = /"sha256":"(\w+)","bytes":70000,"href":"([^"]+)"/.exec(text) ?? [];
    expect([path, text.length < 64 * 1024]).toEqual([path, true]);
    const value = await get(href ?? '');
    expect([path, createHash('sha256').update(value).digest('hex')]).toEqual([path, sha256]);
    expect((await get(path, { prefer: 'return=representation' })).length).toBeGreaterThan(70_000);
  }
});

test('D54 a question of megabytes is cut where a run is told, and says how much more there is', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [node('a', 'read', (ctx) => ctx.ask({ prompt: 'é'.repeat(2_000_000) }))],
    edges('> a', 'a >'),
  );
  await runToRest(engine, graph, {}, 'r');
  const get = readerOf({ graph, engine });
  for (const path of ['/v1/runs/r', '/v1/checkpoints/r', '/v1/checkpoints/r/story', '/v1/waits']) {
    const text = await get(path);
    expect([path, text.length < 64 * 1024, text.includes('é… (1995904 more characters)')]).toEqual([path, true, true]);
    expect((await get(path, { prefer: 'return=representation' })).length).toBeGreaterThan(2_000_000);
  }
});

/** How a node of a loop behaves: what its visits write and give, and how often it leads back to the first one. */
interface Link {
  readonly key: string;
  readonly writes: 'large' | 'parts' | 'small' | 'nothing';
  readonly gives: 'large' | 'parts' | 'small';
  readonly effect: 'pure' | 'write';
  readonly rounds: number;
}
const anyLinks = fc.array(
  fc.record<Link>({
    key: fc.constantFrom('a', 'b'),
    writes: fc.constantFrom('large', 'large', 'parts', 'small', 'nothing'),
    gives: fc.constantFrom('large', 'parts', 'small'),
    effect: fc.constantFrom('pure', 'pure', 'write'),
    rounds: fc.nat(2),
  }),
  { minLength: 1, maxLength: 4 },
);

function loopOf(links: readonly Link[], checkpoint: 'none' | 'every_node'): Graph {
  const valueOf = (kind: Link['writes'], name: string): unknown => {
    if (kind === 'small') return name;
    const large = name.repeat(Math.ceil(70_000 / name.length));
    return kind === 'large'
      ? large
      : { large, list: Array.from({ length: 9_000 }, (_, index) => index), at: new Date(0) };
  };
  const counts = links.map(() => 0);
  const nodes = links.map(({ key, writes, gives, effect }, index) =>
    node(
      `n${index}`,
      effect,
      (ctx) => {
        const name = `n${index} ${ctx.visit}, `;
        const scratch = writes === 'nothing' ? {} : { [key]: valueOf(writes, name) };
        return outcome({ output: valueOf(gives, `output of ${name}`), scratch });
      },
      { maxVisits: 1_000 },
    ),
  );
  const between = links.flatMap(({ rounds }, index) => {
    const from = `n${index}`;
    const back = functionCondition(() => (counts[index] = (counts[index] as number) + 1) <= rounds, { text: 'back' });
    return [
      { from, to: 'n0', condition: back },
      { from, to: index + 1 < links.length ? `n${index + 1}` : END },
    ];
  });
  return graphOf('loop', nodes, [{ from: START, to: 'n0' }, ...between], {
    policies: { checkpoint, routing: 'first' },
  });
}

interface Omitted {
  readonly sha256: string;
  readonly bytes: number;
  readonly href?: string;
}

/** All that is left out in an answer. */
function omittedIn(value: unknown): readonly Omitted[] {
  if (typeof value !== 'object' || value === null) return [];
  const { omitted } = value as { readonly omitted?: Omitted };
  return omitted === undefined ? Object.values(value).flatMap(omittedIn) : [omitted];
}

test('D54 the hash and size of what is left out are those of the bytes that its href sends, also where visits share a checkpoint', async () => {
  let [linked, bare] = [0, 0];
  await fc.assert(
    fc.asyncProperty(anyLinks, fc.constantFrom('none' as const, 'every_node' as const), async (links, checkpoint) => {
      const { engine } = createBench();
      const graph = loopOf(links, checkpoint);
      await runToRest(engine, graph, { note: 'y'.repeat(70_000) }, 'r');
      const get = readerOf({ graph, engine });
      for (const path of ['/v1/runs/r', '/v1/checkpoints/r', '/v1/checkpoints/r@1', '/v1/checkpoints/r/story'])
        for (const { sha256, bytes, href } of omittedIn(JSON.parse(await get(path)))) {
          if (href === undefined) {
            bare += 1;
            continue;
          }
          linked += 1;
          const sent = await get(href);
          expect([path, href, Buffer.byteLength(sent)]).toEqual([path, href, bytes]);
          expect([path, href, createHash('sha256').update(sent).digest('hex')]).toEqual([path, href, sha256]);
        }
    }),
    { numRuns: 8, seed: 7, endOnFailure: true },
  );
  expect([linked > 20, bare > 0]).toEqual([true, true]);
});
