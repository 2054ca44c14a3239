import { randomUUID } from 'node:crypto';
import { createTransport, type Logger, silentLogger } from '@ebbgate/core';
import {
  ComputeApi,
  COMPUTE_METHODS,
  ConductorApi,
  Liveness,
  type LocalRecords,
  MemoryRecords,
  Migration,
  type MigrationFields,
  RemoteNetworking,
  RPC_TOPIC,
  type ServiceReport,
} from '@ebbgate/compute';
import { RpcServer } from '@ebbgate/rpc';
import { TaskRegistry } from '@ebbgate/service';
import { createApp, type HttpApp, type HttpParts } from '#compute/http/app.js';
import { openAccess } from '#compute/http/auth.js';
import { Policy } from '#compute/http/policy.js';
import { makeEndpoint } from '#compute/rpc/endpoint.js';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { RPC_TOPIC_OPS } from '#compute/rpc/topics.js';

/** How a request is sent; all may be left out. */
export interface Sent {
  readonly body?: unknown;
  /** Of Nova's interface: `2.53`, `latest`. */
  readonly version?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: AnsweredBody;
}

/** A service, as it is shown. */
export type ServiceShown = Readonly<Record<string, unknown>>;

interface Fault {
  readonly code: number;
  readonly message: string;
}

/** What there may be in an answer; a test knows what it has asked for. */
interface AnsweredBody {
  readonly services: readonly ServiceShown[];
  readonly service: ServiceShown;
  readonly version: ServiceShown;
  readonly versions: readonly ServiceShown[];
  readonly server: ServiceShown;
  readonly servers: readonly ServiceShown[];
  readonly servers_links?: readonly { readonly rel: string; readonly href: string }[];
  readonly badRequest?: Fault;
  readonly forbidden?: Fault;
  readonly itemNotFound?: Fault;
  readonly computeFault?: Fault;
  readonly conflictingRequest?: Fault;
  readonly overLimit?: Fault;
  readonly serviceUnavailable?: Fault;
}

let beds = 0;

/** The API over records in memory, with words for tests. */
export class HttpBed {
  readonly records: LocalRecords = new MemoryRecords((error) => {
    throw error;
  });
  readonly tasks: TaskRegistry = new TaskRegistry();
  readonly app: HttpApp;
  readonly computeApi: ComputeApi;
  /** What hosts were called for: `host method(args)`. */
  readonly calls: string[] = [];
  nowMs = Date.now();
  readonly #transport;
  readonly #url: string;
  readonly #servers: RpcServer[] = [];

  constructor(parts: Partial<HttpParts> = {}, logger: Logger = silentLogger) {
    beds += 1;
    this.#url = `memory://http-${beds}/`;
    this.#transport = createTransport(this.#url);
    this.computeApi = new ComputeApi(this.#transport);
    const { records, tasks, computeApi } = this;
    this.app = createApp({
      records,
      tasks,
      logger,
      computeApi,
      conductor: new ConductorApi(this.#transport),
      networking: new RemoteNetworking(this.#transport),
      liveness: new Liveness({ now: () => this.nowMs, steadyNow: () => this.nowMs }),
      validator: openAccess,
      policy: new Policy(new Map()),
      events: records.events,
      ...parts,
    });
  }

  async send(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, sent: Sent = {}): Promise<Answered> {
    const { body, version, token, headers = {} } = sent;
    const answer = await this.app.fastify.inject({
      method,
      url: path,
      headers: {
        ...(version !== undefined && { 'openstack-api-version': `compute ${version}` }),
        ...(token !== undefined && { 'x-auth-token': token }),
        ...headers,
      },
      ...(body !== undefined && { payload: body as object }),
    });
    const text = answer.body;
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: JSON.parse(text === '' ? '{}' : text) as AnsweredBody,
    };
  }

  /** A service reports for the first time, now; compute by default. */
  async service(host: string, report: Partial<ServiceReport> = {}): Promise<string> {
    const whole = { binary: 'compute', host, state: 'running', reportedAtMs: this.nowMs, ...report };
    return (await this.records.services.register(whole)).uuid;
  }

  /** Reports again, as a heartbeat does. */
  async beat(host: string): Promise<void> {
    await this.records.services.report({
      binary: 'compute',
      host,
      state: 'running',
      reportedAtMs: this.nowMs,
    });
  }

  async migration(fields: Partial<MigrationFields>): Promise<Migration> {
    return this.records.migrations.create(
      Migration.create({ uuid: randomUUID(), instance_uuid: 'i', ...fields }),
    );
  }

  /** The services listed, as a version shows them. */
  async listed(version?: string): Promise<readonly ServiceShown[]> {
    const { body } = await this.send('GET', '/v2.1/os-services', version === undefined ? {} : { version });
    return body.services;
  }

  /** A compute host, on both topics, that notes what it is called for. */
  async host(name: string): Promise<void> {
    const note = (call: string): null => {
      this.calls.push(`${name} ${call}`);
      return null;
    };
    const endpoint = makeEndpoint(
      COMPUTE_METHODS,
      { version: '6.5' },
      {
        set_host_enabled: (_context, { enabled }) => {
          note(`set_host_enabled(${enabled})`);
          return enabled ? 'enabled' : 'disabled';
        },
        get_host_uptime: () => `${name} is up`,
        get_console_output: () => 'text',
        get_vnc_console: () => ({ host: name, port: '5900', token: 't' }),
        get_spice_console: () => ({ host: name, port: '5901', token: 't' }),
        get_serial_console: () => ({ host: name, port: '5902', token: 't' }),
        set_admin_password: () => undefined,
        live_migration_abort: (_context, { migration_id: id }) => void note(`live_migration_abort(${id})`),
        live_migration_force_complete: () => void note('live_migration_force_complete()'),
        external_instance_event: (_context, { events }) => {
          for (const event of events) {
            const [what, tag, status] = [event.get('name'), event.get('tag'), event.get('status')];
            note(`external_instance_event(${what}, ${String(tag)}, ${status})`);
          }
        },
      },
    );
    for (const topic of [RPC_TOPIC, RPC_TOPIC_OPS]) {
      const options = { serializer: objectSerializer };
      const server = new RpcServer(this.#transport, { topic, server: name }, [endpoint], options);
      await server.start();
      this.#servers.push(server);
    }
  }

  async close(): Promise<void> {
    await this.app.fastify.close();
    for (const server of this.#servers) {
      await server.stop();
      await server.wait({ timeoutMs: 1000 });
    }
    await this.#transport.close();
  }
}

/** Runs `work` on an API of its own. */
export async function withHttp(
  work: (bed: HttpBed) => Promise<void>,
  parts: Partial<HttpParts> = {},
  logger?: Logger,
): Promise<void> {
  const bed = new HttpBed(parts, logger);
  try {
    await work(bed);
  } finally {
    await bed.close();
  }
}
