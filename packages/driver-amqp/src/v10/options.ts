import { ConfigurationError, type TransportUrl } from '@ebbgate/core';
import { choice, type OptionKind } from '../option-kinds.js';
import { readSettings, type RabbitSettings } from '../options.js';
import type { Amqp10Options } from './amqp10-options.js';

/** All that the driver goes by. The settings of RabbitMQ hold for the queues, and for declaring them over AMQP 0-9-1. */
export interface Amqp10Settings extends RabbitSettings {
  readonly addressForm: 'auto' | 'rabbitmq-3' | 'rabbitmq-4' | 'plain';
  readonly sasl: 'PLAIN' | 'EXTERNAL' | 'ANONYMOUS';
  readonly replyNode: 'named' | 'dynamic';
  /** As the URL has it. */
  readonly givenVirtualHost: string | undefined;
}

const ADDRESS_FORM = choice('auto', ['auto', 'rabbitmq-3', 'rabbitmq-4', 'plain']);
const SASL_MECHANISM = choice('PLAIN', ['PLAIN', 'EXTERNAL', 'ANONYMOUS']);
const REPLY_NODE = choice('named', ['named', 'dynamic']);

/** Options of the driver for AMQP 0-9-1 that mean nothing here, each with the reason. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['rabbit_login_method', 'AMQP 1.0 has other ways to log in: set sasl_mechanism instead'],
  [
    'kombu_compression',
    'its header does not pass between AMQP 0-9-1 and 1.0: peers could not read the message',
  ],
  ['amqp_auto_delete', 'whoever looks whether such a queue is there would be its last user'],
  ['rabbit_stream_fanout', 'streams are read from an offset, for which AMQP 1.0 has no place on RabbitMQ 3'],
  ['enable_cancel_on_failover', 'it is an argument of consumers of AMQP 0-9-1'],
  ['direct_mandatory_flag', 'AMQP 1.0 knows no mandatory messages'],
  ['acceptance', 'the brokers confirm no acknowledgement over AMQP 1.0; it is always written'],
]);

/** Of no meaning where no queue is declared. */
const OF_RABBITMQ = /^(?:amqp_durable|rabbit_(?:ha|quorum|transient)|use_queue_manager|hostname|processname)/;

/**
 * Makes the settings of a driver from the options of its constructor and of its URL, which win. Reads the files of the TLS
 * options, and does no other I/O.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for an option that is unknown, of the wrong type, out of range, of no
 *   meaning here, or in conflict with another. It names the option.
 */
export function readAmqp10Settings(url: TransportUrl, options: Amqp10Options): Amqp10Settings {
  const { address_form, sasl_mechanism, reply_node, ...rest } = options;
  const query = new Map(url.query);
  const addressForm = own('address_form', ADDRESS_FORM, address_form, query);
  const sasl = own('sasl_mechanism', SASL_MECHANISM, sasl_mechanism, query);
  const replyNode = own('reply_node', REPLY_NODE, reply_node, query);
  const names = [...Object.keys(rest), ...query.keys()];
  refuseWithReason(names, addressForm);
  if (replyNode === 'dynamic' && addressForm !== 'plain')
    throw new ConfigurationError('reply_node dynamic needs address_form=plain: RabbitMQ makes no such nodes');
  const login = sasl === 'EXTERNAL' ? ({ rabbit_login_method: 'EXTERNAL' } as const) : {};
  const declared = addressForm === 'plain' ? { amqp_durable_queues: true } : {}; // of no effect: nothing is declared, or warned of
  const settings = readSettings(url.with({ query }), { ...rest, ...login, ...declared });
  return Object.freeze({ ...settings, addressForm, sasl, replyNode, givenVirtualHost: url.virtualHost });
}

function own<Word>(name: string, kind: OptionKind<Word>, given: unknown, query: Map<string, string>): Word {
  const text = query.get(name);
  query.delete(name);
  if (text === undefined && given === undefined) return kind.fallback;
  const value = text === undefined ? kind.fromValue(given) : kind.fromText(text);
  if (value === undefined)
    throw new ConfigurationError(`${name} is ${JSON.stringify(text ?? given)}; it must be ${kind.wanted}`);
  return value;
}

function refuseWithReason(names: readonly string[], form: Amqp10Settings['addressForm']): void {
  for (const name of names) {
    const reason = REFUSED.get(name);
    if (reason !== undefined) throw new ConfigurationError(`${name} cannot be set with amqp10: ${reason}`);
    if (form === 'plain' && OF_RABBITMQ.test(name))
      throw new ConfigurationError(
        `${name} cannot be set with address_form=plain: nothing is declared there`,
      );
  }
}
