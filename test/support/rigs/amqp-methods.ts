import { type AmqpTable, type AmqpValue, FieldReader, type FieldType, writeFields } from './amqp-fields.js';

/** Class and method number, name, and the arguments with their types, in the order of the wire (AMQP 0-9-1). */
const GRAMMAR = `
10 10 connection.start octet:versionMajor octet:versionMinor table:serverProperties longstr:mechanisms longstr:locales
10 11 connection.start-ok table:clientProperties shortstr:mechanism longstr:response shortstr:locale
10 20 connection.secure longstr:challenge
10 21 connection.secure-ok longstr:response
10 30 connection.tune short:channelMax long:frameMax short:heartbeat
10 31 connection.tune-ok short:channelMax long:frameMax short:heartbeat
10 40 connection.open shortstr:virtualHost shortstr:capabilities bit:insist
10 41 connection.open-ok shortstr:knownHosts
10 50 connection.close short:replyCode shortstr:replyText short:classId short:methodId
10 51 connection.close-ok
10 60 connection.blocked shortstr:reason
10 61 connection.unblocked
10 70 connection.update-secret longstr:newSecret shortstr:reason
10 71 connection.update-secret-ok
20 10 channel.open shortstr:outOfBand
20 11 channel.open-ok longstr:channelId
20 20 channel.flow bit:active
20 21 channel.flow-ok bit:active
20 40 channel.close short:replyCode shortstr:replyText short:classId short:methodId
20 41 channel.close-ok
40 10 exchange.declare short:ticket shortstr:exchange shortstr:type bit:passive bit:durable bit:autoDelete bit:internal bit:nowait table:arguments
40 11 exchange.declare-ok
40 20 exchange.delete short:ticket shortstr:exchange bit:ifUnused bit:nowait
40 21 exchange.delete-ok
40 30 exchange.bind short:ticket shortstr:destination shortstr:source shortstr:routingKey bit:nowait table:arguments
40 31 exchange.bind-ok
40 40 exchange.unbind short:ticket shortstr:destination shortstr:source shortstr:routingKey bit:nowait table:arguments
40 51 exchange.unbind-ok
50 10 queue.declare short:ticket shortstr:queue bit:passive bit:durable bit:exclusive bit:autoDelete bit:nowait table:arguments
50 11 queue.declare-ok shortstr:queue long:messageCount long:consumerCount
50 20 queue.bind short:ticket shortstr:queue shortstr:exchange shortstr:routingKey bit:nowait table:arguments
50 21 queue.bind-ok
50 30 queue.purge short:ticket shortstr:queue bit:nowait
50 31 queue.purge-ok long:messageCount
50 40 queue.delete short:ticket shortstr:queue bit:ifUnused bit:ifEmpty bit:nowait
50 41 queue.delete-ok long:messageCount
50 50 queue.unbind short:ticket shortstr:queue shortstr:exchange shortstr:routingKey table:arguments
50 51 queue.unbind-ok
60 10 basic.qos long:prefetchSize short:prefetchCount bit:global
60 11 basic.qos-ok
60 20 basic.consume short:ticket shortstr:queue shortstr:consumerTag bit:noLocal bit:noAck bit:exclusive bit:nowait table:arguments
60 21 basic.consume-ok shortstr:consumerTag
60 30 basic.cancel shortstr:consumerTag bit:nowait
60 31 basic.cancel-ok shortstr:consumerTag
60 40 basic.publish short:ticket shortstr:exchange shortstr:routingKey bit:mandatory bit:immediate
60 50 basic.return short:replyCode shortstr:replyText shortstr:exchange shortstr:routingKey
60 60 basic.deliver shortstr:consumerTag longlong:deliveryTag bit:redelivered shortstr:exchange shortstr:routingKey
60 70 basic.get short:ticket shortstr:queue bit:noAck
60 71 basic.get-ok longlong:deliveryTag bit:redelivered shortstr:exchange shortstr:routingKey long:messageCount
60 72 basic.get-empty shortstr:clusterId
60 80 basic.ack longlong:deliveryTag bit:multiple
60 90 basic.reject longlong:deliveryTag bit:requeue
60 100 basic.recover-async bit:requeue
60 110 basic.recover bit:requeue
60 111 basic.recover-ok
60 120 basic.nack longlong:deliveryTag bit:multiple bit:requeue
85 10 confirm.select bit:nowait
85 11 confirm.select-ok`;

