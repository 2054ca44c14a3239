export { createRedisDriver, redisDriver } from './redis-driver.js';
export type { RedisOptions } from './redis-options.js';
