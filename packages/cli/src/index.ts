export type { CliEnvironment } from './cli-context.js';
export type { EndpointsContext, EndpointsFactory } from './endpoints-file.js';
export { cliExitCodes, Interruption } from './exit-codes.js';
export type { OutputStream } from './output.js';
export { runCli } from './run-cli.js';
