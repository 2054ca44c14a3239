import { z } from 'zod';
import { readTopicOverrides, type TopicOverrides, topicTable } from '../rpc/topic-table.js';
import { CONTROL_EXCHANGE } from '../rpc/topics.js';
import { PLAIN_NAME, PLAIN_NAME_TEXT } from '../plain-name.js';
import { readVersionCap } from '../rpc/version-levels.js';
import { type ConfiguredFlags, readConfigFile } from './config-file.js';

/** The exchange of all topics, of a flag or by default Nova's. It is part of the names of what is at the broker. */
export const exchangeSchema: z.ZodDefault<z.ZodString> = z
  .string()
  .regex(PLAIN_NAME, { error: `--exchange must be ${PLAIN_NAME_TEXT}` })
  .default(CONTROL_EXCHANGE);

/** The flags that say how hosts are called. */
export interface RpcFlags {
  readonly config?: string | undefined;
  readonly computeVersionCap?: string | undefined;
  readonly opsTopic?: string | undefined;
  readonly topic: string;
}

/** How hosts are called. */
export interface RpcOptions {
  /** Newest version of the compute interface that hosts are sent: a version, the name of a Nova release, or `auto`. */
  readonly computeVersionCap?: string | undefined;
  /** Reads that again; absent when it cannot have changed. */
  readonly readVersionCap?: (() => string | undefined) | undefined;
  /** Topic of what finishes operations. */
  readonly opsTopic?: string | undefined;
  /** Methods that go to another topic than the table says. */
  readonly topics: TopicOverrides;
}

/**
 * What was given, by flags or the environment, and else by the configuration file that `config` names.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a file that cannot be read
 */
export function withConfigFile(flags: unknown): object {
  const given: ConfiguredFlags = Object.fromEntries(Object.entries(flags as object)); // whatever it is, it is checked next
  const { config } = given;
  return typeof config === 'string' ? { ...readConfigFile(config), ...given } : given;
}

/**
 * @param given - the flags alone, without the configuration file: what they say stays so
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a version, a topic or a method that is none
 */
export function rpcOptions(
  { config, computeVersionCap, opsTopic, topic }: RpcFlags,
  given: object,
): RpcOptions {
  if (computeVersionCap !== undefined) readVersionCap(computeVersionCap);
  const topics = readTopicOverrides(topic);
  topicTable({ opsTopic, topics });
  const canChange = config !== undefined && !Object.hasOwn(given, 'computeVersionCap');
  return {
    computeVersionCap,
    opsTopic,
    topics,
    ...(canChange && { readVersionCap: () => capIn(readConfigFile(config)) }),
  };
}

function capIn({ computeVersionCap: cap }: ConfiguredFlags): string | undefined {
  return cap === undefined ? undefined : String(cap);
}
