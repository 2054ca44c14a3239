export {
  type DrainBudgets,
  type DrainBudgetsConfig,
  budgetsFromConfig,
  checkBudgets,
  checkGracePeriod,
  defaultBudgets,
} from './budgets.js';
export type {
  DrainOutcome,
  DrainReport,
  StepEvent,
  StepName,
  StepOutcome,
  StepReport,
} from './drain-report.js';
export type { DrainableServer, ServerEnd } from './drainable-server.js';
export { exitCodeOf, exitCodes } from './exit-codes.js';
export { type HealthAddress, type HealthOptions, HealthServer, type MetricsText } from './health.js';
export {
  launch,
  type Launched,
  type LaunchOptions,
  type LaunchSignal,
  type ServiceFactory,
} from './launcher.js';
export type { DrainJournal, Manager } from './manager.js';
export type { PeriodicTask } from './periodic.js';
export type { DrainOptions, ServiceOptions } from './service-options.js';
export { Service } from './service.js';
export type { ServiceEvents, TaskEvent } from './service-events.js';
export type { ServiceHealth, ServiceSnapshot, ServiceState } from './snapshot.js';
export { type SupervisorNotices, type SupervisorStatus, tellSupervisor } from './supervisor-notices.js';
export type { AbortableTask, TaskAbort } from './task-abort.js';
export { taskInterceptor, type TaskInterceptorOptions } from './task-interceptor.js';
export {
  type TaskCounts,
  type TaskEvents,
  type TaskHandle,
  type TaskKind,
  type TaskRecord,
  TaskRegistry,
  type TaskRegistryOptions,
  type TaskSnapshot,
} from './task-registry.js';
