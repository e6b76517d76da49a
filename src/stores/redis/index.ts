/** The entry point of the Redis store. */

export { passwordFrom } from '../password.ts';
export { openRedisStore, type RedisStore, type RedisStoreOptions } from './redis-store.ts';
