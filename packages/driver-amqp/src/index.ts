export { amqp10Driver, createAmqp10Driver } from './amqp10-driver.js';
export type { RabbitOptions } from './options.js';
export { createRabbitDriver, rabbitDriver } from './rabbit-driver.js';
export type { Amqp10Options } from './v10/amqp10-options.js';
