import { readFileSync } from 'node:fs';
import { ConfigurationError, type Logger } from '@ebbgate/core';
import { z } from 'zod';
import { Policy } from './policy.js';

const schema = z.record(z.string(), z.string());

/**
 * Reads a policy file: a JSON object of rules by name, `{"os_compute_api:os-services:list": "role:reader or role:admin"}`.
 * @throws ConfigurationError (`ERR_CONFIGURATION`)
 */
export function readPolicyFile(path: string, logger: Logger): Policy {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigurationError(`The policy file ${path} cannot be read as JSON`, { cause: error });
  }
  const result = schema.safeParse(content);
  if (!result.success)
    throw new ConfigurationError(`The policy file ${path} must be a JSON object with a text for each rule`);
  return new Policy(new Map(Object.entries(result.data)), logger);
}
