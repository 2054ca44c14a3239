import type { RequestContext } from '@ebbgate/core';
import { type Logger } from '@ebbgate/core';
import { ExpectedException, type ServerInterceptor, type ServerRequest } from '@ebbgate/rpc';
import type { ServiceRecord, ServiceRepository } from '../db/repositories.js';
import { FencedError, RecordNotFoundError } from '../errors.js';
import { RECORDS_NAMESPACE } from '../rpc/record-methods.js';
import { EPOCH_MEMBER, HOST_MEMBER } from './host-epoch.js';

/** How senders are judged. */
export interface SenderEpochsOptions {
  readonly services: Pick<ServiceRepository, 'get'>;
  readonly logger: Logger;
  /** For so long what a record said is taken to hold; default 5000. */
  readonly freshMs?: number;
  /** Milliseconds of a clock that only goes forward; default `performance.now`. */
  readonly now?: () => number;
}

interface Sender {
  readonly host: string;
  readonly epoch: number;
}

interface Known {
  /** Undefined: there is no record of the host. */
  readonly epoch: number | undefined;
  readonly atMs: number;
}

const MOST_HOSTS = 10_000;

/** What a host does that learns whether it was forced down: it is always heard. */
const ALWAYS: ReadonlySet<string> = new Set(['service_get', 'service_register', 'service_report']);

/**
 * Refuses what was sent by a host that has been forced down since it took its epoch (`decisions.md` 31). What carries no
 * epoch passes. The record of a sender is read once in a while, not for each request; who hears of changes can tell them.
 */
export class SenderEpochs {
  readonly #options: SenderEpochsOptions;
  readonly #freshMs: number;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<Known>>();

  constructor(options: SenderEpochsOptions) {
    this.#options = options;
    this.#freshMs = options.freshMs ?? 5000;
    this.#now = options.now ?? (() => performance.now());
  }

  /** A record was read, or written, anyhow. */
  hear({ binary, host, epoch }: ServiceRecord): void {
    if (binary === 'compute') this.#known.set(host, { epoch, atMs: this.#now() });
  }

  /** For the servers; the request is handed on without the epoch, which is its sender's alone. */
  readonly interceptor: ServerInterceptor = (request, next) => {
    const sender = senderOf(request.context);
    if (!sender) return next(request);
    const own = { ...request, context: withoutSender(request.context) };
    if (request.namespace === RECORDS_NAMESPACE && ALWAYS.has(request.method)) return next(own);
    const known = this.#known.get(sender.host);
    if (!known || this.#now() - known.atMs >= this.#freshMs) return this.#afterReading(sender, own, next);
    this.#check(sender, known, request.method);
    return next(own);
  };

  async #afterReading(
    sender: Sender,
    request: ServerRequest,
    next: (request: ServerRequest) => unknown,
  ): Promise<unknown> {
    this.#check(sender, await this.#read(sender.host), request.method);
    return next(request);
  }

  /** @throws FencedError (`ERR_FENCED`), as an answer and no fault of this side */
  #check({ host, epoch }: Sender, known: Known, method: string): void {
    if (known.epoch === undefined || epoch >= known.epoch) return;
    this.#options.logger.warn(
      { host, method, epoch, now: known.epoch },
      'A host that was forced down is refused',
    );
    throw new ExpectedException(
      new FencedError(`Host ${host} was forced down: what it sends in epoch ${epoch} is refused`),
    );
  }

  /** Those that ask at the same time are told by one reading. */
  #read(host: string): Promise<Known> {
    const under = this.#reading.get(host);
    if (under) return under;
    const reading = this.#lookUp(host).finally(() => this.#reading.delete(host));
    this.#reading.set(host, reading);
    return reading;
  }

  /** While the records cannot be read, what was known of the host is taken to hold; of a new one, nothing is known. */
  async #lookUp(host: string): Promise<Known> {
    const atMs = this.#now();
    try {
      return this.#keep(host, { epoch: (await this.#options.services.get('compute', host)).epoch, atMs });
    } catch (error) {
      if (error instanceof RecordNotFoundError) return this.#keep(host, { epoch: undefined, atMs });
      this.#options.logger.warn({ err: error, host }, 'The epoch of a host cannot be read');
      return this.#keep(host, { epoch: this.#known.get(host)?.epoch, atMs });
    }
  }

  /** What was heard during the reading is newer. */
  #keep(host: string, read: Known): Known {
    const heard = this.#known.get(host);
    if (heard && heard.atMs > read.atMs) return heard;
    if (this.#known.size >= MOST_HOSTS) this.#known.clear(); // names come from the wire: they could be any
    this.#known.set(host, read);
    return read;
  }
}

/** Undefined when the request carries none, or none that can be one. */
function senderOf({ values }: RequestContext): Sender | undefined {
  const { [HOST_MEMBER]: host, [EPOCH_MEMBER]: epoch } = values;
  if (typeof host !== 'string' || host.length > 255 || !Number.isSafeInteger(epoch)) return undefined;
  return { host, epoch: epoch as number }; // an integer, as just seen
}

function withoutSender(context: RequestContext): RequestContext {
  const others = Object.entries(context.values).filter(
    ([name]) => name !== HOST_MEMBER && name !== EPOCH_MEMBER,
  );
  const values = Object.assign(Object.create(null) as object, Object.fromEntries(others)); // names come from the wire
  return context.withOnly(values);
}
