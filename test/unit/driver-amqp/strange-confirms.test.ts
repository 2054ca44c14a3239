import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { amqplibParts, type RawConnection } from '#driver-amqp/v091/amqplib-parts.js';
import { refuseStrangeConfirms } from '#driver-amqp/v091/strange-confirms.js';

/** amqplib's own, without a connection: it needs none to count. */
function confirmChannel(): { unconfirmed: unknown[]; lwm: number; emit: EventEmitter['emit'] } {
  const channel = new amqplibParts.ConfirmChannel(new EventEmitter() as unknown as RawConnection);
  refuseStrangeConfirms(channel, (error) => {
    throw error;
  });
  return channel as unknown as ReturnType<typeof confirmChannel>; // its types leave them out
}

describe('what amqplib keeps of messages that are not confirmed', () => {
  it('is forgotten with each confirm, whatever came alone and whatever with others (AMQP-01, CORE-10)', () => {
    const channel = confirmChannel();
    channel.unconfirmed.push(...Array<unknown>(4).fill(false));
    channel.emit('ack', { deliveryTag: 4, multiple: false });
    channel.emit('ack', { deliveryTag: 3, multiple: true });
    for (let deliveryTag = 5; deliveryTag <= 1000; deliveryTag += 1) {
      channel.unconfirmed.push(false);
      channel.emit('ack', { deliveryTag, multiple: false });
    }
    expect(channel.unconfirmed.length).to.be.below(2);
    expect(channel.lwm + channel.unconfirmed.length).to.equal(1001);
  });
});
