/** One engine for each tenant of a process, over the same store. Each is created on first use, and all are closed together. */
import type { Engine, EngineOptions } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';

export interface TenantEngines {
  /** The tenant's engine, always the same one, so that everybody who resumes a run gets the same run (E2.5). */
  of(tenant: string): Engine;
  close(): Promise<void>;
}

export function createTenantEngines(options: Omit<EngineOptions, 'tenant'>): TenantEngines {
  const engines = new Map<string, Engine>();
  return {
    of(tenant) {
      const engine = engines.get(tenant) ?? createEngine({ ...options, tenant });
      engines.set(tenant, engine);
      return engine;
    },
    close: async () => void (await Promise.all(Array.from(engines.values(), (engine) => engine.close()))),
  };
}
