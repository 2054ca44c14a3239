import type { DriverFactory, Transport } from '@ebbgate/core';
import type { Notebook } from './records.js';

/** Who takes part. */
export const ROLES = ['client', 'notifier', 'server', 'listener'] as const;
export type RoleName = (typeof ROLES)[number];

export interface RoleSettings {
  readonly role: RoleName;
  /** Of a server, what it is called; with it begin the ids of what is sent. */
  readonly name: string;
  readonly url: string;
  /** Where it writes down what it does. */
  readonly file: string;
  /** How often a client calls, and casts, and a notifier tells, each. */
  readonly everyMs: number;
  /** Of what is sent. */
  readonly timeoutMs: number;
  /** So often the heap is measured. */
  readonly heapEveryMs: number;
}

/** One that has begun. */
export interface Role {
  /** Resolves when it can receive, or has begun to send. */
  readonly ready: Promise<void>;
  /** Sends no more; resolves when all that was sent has settled. */
  quiesce(): Promise<void>;
  /** Ends in order, as at SIGTERM. */
  end(): Promise<void>;
  /** Takes its transport away, as nobody should. */
  close(): Promise<void>;
}

export type StartRole = (settings: RoleSettings, transport: Transport, notes: Notebook) => Role;

export const TOPIC = 'soak';
export const SERVERS = ['server-1', 'server-2', 'server-3'] as const;
export const NOTIFICATIONS = 'soak-notifications';

/** What a process loads besides the in-memory driver: no more than it needs, as many are started. */
export async function driversFor(url: string): Promise<readonly DriverFactory[]> {
  if (url.startsWith('memory:')) return [];
  if (url.startsWith('redis:')) return [(await import('@ebbgate/driver-redis')).redisDriver];
  const { rabbitDriver, amqp10Driver } = await import('@ebbgate/driver-amqp');
  return [rabbitDriver, amqp10Driver];
}

/** Heap in use after everything that can go has gone; needs `--expose-gc`. */
export function heapInUse(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
