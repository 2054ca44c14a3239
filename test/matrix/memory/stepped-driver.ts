import {
  type Delivery,
  type Destination,
  type Driver,
  type DriverFactory,
  memoryDriver,
  type WireMessage,
} from '@ebbgate/core';
import type { Ledger } from './ledger.js';
import type { Life, Steps } from './steps.js';

/** The in-memory driver as one process has it: what it sends, and what comes to it, are steps. */
export function steppedDriver(steps: Steps, ledger: Ledger, life: Life): DriverFactory {
  return {
    name: 'memory in steps',
    schemes: ['memory'],
    create: (url, context): Driver => {
      const inner = memoryDriver.create(url, context);
      return {
        features: inner.features,
        connect: (deadline) => inner.connect(deadline),
        close: () => inner.close(),
        status: () => inner.status(),
        publish: (destination, message, options) => {
          const id = requestIdOf(destination, message);
          const what = describe(destination, message);
          if (id !== undefined)
            ledger.begins(id, what, serverOf(destination), message.expirationMs !== undefined);
          return steps.change(life, what, async () => {
            await inner.publish(destination, message, options);
            if (id !== undefined) ledger.isSent(id);
          });
        },
        listen: (source, options, onDelivery) =>
          inner.listen(source, options, (delivery) => {
            if (life.isOver()) return; // it goes back when the connection ends
            steps.arrives(life);
            if (!life.isOver())
              onDelivery(
                taking(delivery, (id) => {
                  steps.takes(life);
                  ledger.isTaken(id);
                }),
              );
          }),
        openReplyQueue: (onReply) =>
          inner.openReplyQueue((message) => {
            if (!life.isOver()) onReply(message);
          }),
      };
    },
  };
}

/** Undefined for what comes to nobody or to many, and for replies. */
function requestIdOf({ kind }: Destination, { id }: WireMessage): string | undefined {
  return kind === 'topic' || kind === 'server' ? id : undefined;
}

function serverOf(destination: Destination): string {
  return destination.kind === 'server' ? destination.server : '';
}

function describe(destination: Destination, { body: { local } }: WireMessage): string {
  if (destination.kind === 'reply') return 'an answer';
  const method = typeof local === 'object' && local !== null && 'method' in local ? local.method : '?';
  const where =
    destination.kind === 'server' ? `${destination.topic}.${destination.server}` : destination.topic;
  return `${String(method)} to ${where}`;
}

/** @param onTaken - is told the id of its message when it is taken for good */
function taking(delivery: Delivery, onTaken: (id: string) => void): Delivery {
  const { message, redelivered } = delivery;
  return {
    message,
    redelivered,
    release: () => {
      delivery.release();
    },
    reject: () => {
      delivery.reject();
    },
    accept: () => {
      const accepted = delivery.accept();
      const note = (isOurs: boolean): boolean => {
        if (isOurs && message.id !== undefined) onTaken(message.id);
        return isOurs;
      };
      return typeof accepted === 'boolean' ? note(accepted) : accepted.then(note);
    },
  };
}
