/**
 * The way from what commits owe to webhooks, to runs that deliver it: each row of the outbox becomes a run under an id that is derived from
 * it, and is cleared then. The owner of the run does so at once, a sweep for owners that did not come to it (WH2).
 */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Webhook } from '../../graph/webhooks.ts';
import { deliveryGraphId, derivedRunId, isOfOrigin } from '../../history/stored/run-ids.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { readDelivery } from '../../history/stored/wait-row.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RunRow, Store, WaitRow } from '../../ports/store.ts';
import type { EngineOptions, RunHandle, RunMeta, StartOptions } from '../api.ts';
import { deliveryGraph, type DeliveryInput } from './delivery-graph.ts';
import { owedBy, type Committing, type OwedDelivery } from './owed.ts';

/** What deliveries are made with. */
export interface DeliveryPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly tenant: string;
  /** Absent: nothing is owed, and nothing sent. */
  readonly webhooks: EngineOptions['webhooks'];
  /** Starts a run and advances it here. */
  readonly start: (graph: Graph, input: DeliveryInput, options: StartOptions) => Promise<RunHandle>;
  /** Called when a delivery could not be admitted: a sweep does it later. */
  readonly onDeferred: (run: RunRow, error: unknown) => void;
}

const labelBytesMax = 256;
const pageSize = 100;
/** For how long a process that ends waits for its deliveries; more than one attempt takes. */
const closeMs = 20_000;

export class Deliveries {
  /** The graph of every delivery. */
  readonly graph: Graph;
  readonly #ports: DeliveryPorts;
  /** By run: what it owes and is being settled. */
  readonly #settling = new Map<string, Promise<unknown>>();
  /** By delivery: called when its first attempt has ended. A process that ends waits for those that it began. */
  readonly #firstAttempts = new Map<string, PromiseWithResolvers<void>>();

  constructor(ports: DeliveryPorts) {
    this.#ports = ports;
    const { clock, webhooks } = ports;
    const send = webhooks?.send;
    this.graph = deliveryGraph(send && ((delivery) => send({ ...delivery, at: clock.now() })), (id) =>
      this.#endFirstAttempt(id),
    );
  }

  /** The first attempt of a delivery has ended, or there is none here. */
  #endFirstAttempt(id: string): void {
    this.#firstAttempts.get(id)?.resolve();
    this.#firstAttempts.delete(id);
  }

  /** Counts what a commit of a run owes; undefined if it never owes anything, so that its commits are not looked at. */
  counter(
    run: RunRow,
    { webhooks: ofGraph = [] }: Graph,
  ): ((committing: Committing) => readonly WaitRow[]) | undefined {
    const { webhooks } = this.#ports;
    if (webhooks === undefined || isOfOrigin(run, 'webhook')) return undefined;
    const { webhooks: ofRun = [], isImported, isRestored } = metaOf(run);
    // What somebody else's record says tells nobody.
    if (isImported === true || isRestored === true) return undefined;
    const hooks: readonly Webhook[] = [...webhooks.hooks, ...ofGraph, ...ofRun];
    return hooks.length === 0 ? undefined : (committing) => owedBy(run, hooks, committing);
  }

  /** Admits what a durable commit owes. What fails here is found by a sweep. */
  settle(run: RunRow, owed: readonly WaitRow[]): void {
    const { runId } = run;
    const before = this.#settling.get(runId);
    const onDeferred = (error: unknown): void => this.#ports.onDeferred(run, error);
    const settling = Promise.all([before, ...owed.map((row) => this.#admit(run, row).catch(onDeferred))]);
    this.#settling.set(runId, settling);
    void settling.then(() => {
      if (this.#settling.get(runId) === settling) this.#settling.delete(runId);
    });
  }

  /** Resolves when what the run owes is admitted, or is left to a sweep. */
  settled(runId: string): Promise<unknown> | undefined {
    return this.#settling.get(runId);
  }

  async #admit({ runId }: Pick<RunRow, 'runId'>, row: WaitRow): Promise<void> {
    const { store, tenant } = this.#ports;
    const key = { tenant, runId };
    const owed = readDelivery(key, row) as OwedDelivery | undefined;
    if (owed !== undefined) await this.#start(row.waitId, owed);
    await store.clearDelivery(key, row.waitId);
  }

  async #start(
    id: string,
    { url, secret, private: isPrivate, event, runId, queue, body }: OwedDelivery,
  ): Promise<void> {
    const message = `msg_${id}`;
    const input = { url, secret, ...(isPrivate && { private: isPrivate }), id: message, body };
    const labels = { event, ...(Buffer.byteLength(runId) <= labelBytesMax && { run: runId }) };
    const options: StartOptions = {
      runId: derivedRunId('webhook', id),
      origin: 'webhook',
      meta: { labels },
      ...(queue !== '' && { schedule: { queue } }),
    };
    try {
      this.#firstAttempts.set(message, Promise.withResolvers<void>());
      const handle = await this.#ports.start(this.graph, input, options);
      const onRest = (): void => this.#endFirstAttempt(message);
      if (handle.created) void handle.result().then(onRest, onRest);
      else onRest();
    } catch (error) {
      this.#endFirstAttempt(message);
      // Another owner, or another version of this package, has admitted it; it may have ended and expired since.
      if (!CairnError.is(error, 'RUN_EXISTS', 'RUN_EXPIRED')) throw error;
    }
  }

  /** Admits whatever is owed in the store. @returns how many deliveries it found */
  async sweep(): Promise<number> {
    const { store, tenant, webhooks } = this.#ports;
    if (webhooks === undefined) return 0;
    let count = 0;
    for (;;) {
      const { rows } = await store.listWaits({ tenant, kinds: ['delivery'], limit: pageSize });
      for (const row of rows) await this.#admit(row, row);
      count += rows.length;
      if (rows.length < pageSize) return count;
    }
  }

  /** Whether a run is a delivery that this engine may make. @returns its graph; undefined if the run is none */
  graphOf(graphId: string, meta: RunMeta): Graph | undefined {
    if (graphId !== deliveryGraphId) return undefined;
    const { origin, isImported, isRestored } = meta as ReturnType<typeof metaOf>;
    const isOurs = origin === 'webhook' && isImported !== true && isRestored !== true;
    if (isOurs) return this.graph;
    throw new CairnError('PERMISSION_DENIED', {
      need: 'a delivery that no run of this store owes',
      grant: 'nothing: only what a commit owes is delivered',
    });
  }

  /** Resolves when what is owed is admitted, and each delivery was tried once; after a while whatever has become of them. */
  async close(): Promise<void> {
    const attempted = async (): Promise<void> => {
      while (this.#settling.size + this.#firstAttempts.size > 0)
        await Promise.all([
          ...this.#settling.values(),
          ...[...this.#firstAttempts.values()].map(({ promise }) => promise),
        ]);
    };
    if (this.#settling.size + this.#firstAttempts.size === 0) return;
    let cancel: (() => void) | undefined;
    const timeout = new Promise<void>((resolve) => (cancel = this.#ports.clock.setTimer(closeMs, resolve)));
    await Promise.race([attempted(), timeout]);
    cancel?.();
  }
}
