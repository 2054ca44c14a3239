import type { ConfirmChannel } from 'amqplib';

/** What amqplib keeps of the messages that are not confirmed; not in its types. */
interface ConfirmWindow {
  /** The number of the message that `unconfirmed` begins with. */
  lwm: number;
  /** One for each message in order; null once it is confirmed. */
  readonly unconfirmed: unknown[];
}

/** `basic.ack` and `basic.nack` of the broker. */
interface Confirm {
  readonly deliveryTag: number;
  readonly multiple: boolean;
}

/**
 * Calls `onStrange` with the first confirm that cannot be true, and keeps it from amqplib, which does not look and would
 * mistake later confirms for those of other messages. Strange is the number of a message that was never sent, and of one
 * that is confirmed already: each is confirmed once, alone or with all that were sent before it
 * (https://www.rabbitmq.com/docs/confirms), and what a broker says that has lost count proves nothing. The channel is to be
 * given up then; what is under way on it the broker may have or not.
 */
export function refuseStrangeConfirms(channel: ConfirmChannel, onStrange: (error: Error) => void): void {
  const window = channel as unknown as ConfirmWindow; // as amqplib 2.x has it; the tests look
  const check = ({ deliveryTag, multiple }: Confirm): void => {
    const { unconfirmed } = window;
    if (unconfirmed[0] === null) forgetConfirmed(window);
    const at = deliveryTag - window.lwm;
    if (at >= 0 && at < unconfirmed.length && (multiple || unconfirmed[at] !== null)) return;
    const what = deliveryTag > 0 && at < unconfirmed.length ? 'is confirmed already' : 'was never sent';
    const error = new Error(
      `The broker has confirmed message ${String(deliveryTag)} of a channel, which ${what}`,
    );
    onStrange(error);
    throw error; // so that amqplib does not see it
  };
  channel.prependListener('ack', check);
  channel.prependListener('nack', check);
}

/**
 * amqplib leaves those at the front that were confirmed one by one when a confirm of many has come up to them: from then
 * on it would never forget a message again.
 */
function forgetConfirmed(window: ConfirmWindow): void {
  while (window.unconfirmed[0] === null) {
    window.unconfirmed.shift();
    window.lwm += 1;
  }
}
