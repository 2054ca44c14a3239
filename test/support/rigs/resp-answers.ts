import { createHash } from 'node:crypto';
import type { RespCommand } from './resp-peer-connection.js';
import type { RespValue } from './resp-values.js';

const OK = { status: 'OK' };

type Answer = (command: RespCommand) => RespValue;

const constant =
  (value: RespValue): Answer =>
  () =>
    value;

/** The version that it claims to have, and settings that no driver objects to. */
export const SERVER = {
  version: '7.0.15',
  config: new Map<string, RespValue>([
    ['maxmemory', '0'],
    ['maxmemory-policy', 'noeviction'],
    ['appendonly', 'yes'],
    ['appendfsync', 'everysec'],
    ['save', ''],
  ]),
};

const INFO = [
  '# Server',
  `redis_version:${SERVER.version}`,
  'redis_mode:standalone',
  '# Persistence',
  'loading:0',
  '# Replication',
  'role:master',
  'connected_slaves:0',
  '',
].join('\r\n');

function hello({ connection }: RespCommand): RespValue {
  return new Map<string, RespValue>([
    ['server', 'redis'],
    ['version', SERVER.version],
    ['proto', connection.protocol],
    ['id', connection.number],
    ['mode', 'standalone'],
    ['role', 'master'],
    ['modules', []],
  ]);
}

function config({ args }: RespCommand): RespValue {
  const asked = args.slice(1).map(String);
  return new Map([...SERVER.config].filter(([name]) => asked.includes(name) || asked.includes('*')));
}

let entries = 0;

function entryId(): RespValue {
  entries += 1;
  return `${Date.now()}-${entries}`;
}

/** What a server without data and without objection answers, by the name of the command. */
export const ANSWERS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['HELLO', hello],
  ['PING', ({ args }) => args[0] ?? { status: 'PONG' }],
  ['INFO', constant(INFO)],
  ['ROLE', constant(['master', 0, []])],
  ['COMMAND', constant([])],
  ['CONFIG GET', config],
  ['CLIENT ID', ({ connection }) => connection.number],
  ['CLIENT UNBLOCK', constant(0)],
  ['CLIENT LIST', constant('')],
  [
    'SCRIPT LOAD',
    ({ args }) =>
      createHash('sha1')
        .update(args[1] ?? '')
        .digest('hex'),
  ],
  ['XADD', entryId],
  ['XAUTOCLAIM', constant(['0-0', [], []])],
  ['TIME', () => [String(Math.floor(Date.now() / 1000)), '0']],
  ...['AUTH', 'SELECT', 'READONLY', 'QUIT', 'SET', 'CLIENT', 'CONFIG', 'XGROUP CREATE'].map(ok),
  ...['EVAL', 'EVALSHA', 'FCALL', 'XACK', 'XDEL', 'DEL', 'UNLINK', 'EXPIRE', 'PEXPIRE'].map(one),
  ...['GET', 'XREAD', 'XREADGROUP'].map(nothing),
]);

function ok(name: string): [string, Answer] {
  return [name, constant(OK)];
}

function one(name: string): [string, Answer] {
  return [name, constant(1)];
}

function nothing(name: string): [string, Answer] {
  return [name, constant(null)];
}
