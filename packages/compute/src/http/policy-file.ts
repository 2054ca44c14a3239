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
  const content = contentOf(path);
  const result = schema.safeParse(content);
  if (!result.success)
    throw new ConfigurationError(`The policy file ${path} must be a JSON object with a text for each rule`);
  return new Policy(new Map(Object.entries(result.data)), logger);
}

function contentOf(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`The policy file ${path} cannot be read`, { cause: error });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The error of the parser shows a part of the text: it may be another file than was meant.
    throw new ConfigurationError(`The policy file ${path} cannot be read as JSON`);
  }
}
