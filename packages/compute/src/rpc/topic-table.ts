import { ConfigurationError } from '@ebbgate/core';
import { PLAIN_NAME, PLAIN_NAME_TEXT } from '../plain-name.js';
import { computeMethods, type MethodRow } from './methods.js';
import { RPC_TOPIC, RPC_TOPIC_OPS } from './topics.js';

/** Where the messages of methods go, other than the table says: by name of the method. */
export type TopicOverrides = Readonly<Record<string, MethodRow['topic']>>;

/** How the topics of the table are configured. */
export interface TopicOptions {
  /** Default {@link RPC_TOPIC_OPS}; Nova itself says `compute-alt`. */
  readonly opsTopic?: string | undefined;
  /** Methods that go to another topic than the table says, which then binds all senders that are told so. Default: none. */
  readonly topics?: TopicOverrides | undefined;
}

/** The topic of each method, as the table and the configuration say. */
export interface TopicTable {
  readonly opsTopic: string;
  /** By method; `ops` is still subject to the version of the receiver. */
  readonly rows: ReadonlyMap<string, MethodRow['topic']>;
}

/** Where the messages of a method go, to a receiver that is new enough. */
export function topicOf({ opsTopic, rows }: TopicTable, method: string): string {
  return rows.get(method) === 'ops' ? opsTopic : RPC_TOPIC;
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`) that names the topic or the method, and what it may be */
export function topicTable({ opsTopic = RPC_TOPIC_OPS, topics = {} }: TopicOptions = {}): TopicTable {
  if (!PLAIN_NAME.test(opsTopic) || opsTopic === RPC_TOPIC) {
    throw new ConfigurationError(
      `The ops topic must be ${PLAIN_NAME_TEXT}, and not "${RPC_TOPIC}", not "${opsTopic.slice(0, 64)}"`,
    );
  }
  const rows = new Map([...computeMethods].map(([name, { topic }]) => [name, topic]));
  // Whatever the type says, it comes from a configuration.
  for (const [method, topic] of Object.entries<string>(topics)) {
    if (!rows.has(method)) {
      throw new ConfigurationError(
        `The topic of "${method.slice(0, 64)}" cannot be set: there is no such method; "ebbgate-compute methods" lists them`,
      );
    }
    if (topic !== 'main' && topic !== 'ops') {
      throw new ConfigurationError(`The topic of ${method} must be main or ops, not "${topic.slice(0, 64)}"`);
    }
    rows.set(method, topic);
  }
  return Object.freeze({ opsTopic, rows });
}

/**
 * Reads overrides as a user writes them: `METHOD=main` or `METHOD=ops`, several with commas between.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) as {@link topicTable} does, and for what is no such text
 */
export function readTopicOverrides(text: string): TopicOverrides {
  const pairs = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part): [string, MethodRow['topic']] => {
      const [method = '', topic = ''] = part.split('=', 2).map((side) => side.trim());
      return [method, topic as MethodRow['topic']]; // checked below
    });
  const overrides = Object.fromEntries(pairs);
  topicTable({ topics: overrides });
  return overrides;
}
