import { exitCodeOf } from '@ebbgate/service';
import type { ComputeHost } from '../compute/compute-host.js';
import type { HostProcess } from '../compute/host-process.js';
import type { HostEvent, HostView, ServerLeft } from './job-events.js';

/** Tells what a host does, as events of the main job: in its process, or printed for those who started it. */
export function reportHost(host: ComputeHost, emit: (event: HostEvent) => void): void {
  host.events.on('started', (process) => {
    reportRun(host, process, emit);
  });
  host.events.on('request', ({ topic, method }) => {
    const draining = host.process.service.state === 'draining';
    emit({ kind: 'request', host: host.name, topic, method, draining });
  });
}

function reportRun(host: ComputeHost, process: HostProcess, emit: (event: HostEvent) => void): void {
  const run = host.runs;
  const { events } = process.service;
  const show = (why: 'state' | 'server' | 'tasks'): void => {
    emit({ kind: 'host', why, view: viewOf(host.name, run, process) });
  };
  events.on('state', () => {
    show('state');
  });
  events.on('step', ({ phase, name }) => {
    if (phase === 'finished' && (name === 'stop-new-request' || name === 'stop-ops')) show('server');
  });
  events.on('task', () => {
    show('tasks');
  });
  events.on('exited', (report) => {
    emit({ kind: 'exit', host: host.name, code: exitCodeOf(report), report, servers: serversOf(process) });
  });
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

function serversOf({ newRequestServer, opsServer }: HostProcess): readonly ServerLeft[] {
  return [newRequestServer, ...(opsServer ? [opsServer] : [])].map((server) => ({
    topic: server.target.topic ?? '',
    state: server.state,
    requests: server.running + server.waiting,
  }));
}
