import {
  createTransport,
  type Delivery,
  type DriverFactory,
  memoryDriver,
  MessageServer,
  type MessageServerOptions,
  type Transport,
} from '@ebbgate/core';
import type { Clock } from '@sinonjs/fake-timers';
import { turn } from '../../../support/deferred.js';
import { MemoryBed, send, SERVER, TOPIC } from './memory-bed.js';
import { SOURCE, wireMessage } from './scripted-driver.js';
import { Walk } from './walk.js';

/** On the in-memory driver, whose deliveries are counted on their way. */
export class MemoryWalk extends Walk {
  readonly bed = new MemoryBed();
  readonly client = this.bed.transport();
  readonly sent: string[] = [];
  readonly server: MessageServer<string>;
  readonly #host: Transport;
  readonly #accepted = new Set<string | undefined>();
  readonly #prefetch: number;
  #open = 0;

  constructor(options: MessageServerOptions) {
    super();
    this.#prefetch = options.prefetch ?? 1;
    this.#host = createTransport(this.bed.url, { drivers: [this.#counting()], sendTimeoutMs: 1000 });
    this.#host.events.on('error', () => {});
    this.server = new MessageServer(this.#host, SOURCE, this.handler, { ...options, duplicateWindow: 0 });
  }

  override onBegin(id: string): void {
    if (!this.#accepted.delete(id)) this.faults.push(`${id} runs and is not accepted`);
  }

  send(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const message = wireMessage();
      const id = message.id ?? '';
      Promise.resolve()
        .then(() => send(this.client, left % 2 === 0 ? TOPIC : SERVER, message))
        .then(
          () => this.sent.push(id),
          () => {},
        );
    }
  }

  async finish(clock: Clock): Promise<void> {
    this.bed.faults.restore();
    this.bed.faults.resume();
    await this.#runOut();
    await clock.tickAsync(11_000); // no send is still waiting
    this.start();
    await this.#runOut();
    this.stop();
    this.wait();
    await this.#runOut();
    await clock.tickAsync(2000);
    await Promise.all([this.#host.close(), this.client.close()]);
  }

  async #runOut(): Promise<void> {
    for (let turns = 0; turns < 150; turns += 1) {
      this.handler.endAll();
      await turn();
    }
  }

  #counting(): DriverFactory {
    return {
      ...memoryDriver,
      create: (url, context) => {
        const driver = memoryDriver.create(url, context);
        const listen = driver.listen.bind(driver);
        driver.listen = (source, options, onDelivery) => {
          let open = new Set<Delivery>();
          context.events.connection = ((told) => (state, cause) => {
            if (state === 'disconnected') open = new Set();
            told(state, cause);
          })(context.events.connection);
          return listen(source, options, (delivery) => {
            open.add(delivery);
            this.#open = open.size;
            if (this.#open > this.#prefetch) this.faults.push(`${String(this.#open)} are unsettled`);
            onDelivery(this.#noted(delivery, () => open.delete(delivery)));
          });
        };
        return driver;
      },
    };
  }

  #noted(delivery: Delivery, settled: () => void): Delivery {
    let times = 0;
    const once = (): void => {
      times += 1;
      if (times > 1) this.faults.push(`${String(delivery.message.id)} was settled twice`);
      settled();
    };
    return {
      message: delivery.message,
      redelivered: delivery.redelivered,
      accept: () => {
        once();
        const accepted = delivery.accept() === true;
        if (accepted) this.#accepted.add(delivery.message.id);
        return accepted;
      },
      release: () => {
        once();
        delivery.release();
      },
      reject: () => {
        once();
        delivery.reject();
      },
    };
  }
}
