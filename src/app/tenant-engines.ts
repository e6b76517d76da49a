/** One engine for each tenant of a process, over the same store. Each is created on first use, and all are closed together. */
import type { Engine, EngineOptions } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';
import { createLeaseGuard } from './process/lease-guard.ts';

export interface TenantEngines {
  /** The tenant's engine, always the same one, so that everybody who resumes a run gets the same run (E2.5). */
  of(tenant: string): Engine;
  close(): Promise<void>;
}

/** @param config - how long nodes may hold the event loop before the leases of all engines are renewed no longer */
export function createTenantEngines(
  options: Omit<EngineOptions, 'tenant' | 'leaseGuard'>,
  { busyMaxMs }: { readonly busyMaxMs?: number | undefined } = {},
): TenantEngines {
  const engines = new Map<string, Engine>();
  const { store, leaseMs } = options;
  const leaseGuard = createLeaseGuard({ store, leaseMs, ...(busyMaxMs !== undefined && { busyMaxMs }) });
  return {
    of(tenant) {
      const engine = engines.get(tenant) ?? createEngine({ ...options, leaseGuard, tenant });
      engines.set(tenant, engine);
      return engine;
    },
    close: async () => {
      await Promise.all(Array.from(engines.values(), (engine) => engine.close()));
      leaseGuard?.close();
    },
  };
}
