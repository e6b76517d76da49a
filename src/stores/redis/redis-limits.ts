/** What limits need of the server: records, and lines of runs. */
import { aheadMax, type LimitPage, type LimitRecord, type LimitStore } from '../../ports/limits.ts';
import type { RunKey } from '../../ports/store.ts';
import { wakeUnparked } from '../watchers.ts';
import { listOf, textOf, type RedisServer, type Reply } from './server.ts';

function toRecord(reply: Reply | undefined): LimitRecord {
  const [name, version, body] = listOf(reply);
  return { name: textOf(name), version: textOf(version), body: textOf(body) };
}

const pageOf = (tenant: string, { prefix = '', after, limit }: LimitPage): object => ({
  tenant,
  prefix,
  limit,
  ...(after !== undefined && { after }),
});

/** @param wake - called for each run that left its line */
export function createRedisLimits(server: RedisServer, wake: (run: RunKey) => void): LimitStore {
  return {
    read: async (tenant, names) => listOf((await server.call('limitRead', { tenant, names }))[0]).map(toRecord),
    list: async (tenant, page) => listOf((await server.call('limitList', pageOf(tenant, page)))[0]).map(toRecord),
    write: async (write) => {
      const { tenant, changes, park = [], unpark = [] } = write;
      const parked = park.map(({ claim, line, rank, group }) => [
        claim.runId,
        claim.token,
        line,
        rank,
        group === undefined ? '' : `.${group}`,
      ]);
      const [isWritten] = await server.call('limitWrite', { tenant, changes, park: parked, unpark });
      if (isWritten === 1) wakeUnparked(write, wake);
      return isWritten === 1;
    },
    check: async (tenant, holders) => {
      const pairs = holders.map(({ runId, token = 0 }) => [runId, token]);
      return listOf((await server.call('limitCheck', { tenant, holders: pairs }))[0]).map((holds) => holds === 1);
    },
    readLine: async (tenant, line, { limit, group: part }) => {
      const query = { tenant, line, limit, ...(part !== undefined && { part }) };
      const [rows, last] = await server.call('line', query);
      const first = listOf(rows).map((row) => {
        const [runId, priority, rank] = listOf(row);
        return { runId: textOf(runId), priority: Number(priority), rank: Number(rank) };
      });
      return { first, ...(typeof last === 'number' && { lastRank: last }) };
    },
    listLines: async (tenant, page) =>
      listOf((await server.call('lines', pageOf(tenant, page)))[0]).map((line) => textOf(line)),
    findInLine: async ({ tenant, runId }) => {
      const [line, ahead] = await server.call('inLine', { tenant, runId });
      return line === null || line === undefined
        ? undefined
        : { line: textOf(line), ahead: Math.min(Number(ahead), aheadMax) };
    },
  };
}
