import { checkLogger, type Logger, silentLogger, type TypedEvents, within } from '@ebbgate/core';
import { DrainingError } from '@ebbgate/rpc';
import { checkBudgets, type DrainBudgets } from './budgets.js';
import { describeError } from './describe-error.js';
import type { DrainReport, StepEvent } from './drain-report.js';
import { DrainSequence, type DrainingServer } from './drain-sequence.js';
import type { DrainableServer } from './drainable-server.js';
import { type HealthAddress, type HealthServer, healthServerOf } from './health.js';
import type { Manager } from './manager.js';
import { PeriodicRunner } from './periodic.js';
import { programEnd } from './program-end.js';
import { type ServiceEvents, ServiceEventSource } from './service-events.js';
import { checkServiceOptions, type DrainOptions, type ServiceOptions } from './service-options.js';
import { type ServiceHealth, type ServiceSnapshot, type ServiceState, snapshotOf } from './snapshot.js';
import { type StateReporter, stateReporterOf } from './state-reporter.js';
import { TaskRegistry } from './task-registry.js';

/**
 * A program's servers and what stands behind them, as one thing that starts, serves, and drains before it ends: first
 * the new-request server stops, then the tasks end while the ops server still serves what belongs to them, then that
 * stops too, then `cleanupHost`, then the last replies and acknowledgements go out. Used once: after a drain it does not
 * start again.
 *
 * Knows no process: signals and exit codes are the business of {@link launch}.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when the budgets do not fit, or another option is wrong
 */
export class Service {
  /** What it is. */
  readonly name: string;
  /** Where it is: the server name in its targets. */
  readonly host: string;
  /** What runs. */
  readonly registry: TaskRegistry;
  /** Complete and checked. */
  readonly budgets: DrainBudgets;
  /** Its states, the steps of its drain, and its tasks. */
  readonly events: TypedEvents<ServiceEvents>;
  /** Resolves, and never rejects, when the service has drained: also after a start that failed. */
  readonly exited: Promise<DrainReport>;
  readonly #options: ServiceOptions;
  readonly #manager: Manager;
  readonly #logger: Logger;
  readonly #periodic: PeriodicRunner;
  readonly #reporter: StateReporter | undefined;
  readonly #health: HealthServer | undefined;
  readonly #startAbort = new AbortController();
  readonly #listening = new Set<DrainableServer>();
  readonly #settleExited: (report: DrainReport) => void;
  #state: ServiceState = 'idle';
  #started: Promise<void> | undefined;
  #prepared: Promise<unknown> | undefined;
  /** Why the start is held. */
  #held: string | undefined;
  #drain: { readonly reason: string; sequence: DrainSequence | undefined } | undefined;

  constructor(options: ServiceOptions) {
    checkServiceOptions(options);
    const logger = checkLogger(options.logger ?? silentLogger);
    const { manager = {}, registry = new TaskRegistry({ logger }) } = options;
    this.name = options.name;
    this.host = options.host;
    this.budgets = checkBudgets(options.budgets);
    this.registry = registry;
    this.events = new ServiceEventSource(registry, (error, event) => {
      logger.error({ event, error: describeError(error) }, 'A listener to the service failed');
    });
    let settle: (report: DrainReport) => void = () => undefined;
    this.exited = new Promise((resolve) => {
      settle = resolve;
    });
    this.#settleExited = settle;
    this.#options = options;
    this.#manager = manager;
    this.#logger = logger;
    this.#periodic = new PeriodicRunner(manager.periodic ?? [], registry, logger);
    const reports = {
      snapshot: () => this.snapshot(),
      intervalMs: options.reportIntervalMs ?? 10_000,
      logger,
    };
    this.#reporter = stateReporterOf(manager, reports);
    this.#health = options.health && healthServerOf(options.health, () => this.health(), logger);
  }

  /** Where it is on its way from `idle` to `exited`. */
  get state(): ServiceState {
    return this.#state;
  }

  /** Where the health endpoints listen; undefined while they do not. */
  get healthAddress(): HealthAddress | undefined {
    return this.#health?.address;
  }

