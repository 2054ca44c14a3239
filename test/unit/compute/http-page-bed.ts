import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Instance } from '@ebbgate/compute';
import { InstanceFault } from '#compute/objects/instance-fault.js';
import type { HttpParts } from '#compute/http/app.js';
import { EventReader } from '../../support/event-reader.js';
import { type HttpBed, withHttp } from './http-bed.js';

/** An API that listens, and those who listen to it. */
export class PageBed {
  readonly bed: HttpBed;
  readonly port: number;
  readonly #readers: EventReader[] = [];

  constructor(bed: HttpBed, port: number) {
    this.bed = bed;
    this.port = port;
  }

  async reader(headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
    const reader = await EventReader.open(this.port, headers);
    this.#readers.push(reader);
    return reader;
  }

  /** An instance that is active on a host; resolves with its uuid. */
  async instance(name: string, host: string): Promise<string> {
    const uuid = randomUUID();
    const states = { vm_state: 'active', task_state: null } as const;
    await this.bed.records.instances.create(Instance.create({ uuid, display_name: name, host, ...states }));
    return uuid;
  }

  /** It is moved live from `source`; resolves with the uuid of the migration. */
  async migrating(instance: string, source: string, dest: string): Promise<string> {
    await this.bed.records.instances.update(instance, { task_state: 'migrating' });
    const migration = await this.bed.migration({
      instance_uuid: instance,
      migration_type: 'live-migration',
      status: 'running',
      source_compute: source,
      dest_compute: dest,
      memory_total: 100,
      memory_processed: 0,
      memory_remaining: 100,
    });
    return migration.get('uuid');
  }

  /** A host in each state, by these names in order, instances called by the first and the last, and a drain with a move. */
  async fill(names: readonly string[]): Promise<void> {
    const { bed } = this;
    const [up = '', draining = '', disabled = '', dead = '', silent = ''] = names;
    for (const host of [up, disabled, dead]) await bed.service(host);
    await bed.service(silent, { reportedAtMs: 1 });
    const vm = await this.instance(names.at(-1) ?? '', draining);
    const task = { name: up, kind: 'background', subject: vm, ageMs: 61_000, progress: 0.2 } as const;
    const drain = { reason: up, step: 'tasks', budgetLeftMs: 900_000, taskCount: 2, tasks: [task, task] };
    await bed.service(draining, { state: 'draining', drain });
    await bed.records.services.update('compute', disabled, { disabled: true, disabledReason: up });
    await bed.records.services.update('compute', dead, { forcedDown: true });
    await this.migrating(vm, draining, up);
    const failed = await this.instance(up, disabled);
    const fault = InstanceFault.create({ code: 500, message: up, details: '', host: up });
    await bed.records.instances.update(failed, { vm_state: 'error', fault });
  }

  close(): void {
    for (const reader of this.#readers) reader.close();
    this.bed.app.fastify.server.closeAllConnections(); // browsers keep some for later
  }
}

/** Runs `work` on an API that listens; it is told of changes of its records, unless `parts` say otherwise. */
export async function withPage(
  work: (page: PageBed) => Promise<void>,
  parts: Partial<HttpParts> = {},
): Promise<void> {
  const streams = { coalesceMs: 1, ...parts.streams };
  await withHttp(
    async (bed) => {
      await bed.app.fastify.listen({ host: '127.0.0.1', port: 0 });
      const { port } = bed.app.fastify.server.address() as AddressInfo; // it listens on TCP
      const page = new PageBed(bed, port);
      try {
        await work(page);
      } finally {
        page.close();
      }
    },
    { ...parts, streams },
  );
}

/** An answer that takes what is written, or has no room for more. */
export class ScriptedResponse extends EventEmitter {
  readonly written: string[] = [];
  hasRoom = true;
  destroyed = false;

  /** As what it stands for. */
  get response(): ServerResponse {
    return this as unknown as ServerResponse; // as far as a client needs it
  }

  writeHead(): this {
    return this;
  }

  write(text: string): boolean {
    this.written.push(text);
    return this.hasRoom;
  }

  destroy(): void {
    this.destroyed = true;
  }

  end(): void {
    this.written.push('end');
  }
}
