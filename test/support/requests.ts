import { bytesBody, Deadline, type Destination, type Transport, type WireMessage } from '@ebbgate/core';
import { requestMessage, type RpcRequest } from '#rpc/envelope.js';
import { TOPIC } from './rpc-bed.js';

/** A cast of a method `m` with nothing in it, but for the given parts. */
export function plainRequest(parts: Partial<RpcRequest> = {}): RpcRequest {
  return {
    uniqueId: '0'.repeat(32),
    method: 'm',
    args: {},
    namespace: null,
    version: undefined,
    context: {},
    msgId: undefined,
    replyTo: undefined,
    monitorMs: undefined,
    ...parts,
  };
}

/** A message for {@link plainRequest}. */
export function plainMessage(parts: Partial<RpcRequest> = {}, deadline?: Deadline): WireMessage {
  return requestMessage(plainRequest(parts), { deadline, expirationMs: undefined });
}

/** A message of any bytes, as it would come off a wire. */
export function rawMessage(body: string | Uint8Array): WireMessage {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { id: undefined, body: bytesBody(bytes), deadline: undefined, expirationMs: undefined };
}

const TO_TOPIC: Destination = { kind: 'topic', exchange: 'openstack', topic: TOPIC };

/** Sends a message, to the topic of the bed's servers if nothing else is said. */
export async function publish(
  transport: Transport,
  message: WireMessage,
  destination: Destination = TO_TOPIC,
): Promise<void> {
  await transport.publish(destination, message, {
    deadline: Deadline.after(5000),
    mandatory: true,
    retry: undefined,
  });
}
