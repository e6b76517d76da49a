/** Finds the runs that `claimNext` claims, in order. */

import type { NextRequest } from '../../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { waitingCode } from './run-rows.ts';
import { asBytes, readText } from './text-columns.ts';

interface FoundRun {
  readonly run_id: Uint8Array;
  readonly no: number;
  readonly priority: number;
  /** Since when the run could go on, in epoch ms. */
  readonly due: number;
}

/** SQL condition for a list given as one JSON value, so that one statement serves lists of any length. No list allows everything. */
const isAllowed = (column: string): string => `(? is null or ${column} in (select value from json_each(?)))`;
const filters = `${isAllowed('r.graph_id')} and ${isAllowed('r.queue')} and r.run_id not in (select value from json_each(?))`;

/** Runs that were never claimed. They have an index in this order, so the first of a long queue cost no more than those of a short one. */
const fromQueue = `
  select ${asBytes('r.run_id')}, r.no, r.priority, r.due from runs r indexed by runs_to_take
  where r.tenant = ? and r.status = ${waitingCode} and r.due <= ? and ${filters}
  order by r.priority desc, r.due, r.no limit ?`;

/** Runs that were abandoned, got a message, or are due. Each kind is found through an index, so that finished runs cost nothing. */
const fromOthers = `
  select ${asBytes('r.run_id')}, r.no, r.priority, min(coalesce(found.due, r.due)) as due from (
    select run_id, null as due from runs where tenant = ? and status = 0
    union all select run_id, at from messages indexed by messages_untaken where is_taken = 0 and tenant = ?
    union all select run_id, due from waits where tenant = ? and due <= ?) as found
  cross join runs r on r.tenant = ? and r.run_id = found.run_id
  where r.status in (0, 1) and (r.owner is null or r.lease_until <= ?) and r.due <= ? and ${filters}
  group by r.no order by r.priority desc, due, r.no limit ?`;

const toList = (values: readonly string[] | undefined): string | null => (values ? JSON.stringify(values) : null);

export class NextRuns {
  readonly #fromQueue: Statement;
  readonly #fromOthers: Statement;

  constructor(prepare: Prepare) {
    this.#fromQueue = prepare(fromQueue);
    this.#fromOthers = prepare(fromOthers);
  }

  /** Ids of the runs that can go on. @param now - by the store's clock, for leases */
  find({ tenant, at: due, graphs, queues, except = [], limit }: NextRequest, now: number): readonly string[] {
    const at = due ?? now;
    const [graphList, queueList] = [toList(graphs), toList(queues)];
    const rest = [graphList, graphList, queueList, queueList, JSON.stringify(except), limit] as const;
    const waiting = this.#fromQueue().all(tenant, at, ...rest);
    const others = this.#fromOthers().all(tenant, tenant, tenant, at, tenant, now, at, ...rest);
    const found = [...waiting, ...others] as unknown as FoundRun[];
    return found
      .sort((a, b) => b.priority - a.priority || a.due - b.due || a.no - b.no)
      .slice(0, limit)
      .map(({ run_id }) => readText(run_id));
  }
}
