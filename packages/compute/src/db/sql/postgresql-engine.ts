import type { Logger } from '@ebbgate/core';
import { redactText } from '@ebbgate/core';
import type { PoolConfig } from 'pg';
import { PostgresDialect } from 'kysely';
import { codeOf, type Engine, type Fault } from './engine.js';

/** Connections of one process. */
const POOL_SIZE = 10;
const CONNECT_MS = 5000;
/** Nothing of ours takes longer; what does is stuck. */
const STATEMENT_MS = 30_000;
/** Its locks must not outlive a process that has stopped in the middle of a transaction. */
const IDLE_IN_TRANSACTION_MS = 60_000;
/** PostgreSQL's number for 64-bit integers, which the driver gives as text; ours are numbers and times in ms. */
const INT8 = '20';

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT', // of a socket in the file system
]);

/** The driver's own words for a connection that is lost, or does not come; they carry no code. */
const LOST =
  /^(?:Connection terminated|Client has encountered a connection error|Client was closed)|timeout exceeded when trying to connect|timeout expired|Query read timeout|Cannot use a pool after calling end/;

/** Opens a pool; nothing is connected yet. */
export async function openPostgresql(url: string, label: string, logger: Logger): Promise<Engine> {
  const { default: pg } = await import('pg');
  const config: PoolConfig = {
    connectionString: url,
    application_name: 'ebbgate-compute',
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS + 1000,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    types: {
      getTypeParser: (type, format): ((text: string) => unknown) =>
        String(type) === INT8 ? Number : (pg.types.getTypeParser(type, format) as (text: string) => unknown),
    },
  };
  const pool = new pg.Pool(config);
  // A connection that is lost between two statements of a transaction has no other listener; the next statement fails.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', (error) => {
    logger.warn(
      { database: label, reason: redactText(error.message) },
      'A connection to the database was lost',
    );
  });
  return { kind: 'postgresql', label, dialect: new PostgresDialect({ pool }), fault };
}

function fault(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  if (code === undefined) return LOST.test(error.message) ? 'away' : undefined;
  if (NETWORK_CODES.has(code)) return 'away';
  return /^[0-9A-Z]{5}$/.test(code) ? sqlFault(code) : undefined;
}

/** By PostgreSQL's classes of errors. */
function sqlFault(code: string): Fault {
  if (code === '40001' || code === '40P01') return 'busy'; // serialization failure, deadlock
  if (/^(?:08|57P0[123])/.test(code) || code === '53300') return 'away'; // connection; ends, crashes, starts; full
  return code.startsWith('23') ? 'constraint' : 'other';
}
