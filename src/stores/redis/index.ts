/** The entry point of the Redis store. */

export { passwordFrom } from '../server-url.ts';
export { openRedisStore, type RedisStore, type RedisStoreOptions } from './redis-store.ts';
