import { ConductorApi } from '@ebbgate/compute';
import type { HttpParts } from '#compute/http/app.js';
import type { CloudOptions } from '#compute/main-job/cloud.js';
import { expect } from 'chai';
import { type Answered, HttpBed } from './http-bed.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** A server, as it is shown. */
export type Shown = Readonly<Record<string, unknown>>;

/** What is asked for in a new server; all may be left out. */
export const CIRROS = { name: 'vm', imageRef: 'cirros', flavorRef: '1', networks: 'auto' } as const;

/** A cloud in memory, and the API in front of it. */
export class HttpCloud {
  readonly cloud: TestCloud;
  readonly bed: HttpBed;

  constructor(cloud: TestCloud, parts: Partial<HttpParts>) {
    const { records, computeApi, networking } = cloud.cloud;
    const conductor = new ConductorApi(computeApi.transport);
    this.cloud = cloud;
    this.bed = new HttpBed({ records, computeApi, networking, conductor, ...parts });
  }

  /** Asks for a server on a host. */
  create(server: object = {}, version = 'latest'): Promise<Answered> {
    const at = { ...CIRROS, availability_zone: `nova:${SOURCE}` };
    return this.bed.send('POST', '/v2.1/servers', { body: { server: { ...at, ...server } }, version });
  }

  /** Boots a server; resolves with its id when it is active. */
  async boot(server: object = {}): Promise<string> {
    const { status, body } = await this.create(server);
    expect(status, JSON.stringify(body)).to.equal(202);
    const id = String(body.server['id']);
    await this.cloud.becomes(id, 'active/-');
    return id;
  }

  act(id: string, body: object, version = 'latest'): Promise<Answered> {
    return this.bed.send('POST', `/v2.1/servers/${id}/action`, { body, version });
  }

  async shown(id: string, version = 'latest'): Promise<Shown> {
    const { status, body } = await this.bed.send('GET', `/v2.1/servers/${id}`, { version });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.server;
  }

  /** Names of the servers that are listed, with parameters. */
  async names(query = '', version = 'latest'): Promise<readonly unknown[]> {
    const { status, body } = await this.bed.send('GET', `/v2.1/servers/detail${query}`, { version });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.servers.map((one) => one['name']);
  }

  /** Forces a host down, or up again. */
  async force(host: string, down: boolean): Promise<void> {
    const body = { binary: 'nova-compute', host, forced_down: down };
    const { status } = await this.bed.send('PUT', '/v2.1/os-services/force-down', { body });
    expect(status).to.equal(200);
  }
}

/** The message of what was refused. */
export function refusal({ body }: Answered): string | undefined {
  return (body.badRequest ?? body.conflictingRequest ?? body.itemNotFound ?? body.forbidden)?.message;
}

/** Runs `work` on two hosts, a conductor, a broker of its own, and the API. */
export async function withHttpCloud(
  work: (http: HttpCloud) => Promise<void>,
  parts: Partial<HttpParts> = {},
  options: Partial<CloudOptions> = {},
): Promise<void> {
  await withCloud(options, async (cloud) => {
    const http = new HttpCloud(cloud, parts);
    try {
      await work(http);
    } finally {
      await http.bed.close();
    }
  });
}

export { DEST, SOURCE };
