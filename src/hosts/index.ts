/** Hosts: runs that go on by calls of a function. */
export type { RunWaker } from '../engine/api.ts';
export { fetchHost, type FetchHost, type FetchHostOptions } from './fetch-host.ts';
export { restateHost, type RestateHost, type RestateHostOptions } from './restate-host.ts';
export type { HostedGraph } from './slices.ts';
export { wakeByFetch, wakeByRestate, type FetchWakeOptions, type RestateWakeOptions } from '../app/wake-host.ts';
