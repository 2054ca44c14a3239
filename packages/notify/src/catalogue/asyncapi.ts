import { ConfigurationError } from '@ebbgate/core';
import { eventMessage, requestMessage, resultMessage } from './asyncapi-messages.js';
import type { DescribedEvent, DescribedMethod } from './described.js';
import { type JsonSchema, placedAt } from './json-schema.js';

/** What a document tells of a service. */
export interface AsyncApiOptions {
  /** What the service is called. */
  readonly title: string;
  /** Of the service, or its interface. */
  readonly version: string;
  /** In words for people; Markdown. */
  readonly description?: string;
  /** What it answers to; see `methodsOf`. Default: nothing. */
  readonly methods?: readonly DescribedMethod[];
  /** What it sends; see `eventsOf`. Default: nothing. */
  readonly events?: readonly DescribedEvent[];
  /** To which schemas refer as `#/components/schemas/NAME`. Default: none. */
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
}

/** An AsyncAPI 3 document: plain data. */
export type AsyncApiDocument = Readonly<Record<string, unknown>>;

const REPLIES = 'replies';

/**
 * The AsyncAPI 3 document of a service, from its declarations: a channel for each topic of requests, one for the replies,
 * and one for each queue of notifications; an operation for each method that it receives and each event that it sends.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when two methods of a topic, or two events, have the same name
 */
export function asyncApiOf(options: AsyncApiOptions): AsyncApiDocument {
  const { title, version, description, methods = [], events = [], schemas = {} } = options;
  const document = new Draft(schemas);
  for (const method of methods) document.addMethod(method);
  for (const event of events) document.addEvent(event);
  return {
    asyncapi: '3.0.0',
    info: { title, version, ...(description !== undefined && { description }) },
    defaultContentType: 'application/json',
    ...document.parts(),
  };
}

/** A document that grows. */
class Draft {
  readonly #channels = new Map<string, { readonly about: JsonSchema; readonly messages: string[] }>();
  readonly #operations = new Map<string, JsonSchema>();
  readonly #messages = new Map<string, JsonSchema>();
  readonly #schemas: Map<string, JsonSchema>;
  /** Where each is: one that is used twice is there once. */
  readonly #places = new Map<JsonSchema, JsonSchema>();

  constructor(schemas: Readonly<Record<string, JsonSchema>>) {
    this.#schemas = new Map(Object.entries(schemas));
  }

  addMethod(method: DescribedMethod): void {
    const { name, topic, namespace, kind, summary } = method;
    const id = idOf(topic, namespace ?? '', name);
    const channel = this.#channel(idOf('requests', topic), { address: topic });
    const args = this.#schema(`${id}.args`, method.args);
    const request = this.#message(channel, id, requestMessage(method, args));
    this.#operation(id, {
      action: 'receive',
      channel: refTo('channels', channel),
      ...(summary !== undefined && { summary }),
      messages: [request],
      ...(kind === 'call' && { reply: this.#reply(id, method) }),
    });
  }

  #reply(id: string, method: DescribedMethod): JsonSchema {
    const description = 'The queue that the caller has for its replies; each request names it.';
    const channel = this.#channel(REPLIES, { address: null, description });
    const result = this.#schema(`${id}.result`, method.result);
    const message = this.#message(channel, `${id}.result`, resultMessage(method, result));
    return { channel: refTo('channels', channel), messages: [message] };
  }

  addEvent(event: DescribedEvent): void {
    const { type, topic, priorities, summary } = event;
    const payload = this.#schema(idOf(topic, type), event.payload);
    for (const priority of priorities) {
      const address = `${topic}.${priority}`;
      const channel = this.#channel(idOf('notifications', address), { address });
      const id = idOf(topic, type, priority);
      const message = this.#message(channel, id, eventMessage(event, priority, payload));
      this.#operation(id, {
        action: 'send',
        channel: refTo('channels', channel),
        ...(summary !== undefined && { summary }),
        messages: [message],
      });
    }
  }

  parts(): JsonSchema {
    return {
      channels: Object.fromEntries([...this.#channels].map(([id, channel]) => [id, channelOf(channel)])),
      operations: Object.fromEntries(this.#operations),
      components: {
        messages: Object.fromEntries(this.#messages),
        schemas: Object.fromEntries(this.#schemas),
      },
    };
  }

  #channel(id: string, about: JsonSchema): string {
    if (!this.#channels.has(id)) this.#channels.set(id, { about, messages: [] });
    return id;
  }

  #schema(id: string, schema: JsonSchema): JsonSchema {
    const known = this.#places.get(schema);
    if (known) return known;
    const name = this.#nameOf(schema) ?? id;
    const place = refTo('components', 'schemas', name);
    this.#places.set(schema, place);
    this.#schemas.set(name, placedAt(schema, place.$ref));
    return place;
  }

  /** Its title, when that is a name that nothing else has. */
  #nameOf({ title }: JsonSchema): string | undefined {
    const isName = typeof title === 'string' && title !== '' && idOf(title) === title;
    return isName && !this.#schemas.has(title) ? title : undefined;
  }

  #message(channel: string, id: string, message: JsonSchema): JsonSchema {
    this.#messages.set(id, message);
    this.#channels.get(channel)?.messages.push(id);
    return refTo('channels', channel, 'messages', id);
  }

  #operation(id: string, operation: JsonSchema): void {
    if (this.#operations.has(id)) throw new ConfigurationError(`The document has "${id}" twice`);
    this.#operations.set(id, operation);
  }
}

function channelOf({
  about,
  messages,
}: {
  readonly about: JsonSchema;
  readonly messages: readonly string[];
}) {
  const refs = messages.map((id) => [id, refTo('components', 'messages', id)]);
  return { ...about, messages: Object.fromEntries(refs) as JsonSchema };
}

/** A name that the specification allows. */
function idOf(...parts: readonly string[]): string {
  const text = parts.filter((part) => part !== '').join('.');
  return text.replaceAll(/[^\w.-]/g, '_');
}

function refTo(...names: readonly string[]): { readonly $ref: string } {
  return { $ref: `#/${names.join('/')}` };
}
