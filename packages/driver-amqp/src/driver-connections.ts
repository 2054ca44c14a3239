import type { ConnectionState, Deadline, DriverStatus } from '@ebbgate/core';
import { ConsumingConnections } from './consuming-connections.js';
import type { ConnectionHooks, HeldConnection } from './held-connection.js';

/** Worst first: a driver is as well as the worst of its connections. */
const WORST: readonly ConnectionState[] = [
  'closed',
  'disconnected',
  'connecting',
  'idle',
  'blocked',
  'connected',
];

/** The connections of one driver: one publishes, the others consume; a thousand servers share one. */
export class DriverConnections<Model> {
  readonly publishing: HeldConnection<Model>;
  readonly consuming: ConsumingConnections<Model>;
  readonly #onChange: (state: ConnectionState, cause: Error | undefined) => void;
  #told: ConnectionState = 'idle';

  constructor(
    make: (role: 'publish' | 'consume', hooks: ConnectionHooks) => HeldConnection<Model>,
    onChange: (state: ConnectionState, cause: Error | undefined) => void,
  ) {
    this.#onChange = onChange;
    const hooks = {
      changed: (_state: ConnectionState, cause?: Error): void => {
        this.#tell(cause);
      },
    };
    this.publishing = make('publish', hooks);
    this.consuming = new ConsumingConnections(() => make('consume', hooks));
  }

  /** Begins to connect; resolves when all are up. */
  async open(deadline: Deadline): Promise<void> {
    this.publishing.open();
    this.consuming.open();
    await Promise.all(this.#all().map((connection) => connection.whenUp(deadline, undefined)));
  }

  /** @param orderly - the broker is asked first, and has then processed all that was written */
  async close(orderly: boolean): Promise<void> {
    await Promise.all(this.#all().map((connection) => connection.close(orderly)));
  }

  /** The state of the worst, and why it is not connected. */
  get status(): Pick<DriverStatus, 'connection' | 'cause'> {
    const connection = this.#state();
    const all = this.#all();
    const which = all.find(({ state }) => state === connection);
    return {
      connection,
      cause: which?.cause ?? all.find(({ cause }) => cause !== undefined)?.cause,
    };
  }

  #all(): readonly HeldConnection<Model>[] {
    return [this.publishing, ...this.consuming.all];
  }

  #state(): ConnectionState {
    const states = this.#all().map(({ state }) => state);
    return WORST.find((state) => states.includes(state)) ?? 'idle';
  }

  #tell(cause: Error | undefined): void {
    const state = this.#state();
    if (state === this.#told) return;
    this.#told = state;
    this.#onChange(state, cause);
  }
}
