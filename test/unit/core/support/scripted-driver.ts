import {
  bytesBody,
  createTransport,
  type Deadline,
  type Delivery,
  type Destination,
  type Driver,
  type DriverContext,
  type DriverFactory,
  type DriverFeatures,
  type DriverStatus,
  type Listener,
  type ListenOptions,
  type MaybePromise,
  type PublishOptions,
  type ReplyQueue,
  type ServerSource,
  type Transport,
  type TransportOptions,
  type WireMessage,
} from '@ebbgate/core';

export const SOURCE: ServerSource = Object.freeze({
  exchange: 'openstack',
  topic: 'compute',
  server: 'host-1',
});

const FEATURES: DriverFeatures = {
  undeliverable: true,
  expiry: false,
  release: true,
  redelivered: true,
  fanout: true,
  durable: false,
  notifications: false,
  crossProcess: true,
  ordered: true,
  isolatedNames: true,
  maxMessageBytes: Infinity,
};

let ids = 0;

export function wireMessage(id: string = `message-${String(++ids)}`, deadline?: Deadline): WireMessage {
  return { id, body: bytesBody(new TextEncoder().encode(id)), deadline, expirationMs: undefined };
}

export type Settled = 'accept' | 'release' | 'reject';

/** A delivery that notes how it was settled, and every attempt to settle it again. */
export class ScriptedDelivery implements Delivery {
  readonly redelivered: boolean = false;
  readonly message: WireMessage;
  readonly settled: Settled[] = [];
  /** What `accept()` answers. */
  readonly accepted: () => MaybePromise<boolean>;
  onSettled: () => void = () => {};

  constructor(message: WireMessage, accepted: () => MaybePromise<boolean>) {
    this.message = message;
    this.accepted = accepted;
  }

  accept(): MaybePromise<boolean> {
    this.#settle('accept');
    return this.accepted();
  }

  release(): void {
    this.#settle('release');
  }

  reject(): void {
    this.#settle('reject');
  }

  #settle(how: Settled): void {
    this.settled.push(how);
    this.onSettled();
  }
}

/** A listener that does what the test says, and counts what it is asked. */
export class ScriptedListener implements Listener {
  readonly source: ServerSource;
  readonly credit: number;
  readonly onDelivery: (delivery: Delivery) => void;
  readonly asked: string[] = [];
  onStop: () => Promise<void> = () => Promise.resolve();
  onPause: () => Promise<void> = () => Promise.resolve();
  onResume: () => Promise<void> = () => Promise.resolve();
  onClose: () => Promise<readonly string[]> = () => Promise.resolve([]);

  constructor(source: ServerSource, credit: number, onDelivery: (delivery: Delivery) => void) {
    this.source = source;
    this.credit = credit;
    this.onDelivery = onDelivery;
  }

  deliver(
    message: WireMessage = wireMessage(),
    accepted: () => MaybePromise<boolean> = () => true,
  ): ScriptedDelivery {
    const delivery = new ScriptedDelivery(message, accepted);
    this.onDelivery(delivery);
    return delivery;
  }

  stop(): Promise<void> {
    this.asked.push('stop');
    return this.onStop();
  }

  pause(): Promise<void> {
    this.asked.push('pause');
    return this.onPause();
  }

  resume(): Promise<void> {
    this.asked.push('resume');
    return this.onResume();
  }

  close(): Promise<readonly string[]> {
    this.asked.push('close');
    return this.onClose();
  }
}

/** A driver whose every answer the test decides. */
export class ScriptedDriver implements Driver {
  readonly features: DriverFeatures = FEATURES;
  readonly context: DriverContext;
  /** The names of the methods in the order of their calls. */
  readonly asked: string[] = [];
  readonly listeners: ScriptedListener[] = [];
  now: DriverStatus = { connection: 'connected', listeners: [] };
  onConnect: (deadline: Deadline) => Promise<void> = () => Promise.resolve();
  onClose: () => Promise<void> = () => Promise.resolve();
  onPublish: (destination: Destination, message: WireMessage, options: PublishOptions) => MaybePromise<void> =
    () => undefined;
  onListen: (listener: ScriptedListener) => Promise<Listener> = (listener) => Promise.resolve(listener);
  onOpenReplyQueue: () => Promise<ReplyQueue> = () =>
    Promise.resolve({ address: 'reply_1', close: () => Promise.resolve() });

  constructor(context: DriverContext) {
    this.context = context;
  }

  /** The listener made last. */
  get listener(): ScriptedListener {
    const last = this.listeners.at(-1);
    if (!last) throw new Error('Nobody has listened yet');
    return last;
  }

  connect(deadline: Deadline): Promise<void> {
    this.asked.push('connect');
    return this.onConnect(deadline);
  }

  close(): Promise<void> {
    this.asked.push('close');
    return this.onClose();
  }

  status(): DriverStatus {
    return this.now;
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): MaybePromise<void> {
    this.asked.push('publish');
    return this.onPublish(destination, message, options);
  }

  listen(
    source: ServerSource,
    { credit }: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    this.asked.push('listen');
    const listener = new ScriptedListener(source, credit, onDelivery);
    this.listeners.push(listener);
    return this.onListen(listener);
  }

  openReplyQueue(): Promise<ReplyQueue> {
    this.asked.push('openReplyQueue');
    return this.onOpenReplyQueue();
  }
}

/** A transport on a scripted driver. */
export function scriptedTransport(
  options: TransportOptions = {},
  url = 'scripted://user:s3cret@host/vhost',
): { readonly transport: Transport; readonly driver: ScriptedDriver } {
  let driver: ScriptedDriver | undefined;
  const factory: DriverFactory = {
    name: 'scripted',
    schemes: ['scripted'],
    create: (_url, context) => (driver = new ScriptedDriver(context)),
  };
  const transport = createTransport(url, { drivers: [factory], ...options });
  if (!driver) throw new Error('The transport has made no driver');
  return { transport, driver };
}

/** How a promise stands now. */
export function standOf(promise: Promise<unknown>): { is: 'pending' | 'resolved' | 'rejected' } {
  const stand: { is: 'pending' | 'resolved' | 'rejected' } = { is: 'pending' };
  promise.then(
    () => (stand.is = 'resolved'),
    () => (stand.is = 'rejected'),
  );
  return stand;
}
