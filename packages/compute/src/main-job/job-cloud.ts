import type { MaybePromise } from '@ebbgate/core';
import type { DrainReport } from '@ebbgate/service';
import type { InstanceActions } from '../api/actions.js';
import type { Moves } from '../api/moves.js';
import type { Rebuilds } from '../api/rebuilds.js';
import type { Servers } from '../api/servers.js';
import type { WatchedRecords } from '../db/record-watch.js';
import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';

/** How the cloud of the main job is to be. */
export interface CloudWishes {
  readonly transport: string;
  /** Where all topics are; default: Nova's. */
  readonly exchange?: string;
  /** URL of the database. */
  readonly database: string;
  readonly hosts: readonly string[];
  readonly bootMs: number;
  readonly migrationMs: number;
  readonly opsServer: boolean;
  /** What all tasks of a drain together may take. */
  readonly tasksMs: number;
  /** Time-out of calls to hosts, and of long ones without a sign of life. */
  readonly rpcTimeoutMs: number;
}

/** A compute host as the main job has it. */
export interface JobHost {
  /** Begins a run. Resolves when it serves. */
  start(): Promise<unknown>;
  /** Sends SIGTERM. Resolves with the exit code and the report when the run is over. */
  terminate(): Promise<{ readonly code: number; readonly report: DrainReport }>;
}

/** What is there when everything has ended. */
export interface Remains {
  readonly instances: readonly Instance[];
  readonly migrations: readonly Migration[];
  /** The hosts on which a guest is. */
  readonly locate: (uuid: string) => readonly string[];
  /** What is prepared for guests that have not come. */
  readonly expected: readonly { readonly host: string; readonly uuid: string }[];
}

/** Compute hosts, a conductor, the API's side and the records: what the main job runs on, in one process or in several. */
export interface JobCloud {
  readonly records: WatchedRecords;
  /** Holds back the word that the interfaces of an instance are plugged, and lets it out. */
  readonly networking: {
    hold(instanceUuid: string): MaybePromise<void>;
    release(instanceUuid: string): MaybePromise<void>;
  };
  /** Boot and live migration. */
  readonly servers: Servers;
  /** What users ask of an instance where it is. */
  readonly actions: InstanceActions;
  /** Cold migration and resize, and their ends. */
  readonly moves: Moves;
  /** Rebuild and evacuate. */
  readonly rebuilds: Rebuilds;
  /** @throws RangeError when there is none of that name */
  host(name: string): JobHost;
  /** Aborts when a part of it has ended that nobody has ended. */
  readonly broken: AbortSignal;
  /** Resolves when everything serves. */
  start(): Promise<void>;
  /** Ends all hosts that run, each by SIGTERM, and everything else. */
  stop(): Promise<Remains>;
  /** Ends everything at once: what runs is cut off in the middle. */
  cutOff(): Promise<void>;
}

/** A message to a host that is about to be sent. */
export interface SentMessage {
  readonly topic: string;
  readonly host: string;
  readonly method: string;
}
