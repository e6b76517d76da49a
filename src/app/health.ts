/** What a long-lived process tells its supervisor, at a port of its own (O3.2.4). */
import { hostName } from './http/http-guard.ts';
import { createProbes } from './http/probes.ts';
import { metricsType } from './metrics/metrics.ts';
import type { App } from './open-app.ts';
import { openHealthPort, type PortAnswer } from './process/health-port.ts';

export interface HealthAddress {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port: number;
}

export interface ProbePort {
  readonly url: string;
  /** Call when the process begins to stop: it is not ready any more. */
  stop(): void;
  close(): Promise<void>;
}

/** Answers `/livez`, also while a node holds the event loop, `/readyz`, and `/metrics`. @throws CONFIG_INVALID the address cannot be listened on */
export async function openHealth({ store, tenant, config, metrics }: App, address: HealthAddress): Promise<ProbePort> {
  const probes = createProbes(store, tenant);
  const { busyMaxMs } = config;
  const answer = async (path: string): Promise<PortAnswer | undefined> =>
    path === '/metrics' && metrics !== undefined
      ? { status: 200, body: await metrics.text(), type: metricsType }
      : probes.answer(path);
  const port = await openHealthPort({ ...address, busyMaxMs, answer });
  const url = `http://${hostName(address.host ?? '127.0.0.1')}:${port.port}`;
  return { url, stop: () => probes.stop(), close: () => port.close() };
}