interface Method {
  readonly classId: number;
  readonly methodId: number;
  readonly name: string;
  readonly fields: readonly { readonly type: FieldType; readonly name: string }[];
}

function methodOf(line: string): Method {
  const [classId, methodId, name = '', ...fields] = line.split(' ');
  return {
    classId: Number(classId),
    methodId: Number(methodId),
    name,
    fields: fields.map((field) => {
      const [type, fieldName = ''] = field.split(':');
      return { type: type as FieldType, name: fieldName }; // the text above has no other
    }),
  };
}

const METHODS = GRAMMAR.trim().split('\n').map(methodOf);
const BY_NAME = new Map(METHODS.map((method) => [method.name, method]));
const BY_NUMBER = new Map(METHODS.map((method) => [`${method.classId} ${method.methodId}`, method]));

/** The properties of a message, in the order of their flags; named as amqplib names them. */
const PROPERTIES: readonly (readonly [string, FieldType])[] = [
  ['contentType', 'shortstr'],
  ['contentEncoding', 'shortstr'],
  ['headers', 'table'],
  ['deliveryMode', 'octet'],
  ['priority', 'octet'],
  ['correlationId', 'shortstr'],
  ['replyTo', 'shortstr'],
  ['expiration', 'shortstr'],
  ['messageId', 'shortstr'],
  ['timestamp', 'timestamp'],
  ['type', 'shortstr'],
  ['userId', 'shortstr'],
  ['appId', 'shortstr'],
  ['clusterId', 'shortstr'],
];
const FIRST_FLAG = 15;

/** The payload of a method frame. */
export function methodBytes(name: string, args: AmqpTable = {}): Buffer {
  const method = BY_NAME.get(name);
  if (!method) throw new Error(`There is no method ${name}`);
  const unknown = Object.keys(args).filter((key) => !method.fields.some((field) => field.name === key));
  if (unknown.length > 0) throw new Error(`${name} has no ${unknown.join(', ')}`);
  const start = Buffer.alloc(4);
  start.writeUInt16BE(method.classId, 0);
  start.writeUInt16BE(method.methodId, 2);
  return Buffer.concat([
    start,
    writeFields(method.fields.map((field) => [field.type, args[field.name]] as const)),
  ]);
}

/** What the payload of a method frame says. */
export function readMethod(payload: Buffer): { readonly name: string; readonly args: AmqpTable } {
  const number = `${payload.readUInt16BE(0)} ${payload.readUInt16BE(2)}`;
  const method = BY_NUMBER.get(number);
  if (!method) throw new Error(`There is no method ${number}`);
  const reader = new FieldReader(payload.subarray(4));
  return {
    name: method.name,
    args: Object.fromEntries(method.fields.map((field) => [field.name, reader.read(field.type)])),
  };
}

/** The payload of a content header. */
export function contentHeaderBytes(bodySize: number, properties: AmqpTable = {}): Buffer {
  const given = PROPERTIES.map(([name, type], index) => ({
    name,
    type,
    flag: 1 << (FIRST_FLAG - index),
  })).filter(({ name }) => properties[name] !== undefined);
  const start = Buffer.alloc(14);
  start.writeUInt16BE(60, 0);
  start.writeBigUInt64BE(BigInt(bodySize), 4);
  start.writeUInt16BE(
    given.reduce((flags, { flag }) => flags | flag, 0),
    12,
  );
  return Buffer.concat([
    start,
    writeFields(given.map(({ name, type }) => [type, properties[name]] as const)),
  ]);
}

/** What the payload of a content header says. */
export function readContentHeader(payload: Buffer): {
  readonly bodySize: number;
  readonly properties: AmqpTable;
} {
  const flags = payload.readUInt16BE(12);
  const reader = new FieldReader(payload.subarray(14));
  const properties: Record<string, AmqpValue> = {};
  PROPERTIES.forEach(([name, type], index) => {
    if ((flags & (1 << (FIRST_FLAG - index))) !== 0) properties[name] = reader.read(type);
  });
  return { bodySize: Number(payload.readBigUInt64BE(4)), properties };
}
