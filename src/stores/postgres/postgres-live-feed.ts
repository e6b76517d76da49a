/** Live pieces of runs in a table that no log of the server has: they are gone after a crash of it, and cost no wait for the disk. */
import type { LiveFeed } from '../../ports/live-feed.ts';
import { fromText, toText, type Tables } from './tables.ts';

export function createPostgresLiveFeed(tables: Tables): LiveFeed {
  return {
    pollMs: 100,
    write: async ({ tenant, runId }, { remove = [], add = [] }) => {
      await tables.query(
        `with gone as (
          delete from S.live_pieces where tenant = $1 and run_id = $2 and ($3 or n = any($4::bigint[])))
        insert into S.live_pieces (tenant, run_id, n, node, detail)
        select $1, $2, p.n, p.node, p.detail from unnest($5::bigint[], $6::text[], $7::text[]) as p(n, node, detail)
        on conflict do nothing`,
        [
          toText(tenant),
          toText(runId),
          remove === 'all',
          remove === 'all' ? [] : remove,
          add.map(({ n }) => n),
          add.map(({ node }) => toText(JSON.stringify(node))),
          add.map(({ detail }) => toText(JSON.stringify(detail))),
        ],
      );
    },
    read: async ({ tenant, runId }, after) => {
      const rows = await tables.query<{ n: number; node: string; detail: string }>(
        `select n, node, detail from S.live_pieces where tenant = $1 and run_id = $2 and n > $3 order by n`,
        [toText(tenant), toText(runId), after],
      );
      return rows.map(({ n, node, detail }) => ({
        n,
        node: JSON.parse(fromText(node)) as readonly string[],
        detail: JSON.parse(fromText(detail)) as unknown,
      }));
    },
  };
}
