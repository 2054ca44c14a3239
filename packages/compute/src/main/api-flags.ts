import { ConfigurationError, type Logger } from '@ebbgate/core';
import type { Command } from 'commander';
import { z } from 'zod';
import { openAccess, type TokenValidator } from '../http/auth.js';
import type { ListenAddress } from '../http/http-server.js';
import { readPolicyFile } from '../http/policy-file.js';
import { Policy } from '../http/policy.js';
import { TokenFile } from '../http/token-file.js';

/** What is told to whoever serves the HTTP API. */
export interface ApiFlags {
  /** Static tokens; absent: everybody on this machine is an admin. */
  readonly tokenFile?: string | undefined;
  /** Who may do what; absent: admins everything. */
  readonly policyFile?: string | undefined;
  /** Requests a second that each caller may make; 0: no limit. */
  readonly rateLimit: number;
}

const ADDRESS = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i;

/** `host:port`, `[address]:port`. */
export const listenSchema: z.ZodType<ListenAddress, string> = z.string().transform((text, context) => {
  const [, address, name, port] = ADDRESS.exec(text) ?? [];
  const host = address ?? name;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  context.addIssue('--listen must be HOST:PORT, an IPv6 address in brackets');
  return z.NEVER;
});

/** Their schemas. */
export const apiShape: {
  readonly tokenFile: z.ZodOptional<z.ZodString>;
  readonly policyFile: z.ZodOptional<z.ZodString>;
  readonly rateLimit: z.ZodDefault<z.ZodCoercedNumber>;
} = {
  tokenFile: z.string().min(1).optional(),
  policyFile: z.string().min(1).optional(),
  rateLimit: z.coerce
    .number({ error: '--rate-limit must be a number' })
    .min(0, { error: '--rate-limit must be at least 0' })
    .default(1000),
};

/** Adds them to a command. */
export function withApiFlags(command: Command): Command {
  return command
    .option(
      '--token-file <file>',
      'JSON: who has which token (default: everybody is an admin, on loopback only)',
    )
    .option(
      '--policy-file <file>',
      'JSON: who may do what, by the names of the rules (default: admins everything)',
    )
    .option('--rate-limit <n>', 'requests a second of one caller; 0: no limit (default: 1000)');
}

/** Who may come in, and what they may do. */
export interface Access {
  readonly validator: TokenValidator;
  readonly policy: Policy;
  /** Reads the tokens again. @throws ConfigurationError (`ERR_CONFIGURATION`): then the old ones stay */
  readonly reload: () => void;
}

/** Reads the files. @throws ConfigurationError (`ERR_CONFIGURATION`) */
export function accessOf({ tokenFile, policyFile }: ApiFlags, logger: Logger): Access {
  const policy = policyFile === undefined ? new Policy(new Map()) : readPolicyFile(policyFile, logger);
  if (tokenFile === undefined) return { validator: openAccess, policy, reload: () => undefined };
  const validator = new TokenFile(tokenFile, logger);
  return { validator, policy, reload: () => validator.reload() };
}

/** The port of the health endpoints must not be that of the API. @throws ConfigurationError (`ERR_CONFIGURATION`) */
export function checkPorts({ port }: ListenAddress, health: number | undefined): void {
  if (port === 0 || port !== health) return;
  throw new ConfigurationError(
    '--health must be another port than that of --listen: it is a listener of its own',
  );
}
