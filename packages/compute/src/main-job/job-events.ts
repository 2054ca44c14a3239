import type { DrainReport, ServiceState, TaskSnapshot } from '@ebbgate/service';
import type { MigrationStatus, TaskState, VmState } from '../objects/states.js';

/** One thing that the verdict rests on. */
export interface Check {
  readonly what: string;
  readonly holds: boolean;
  /** What is wrong, when it does not hold. */
  readonly detail: string;
}

/** How the servers of a host are. */
export interface HostView {
  readonly host: string;
  readonly run: number;
  readonly state: ServiceState;
  readonly newRequest: 'up' | 'stopped';
  readonly ops: 'up' | 'stopped' | 'none';
  readonly tasks: readonly TaskSnapshot[];
}

/** One server of a host at the end of a run. */
export interface ServerLeft {
  readonly topic: string;
  readonly state: string;
  /** Requests that it took and that are not done. */
  readonly requests: number;
}

/** What happens at one host. Plain data: a host that is a process of its own prints it. */
export type HostEvent =
  | { readonly kind: 'host'; readonly why: 'state' | 'server' | 'tasks'; readonly view: HostView }
  | {
      readonly kind: 'request';
      readonly host: string;
      readonly topic: string;
      readonly method: string;
      readonly draining: boolean;
    }
  | {
      readonly kind: 'exit';
      readonly host: string;
      readonly code: number;
      readonly report: DrainReport;
      readonly servers: readonly ServerLeft[];
    };

/** What happens in the main job, for whoever shows it. Plain data. */
export type JobEvent =
  | HostEvent
  | { readonly kind: 'note'; readonly text: string }
  /** A message to a host whose server on that topic has stopped: it stays in the queue. */
  | { readonly kind: 'waiting'; readonly host: string; readonly topic: string; readonly method: string }
  | {
      readonly kind: 'instance';
      readonly uuid: string;
      readonly name: string;
      readonly host: string | null;
      readonly vmState: VmState;
      readonly taskState: TaskState;
    }
  | {
      readonly kind: 'migration';
      readonly uuid: string;
      readonly name: string;
      readonly status: MigrationStatus;
      readonly source: string;
      readonly dest: string | null;
      /** From 0 to 1. */
      readonly progress: number;
    }
  | {
      readonly kind: 'verdict';
      readonly holds: boolean;
      readonly checks: readonly Check[];
      readonly remark: string;
    };

/** Shows what happens. */
export interface View {
  /** @param atMs - since the job began */
  show(atMs: number, event: JobEvent): void;
  /** Nothing more comes. */
  end(): void;
}
