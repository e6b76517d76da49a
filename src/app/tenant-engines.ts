/** An engine for each tenant of a process, over one store: made when it is first asked for, all closed together. */
import type { Engine, EngineOptions } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';

export interface TenantEngines {
  /** The same engine each time: within one engine, all who resume a run get the same run (E2.5). */
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
