import { TypedEvents } from '@ebbgate/core';
import type { DrainReport, StepEvent } from './drain-report.js';
import type { ServiceState } from './snapshot.js';
import type { TaskEvents, TaskRegistry } from './task-registry.js';

/** A task of a service that begins, or that has ended. */
export type TaskEvent =
  | { readonly phase: 'opened'; readonly task: TaskEvents['opened'] }
  | ({ readonly phase: 'ended' } & TaskEvents['ended']);

/** What a service tells. */
export interface ServiceEvents {
  /** The state has changed. */
  readonly state: { readonly previous: ServiceState; readonly state: ServiceState };
  /** A step of the drain begins, or has ended. */
  readonly step: StepEvent;
  /** A task began, changed or ended. */
  readonly task: TaskEvent;
  /** The drain is over, and so is the service. */
  readonly exited: DrainReport;
}

type Listeners = { [Name in keyof ServiceEvents]: (event: ServiceEvents[Name]) => void };

/** The events of a service. Those of its tasks are made only once somebody listens to them: there may be many. */
export class ServiceEventSource extends TypedEvents<ServiceEvents> {
  readonly #registry: TaskRegistry;
  #hearsTasks = false;

  constructor(registry: TaskRegistry, onListenerError: (error: unknown, event: string) => void) {
    super(onListenerError);
    this.#registry = registry;
  }

  override on<Name extends keyof ServiceEvents>(name: Name, listener: Listeners[Name]): () => void {
    if (name === 'task') this.#hearTasks();
    return super.on(name, listener);
  }

  #hearTasks(): void {
    if (this.#hearsTasks) return;
    this.#hearsTasks = true;
    this.#registry.events.on('opened', (task) => {
      this.emit('task', { phase: 'opened', task });
    });
    this.#registry.events.on('ended', (ended) => {
      this.emit('task', { phase: 'ended', ...ended });
    });
  }
}