  /** How the service does right now: what a CLI, the health endpoints and the state report show. */
  snapshot(): ServiceSnapshot {
    const { name: service, host } = this;
    const { reason = this.#held ?? null, sequence } = this.#drain ?? {};
    const now = { service, host, state: this.#state, reason, tasks: this.registry.snapshot() };
    return snapshotOf(now, sequence);
  }

  /** What the health endpoints answer. */
  health(): ServiceHealth {
    const snapshot = this.snapshot();
    return { live: this.#state !== 'exited', ready: snapshot.ready, snapshot };
  }

  /**
   * Resolves when both servers listen and the first state report is out. The ops server is up first: what begins on the
   * new-request server may need it.
   *
   * @throws what failed, after everything that was opened has been closed again; DrainingError (`ERR_DRAINING`) when a
   * drain came first. Neither can be repeated. With {@link launch} a drain is told only when the program has ended: then a
   * signal during `await service.start()` ends the process with the exit code of its drain, and not by this error
   */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /**
   * Drains, from whatever state, and resolves with what came of it: within `gracefulShutdownTimeoutMs`, and never
   * rejecting. The service is no longer ready when this returns its promise, which all callers share; the reason and the
   * options of the first count.
   */
  drain(reason: string, options: DrainOptions = {}): Promise<DrainReport> {
    this.#beginDrain(reason, options, false);
    return this.exited;
  }

  /**
   * Ends without finishing anything, from whatever state: as {@link Service.drain}, or going on with the drain that is
   * under way, but no task is waited for any more. The report names the tasks that ran, and the reason as a problem; its
   * outcome is never `clean`. Ending the tasks is the caller's business.
   */
  leave(reason: string): Promise<DrainReport> {
    this.#beginDrain(reason, {}, false);
    this.#drain?.sequence?.leave(reason);
    return this.exited;
  }

  /**
   * The time for everything is over now, as when `gracefulShutdownTimeoutMs` has passed: as {@link Service.drain}, or going on
   * with the drain that is under way, but nothing is waited for any more. The outcome is `timed-out`.
   */
  expire(reason: string): Promise<DrainReport> {
    this.#beginDrain(reason, { withinMs: 0 }, false);
    this.#drain?.sequence?.expire();
    return this.exited;
  }

  /** Sends a state report now, or right after the one that is under way; nothing while none are sent. */
  reportNow(): void {
    this.#reporter?.poke();
  }

  /**
   * A drain that is under way is over now: what it waits for is waited for no longer, no further step is begun, and
   * {@link Service.exited} resolves with what was left. For whoever has cut the service off from everything, and has no
   * process to end. Without a drain it has no effect.
   */
  cutOff(): void {
    if (this.#drain) this.#reporter?.end();
    this.#drain?.sequence?.cutOff();
  }

  async #start(): Promise<void> {
    try {
      this.#startAbort.signal.throwIfAborted();
      this.#move('starting');
      await this.#open(this.#startAbort.signal);
    } catch (error) {
      if (this.#drain === undefined) {
        this.#logger.error({ error: describeError(error) }, `Service ${this.name} could not start`);
        this.#beginDrain('the start failed', {}, true);
        await this.exited;
      } else {
        await programEnd(this);
      }
      throw error;
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { newRequestServer, opsServer } = this.#options;
    const untilDrain = async (step: () => Promise<unknown> | undefined): Promise<void> => {
      signal.throwIfAborted(); // nothing begins once the drain has
      await within(Promise.resolve(step()), { signal }, () => new Error('no time limit was set'));
    };
    await untilDrain(() => this.#health?.open());
    await untilDrain(() => (this.#prepared = this.#prepare(signal)));
    for (const server of opsServer ? [opsServer, newRequestServer] : [newRequestServer]) {
      await untilDrain(() => server.start().then(() => this.#listening.add(server)));
    }
    await untilDrain(() => this.#reporter?.first(signal));
    signal.throwIfAborted();
    this.#move('running');
    this.#periodic.start();
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const hold = (reason: string): void => {
      this.#logger.warn({ reason }, `Service ${this.name} waits: ${reason}`);
      this.#held = reason;
      this.#reporter?.begin();
    };
    await this.#manager.gate?.(hold, signal);
    signal.throwIfAborted();
    if (this.#held !== undefined) this.#logger.info({}, `Service ${this.name} goes on with its start`);
    this.#held = undefined;
    await this.#manager.initHost?.(signal);
  }

  #beginDrain(reason: string, options: DrainOptions, startFailed: boolean): void {
    if (this.#drain) return;
    const drain: { readonly reason: string; sequence: DrainSequence | undefined } = {
      reason,
      sequence: undefined,
    };
    this.#drain = drain;
    const startUp = this.#state === 'starting' && !startFailed ? this.#prepared : undefined;
    this.#logger.info({ reason, state: this.#state }, `Service ${this.name} drains: ${reason}`);
    this.#periodic.stop();
    drain.sequence = this.#sequence(reason, options.withinMs ?? Infinity, startUp, startFailed);
    this.#move('draining');
    this.#startAbort.abort(new DrainingError(`Service ${this.name} drains: ${reason}`));
    this.#reporter?.poke();
    void this.#run(drain.sequence);
  }

  #sequence(
    reason: string,
    withinMs: number,
    startUp: Promise<unknown> | undefined,
    startFailed: boolean,
  ): DrainSequence {
    const { newRequestServer, opsServer, journal, onExit, abortBeforeDeadline = false } = this.#options;
    const part = (name: DrainingServer['name'], server: DrainableServer): DrainingServer => ({
      name,
      server,
      listening: this.#listening.has(server),
    });
    const reporter = this.#reporter;
    return new DrainSequence({
      reason,
      budgets: this.budgets,
      withinMs,
      registry: this.registry,
      abortBeforeDeadline,
      newRequest: part('new-request', newRequestServer),
      ops: opsServer && part('ops', opsServer),
      startUp,
      startFailed,
      cleanupHost: (signal) => this.#manager.cleanupHost?.(signal),
      journal,
      lastReport: reporter && ((limitMs) => reporter.last(limitMs)),
      onExit,
      logger: this.#logger,
      onStep: (event) => {
        this.#onStep(event);
      },
    });
  }

  async #run(sequence: DrainSequence): Promise<void> {
    const report = await sequence.run();
    await this.#health?.close(); // last of all: until here it tells that the service is not ready
    this.#move('exited');
    const { outcome, unfinished, aborted, problems, durationMs } = report;
    const fields = { outcome, durationMs, problems, unfinished, aborted };
    if (outcome === 'clean') this.#logger.info(fields, `Service ${this.name} has drained`);
    else this.#logger.error(fields, `Service ${this.name} has drained, but not cleanly: ${outcome}`);
    this.events.emit('exited', report);
    this.#settleExited(report);
  }

  #onStep(event: StepEvent): void {
    if (event.phase === 'started') this.#logger.info(event, `Drain: ${event.name} …`);
    else if (event.outcome === 'done') this.#logger.info(event, `Drain: ${event.name} done`);
    else this.#logger.warn(event, `Drain: ${event.name} ${event.outcome}`);
    this.events.emit('step', event);
  }

  /** The only place that changes the state; the moves are those of {@link ServiceState}. */
  #move(state: ServiceState): void {
    const previous = this.#state;
    this.#state = state;
    this.events.emit('state', { previous, state });
  }
}
