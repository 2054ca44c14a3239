import type { TypedEvents } from '@ebbgate/core';
import type { RecordEvents } from '../db/memory-records.js';
import { RPC_TOPIC } from '../rpc/topics.js';
import type { SentMessage } from './job-cloud.js';
import type { HostEvent, HostView, JobEvent } from './job-events.js';
import { instanceEvent, migrationEvent } from './record-events.js';

type Exit = Extract<HostEvent, { kind: 'exit' }>;

/** Hears what a cloud tells, passes it on as the events of the main job, and remembers what the verdict rests on. */
export class Observer {
  /** The ends of all runs so far. */
  readonly exits: Exit[] = [];
  readonly #emit: (event: JobEvent) => void;
  readonly #names = new Map<string, string>();
  readonly #views = new Map<string, HostView>();
  readonly #listeners = new Set<(event: HostEvent) => void>();

  constructor(emit: (event: JobEvent) => void) {
    this.#emit = emit;
  }

  /** Something has happened at a host. */
  readonly onHost = (event: HostEvent): void => {
    if (event.kind === 'exit') this.exits.push(event);
    if (event.kind === 'host') this.#views.set(event.view.host, event.view);
    this.#emit(event);
    for (const listener of [...this.#listeners]) listener(event);
  };

  /** A message is about to be sent to a host. */
  readonly onSent = ({ topic, host, method }: SentMessage): void => {
    const view = this.#views.get(host);
    const state = topic === RPC_TOPIC ? view?.newRequest : view?.ops;
    if (state === 'stopped') this.#emit({ kind: 'waiting', host, topic, method });
  };

  /** The name of an instance, once its record was seen. */
  readonly nameOf = (uuid: string): string => this.#names.get(uuid) ?? uuid;

  /** Resolves when the new-request server of a host stops the next time. */
  newRequestServerStops(host: string): Promise<void> {
    return new Promise((resolve) => {
      const listener = (event: HostEvent): void => {
        if (event.kind !== 'host' || event.why !== 'server') return;
        if (event.view.host !== host || event.view.newRequest !== 'stopped') return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  watchRecords(events: TypedEvents<RecordEvents>): void {
    events.on('instance', (instance) => {
      const event = instanceEvent(instance);
      this.#names.set(event.uuid, event.name);
      this.#emit(event);
    });
    events.on('migration', (migration) => {
      this.#emit(migrationEvent(migration, this.nameOf(migration.get('instance_uuid'))));
    });
  }
}
