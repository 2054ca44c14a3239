import { randomUUID } from 'node:crypto';
import { RequestContext } from '@ebbgate/core';
import type { BootRequest } from '../api/servers.js';
import type { Migration } from '../objects/migration.js';
import { checkArgs } from '../rpc/check-args.js';
import { type ArgsOf, COMPUTE_METHODS, type ComputeMethods } from '../rpc/methods.js';
import { decodeArgs, readRecordedRequest, type RecordedRequest } from './recorded-requests.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;

/** What the main job takes from the recorded requests of a Nova client. */
export class RecordedJob {
  /** The user's context, as it was sent with the build. */
  readonly context: RequestContext;
  /** The migration that was asked for: which hosts. */
  readonly migration: Migration;
  /** The port whose plugging was told. */
  readonly portId: string;
  /** Uuid of the recorded instance. */
  readonly instanceUuid: string;
  /** What was read, for showing. */
  readonly sources: readonly string[];
  readonly #build: RecordedRequest;
  readonly #freshIds: boolean;

  private constructor(
    build: RecordedRequest,
    migrate: RecordedRequest,
    event: RecordedRequest,
    freshIds: boolean,
  ) {
    const { instance } = decode('build_and_run_instance', build);
    this.#build = build;
    this.#freshIds = freshIds;
    this.context = new RequestContext(build.context);
    this.instanceUuid = instance.get('uuid');
    this.migration = decode('live_migration', migrate).migration;
    this.portId = decode('external_instance_event', event).events[0]?.find('tag') ?? randomUUID();
    this.sources = [build, migrate, event].map(({ method, version }) => `${method} ${version}`);
  }

  /**
   * @param options - `freshIds`: the first instance gets an id of its own, too; for a broker that may still have messages
   * about the recorded one, of an earlier run
   */
  static async read({ freshIds = false }: { readonly freshIds?: boolean } = {}): Promise<RecordedJob> {
    const [build, migrate, event] = await Promise.all(
      ['v26-build_and_run_instance', 'v26-live_migration', 'v26-external_instance_event'].map(
        readRecordedRequest,
      ),
    );
    if (!build || !migrate || !event) throw new TypeError('three requests were read');
    return new RecordedJob(build, migrate, event, freshIds);
  }

  get source(): string {
    return this.migration.get('source_compute');
  }

  get dest(): string {
    return this.migration.get('dest_compute') ?? '';
  }

  /**
   * The recorded build as a request to boot on one host: number 1 is the recorded instance itself, the others are like
   * it, with ids and names of their own.
   */
  bootRequest(number: number, host: string): BootRequest {
    const replaced = new Map<string, string>();
    if (number > 1 || this.#freshIds) replaced.set(this.instanceUuid, randomUUID()).set('vm1', `vm${number}`);
    const args = decode('build_and_run_instance', this.#build, replaced);
    return {
      instance: args.instance,
      requestSpec: args.request_spec.clone().update({ force_hosts: [host] }),
      image: args.image,
      adminPassword: args.admin_password,
      requestedNetworks: args.requested_networks,
      blockDeviceMapping: args.block_device_mapping,
    };
  }
}

function decode<Name extends keyof ComputeMethods>(
  name: Name,
  request: RecordedRequest,
  replaced?: ReadonlyMap<string, string>,
): Args<Name> {
  return checkArgs(name, COMPUTE_METHODS[name], decodeArgs(request, replaced));
}
