import type { Cloud, SentMessage } from './cloud.js';
import type { ComputeHost } from '../compute/compute-host.js';
import type { HostProcess } from '../compute/host-process.js';
import type { HostView, JobEvent } from './job-events.js';

/** Turns what a cloud tells into the events of the main job, and remembers all runs of its hosts. */
export class Observer {
  /** Every run of every host so far. */
  readonly processes: HostProcess[] = [];
  readonly #emit: (event: JobEvent) => void;
  readonly #names = new Map<string, string>();

  constructor(emit: (event: JobEvent) => void) {
    this.#emit = emit;
  }

  watch(cloud: Cloud): void {
    this.#watchRecords(cloud);
    for (const host of cloud.hosts.values()) this.#watchHost(host);
  }

  /** A message is about to be sent to a host. */
  onSend(cloud: Cloud, { topic, host: name, method }: SentMessage): void {
    const { newRequestServer, opsServer } = cloud.host(name).process;
    const server = [newRequestServer, opsServer].find((each) => each?.target.topic === topic);
    if (server?.state !== 'listening') this.#emit({ kind: 'waiting', host: name, topic, method });
  }

  /** The name of an instance, once its record was seen. */
  readonly nameOf = (uuid: string): string => this.#names.get(uuid) ?? uuid;

  #watchRecords({ records }: Cloud): void {
    records.events.on('instance', (instance) => {
      const uuid = instance.get('uuid');
      const name = instance.find('display_name') ?? uuid;
      this.#names.set(uuid, name);
      this.#emit({
        kind: 'instance',
        uuid,
        name,
        host: instance.find('host') ?? null,
        vmState: instance.get('vm_state'),
        taskState: instance.get('task_state'),
      });
    });
    records.events.on('migration', (migration) => {
      const total = migration.find('memory_total') ?? 0;
      this.#emit({
        kind: 'migration',
        uuid: migration.get('uuid'),
        name: this.nameOf(migration.get('instance_uuid')),
        status: migration.get('status'),
        source: migration.get('source_compute'),
        dest: migration.find('dest_compute') ?? null,
        progress: total === 0 ? 0 : (migration.find('memory_processed') ?? 0) / total,
      });
    });
  }

  #watchHost(host: ComputeHost): void {
    host.events.on('started', (process) => {
      this.processes.push(process);
      this.#watchRun(host, process);
    });
    host.events.on('request', ({ topic, method }) => {
      const draining = host.process.service.state === 'draining';
      this.#emit({ kind: 'request', host: host.name, topic, method, draining });
    });
    host.events.on('exited', ({ code, report }) => {
      this.#emit({ kind: 'exit', host: host.name, code, report });
    });
  }

  #watchRun(host: ComputeHost, process: HostProcess): void {
    const run = host.runs;
    const show = (why: 'state' | 'server' | 'tasks'): void => {
      this.#emit({ kind: 'host', why, view: viewOf(host.name, run, process) });
    };
    process.service.events.on('state', () => {
      show('state');
    });
    process.service.events.on('step', ({ phase, name }) => {
      if (phase === 'finished' && (name === 'stop-new-request' || name === 'stop-ops')) show('server');
    });
    process.service.events.on('task', () => {
      show('tasks');
    });
  }
}

function viewOf(host: string, run: number, { service, newRequestServer, opsServer }: HostProcess): HostView {
  const upOrNot = (state: string) => (state === 'listening' ? 'up' : 'stopped');
  return {
    host,
    run,
    state: service.state,
    newRequest: upOrNot(newRequestServer.state),
    ops: opsServer ? upOrNot(opsServer.state) : 'none',
    tasks: service.registry.snapshot(),
  };
}
