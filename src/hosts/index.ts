/** Hosts: runs that go on by calls of a function. */
export { fetchHost, type FetchHost, type FetchHostOptions } from './fetch-host.ts';
