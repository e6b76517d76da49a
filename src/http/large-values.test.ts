/** Large values are left out of what HTTP tells of a run, with where they are read. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../test/engine-kit.ts';
import { bearerTokens, createHandler } from './index.ts';

test('D54 what is large is left out of a run, a checkpoint and a story, and is where they say', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'read', () => 'x'.repeat(70_000))], edges('> a', 'a >'));
  await runToRest(engine, graph, {}, 'r');
  const token = 'token-of-ann-0123456789';
  const ann = { token, principal: 'ann', kind: 'person', scopes: ['read'] } as const;
  const handler = createHandler({ graphs: [{ graph, engine }], authorize: bearerTokens([ann]) });
  const get = async (path: string, headers = {}): Promise<string> =>
    (
      await handler(
        new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } }),
      )
    ).text();
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
