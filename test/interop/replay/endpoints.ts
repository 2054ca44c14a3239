import { setTimeout as pause } from 'node:timers/promises';
import { type RequestContext, Target } from '@ebbgate/core';
import {
  expectedExceptions,
  explicitAccessPolicy,
  expose,
  legacyAccessPolicy,
  RpcServer,
} from '@ebbgate/rpc';
import { type Deferred, deferred } from '../../support/deferred.js';
import type { RecordedServer } from './declarations.js';
import type { OurSide } from './our-side.js';
import { FormattedError, KeyError, QuotaExceeded, recordedErrors } from './recorded-errors.js';

type Args = Readonly<Record<string, unknown>>;

/** The methods of the recorded servers, and what they were given. */
export class RecordedEndpoint {
  /** What `record` and `echo` were given, in order. */
  readonly seen: unknown[] = [];
  /** Opens what `wait_for_go` waits for. */
  readonly go: Deferred<void> = deferred();
  readonly fail_expected: () => unknown = expectedExceptions([QuotaExceeded], () => {
    throw new QuotaExceeded('an expected one');
  });

  echo(_context: RequestContext, { value }: Args): unknown {
    this.seen.push(value);
    return value;
  }

  record(_context: RequestContext, args: Args): void {
    this.seen.push(args);
  }

  nothing(): null {
    return null;
  }

  context({ values }: RequestContext): unknown {
    return { ...values };
  }

  async sleep(_context: RequestContext, { seconds }: Args): Promise<string> {
    await pause(Number(seconds) * 1000);
    return `slept ${String(seconds)}`;
  }

  async wait_for_go(_context: RequestContext, { n }: Args): Promise<unknown> {
    await this.go.promise;
    return n;
  }

  _private(): string {
    return 'private';
  }

  fail_value_error(): never {
    throw new RangeError("('bad value', 42)");
  }

  fail_key_error(): never {
    throw new KeyError("'missing'");
  }

  fail_unicode(): never {
    throw new RangeError('café 日本 😀');
  }

  fail_quota(): never {
    throw new QuotaExceeded("('over quota', 7)");
  }

  fail_formatted(): never {
    throw new FormattedError('widget w1 is broken', { name: 'w1', state: 'broken' });
  }
}

class Who {
  readonly target: Target;

  constructor(version: string) {
    this.target = new Target({ namespace: 'baseapi', version });
  }

  who(): string {
    return `baseapi ${String(this.target.version)}`;
  }
}

const legacyAware = {
  target: new Target({ legacyNamespaces: ['old'] }),
  which: (): string => 'legacy-aware endpoint',
};

class Exposed {
  static {
    expose(Exposed.prototype.open);
  }

  open(): string {
    return 'exposed';
  }

  closed(): string {
    return 'hidden';
  }
}

/** A server as the case had it. */
export interface OurServer {
  readonly server: RpcServer;
  readonly endpoint: RecordedEndpoint;
}

/** Our server in the place of a recorded one. */
export async function serveAs(side: OurSide, recorded: RecordedServer, name: string): Promise<OurServer> {
  const endpoint = new RecordedEndpoint();
  const { exchange, topic, server } = recorded;
  const isVersions = name === 'call_namespace_version';
  const isExplicit = topic === 'explicit';
  const endpoints = isVersions
    ? [new Who('1.5'), new Who('2.0'), legacyAware]
    : [isExplicit ? new Exposed() : endpoint];
  const remoteErrors = recordedErrors()
    .register(KeyError, { module: 'builtins' })
    .register(RangeError, { module: 'builtins', name: 'ValueError' });
  const ourServer = new RpcServer(side.transport, { exchange, topic, server }, endpoints, {
    remoteErrors,
    ping: name === 'ping',
    ...(isExplicit && { accessPolicy: explicitAccessPolicy }),
    ...(name === 'access_policies' && !isExplicit && { accessPolicy: legacyAccessPolicy }),
    ...(name === 'stop_and_wait' && { slots: 1 }),
  });
  await ourServer.start();
  return { server: ourServer, endpoint };
}
