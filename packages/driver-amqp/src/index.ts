export type { RabbitOptions } from './options.js';
export { createRabbitDriver, rabbitDriver } from './rabbit-driver.js';
