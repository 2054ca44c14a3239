import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import {
  descriptionText,
  flavorRef,
  hostnameText,
  hostText,
  imageId,
  metadataMap,
  nameText,
  passwordText,
} from './server-schemas.js';
import { booleanWord } from './service-schemas.js';

/** What a live migration is asked for with. */
export interface LiveMigrateBody {
  readonly host: string | null;
  readonly block_migration: boolean | 'auto';
  readonly disk_over_commit?: boolean | undefined;
  readonly force?: boolean | undefined;
}

/** What a cold migration is asked for with. */
export type MigrateBody = { readonly host?: string | null | undefined } | null;

/** What an evacuation is asked for with. */
export interface EvacuateBody {
  readonly host?: string | undefined;
  readonly onSharedStorage?: boolean | undefined;
  readonly adminPass?: string | undefined;
  readonly force?: boolean | undefined;
}

/** What a rebuild is asked for with. */
export interface RebuildBody {
  readonly imageRef: string;
  readonly name?: string | undefined;
  readonly adminPass?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly description?: string | null | undefined;
  readonly key_name?: string | null | undefined;
  readonly user_data?: string | null | undefined;
  readonly hostname?: string | undefined;
}

const host = hostText.nullable();
const live = { host, block_migration: booleanWord };
const autoLive = { host, block_migration: z.union([z.literal('auto'), booleanWord]) };

/** Of `os-migrateLive`. */
export const LIVE_MIGRATE_BODIES: Versioned<LiveMigrateBody> = [
  { since: 1, schema: z.strictObject({ ...live, disk_over_commit: booleanWord }) },
  { since: 25, schema: z.strictObject(autoLive) },
  { since: 30, schema: z.strictObject({ ...autoLive, force: booleanWord.optional() }) },
  { since: 68, schema: z.strictObject(autoLive) },
];

const anything = z.unknown().transform(() => null);
/** Of `migrate`. */
export const MIGRATE_BODIES: Versioned<MigrateBody> = [
  { since: 1, schema: anything },
  { since: 56, schema: z.strictObject({ host: host.optional() }).nullable() },
];

/** Of `resize`. */
export const RESIZE_BODIES: Versioned<{ readonly flavorRef: string }> = [
  {
    since: 1,
    schema: z.strictObject({ flavorRef, 'OS-DCF:diskConfig': z.enum(['AUTO', 'MANUAL']).optional() }),
  },
];

const evacuate = { host: hostText.optional(), adminPass: passwordText.optional() };
/** Of `evacuate`. */
export const EVACUATE_BODIES: Versioned<EvacuateBody> = [
  { since: 1, schema: z.strictObject({ ...evacuate, onSharedStorage: booleanWord }) },
  { since: 14, schema: z.strictObject(evacuate) },
  { since: 29, schema: z.strictObject({ ...evacuate, force: booleanWord.optional() }) },
  { since: 68, schema: z.strictObject(evacuate) },
];

const rebuild = {
  imageRef: imageId,
  name: nameText.optional(),
  adminPass: passwordText.optional(),
  metadata: metadataMap.optional(),
  preserve_ephemeral: booleanWord.optional(),
  'OS-DCF:diskConfig': z.enum(['AUTO', 'MANUAL']).optional(),
  accessIPv4: z.union([z.ipv4(), z.literal('')]).optional(),
  accessIPv6: z.union([z.ipv6(), z.literal('')]).optional(),
};
const described = { ...rebuild, description: descriptionText.optional() };
const keyed = { ...described, key_name: nameText.nullable().optional() };
const fed = { ...keyed, user_data: z.base64().max(65_535).nullable().optional() };
/** Of `rebuild`. */
export const REBUILD_BODIES: Versioned<RebuildBody> = [
  { since: 1, schema: z.strictObject(rebuild) },
  { since: 19, schema: z.strictObject(described) },
  { since: 54, schema: z.strictObject(keyed) },
  { since: 57, schema: z.strictObject(fed) },
  { since: 90, schema: z.strictObject({ ...fed, hostname: hostnameText.optional() }) },
];

const of = <T>(schema: z.ZodType<T>): Versioned<T> => [{ since: 1, schema }];

/** Of `reboot`. */
export const REBOOT_BODIES: Versioned<{ readonly type: 'soft' | 'hard' }> = of(
  z.strictObject({
    type: z
      .enum(['HARD', 'Hard', 'hard', 'SOFT', 'Soft', 'soft'])
      .transform((type) => (type.toLowerCase() === 'hard' ? 'hard' : 'soft')),
  }),
);
/** Of `createImage`. */
export const CREATE_IMAGE_BODIES: Versioned<{ readonly name: string }> = of(
  z.strictObject({ name: nameText, metadata: metadataMap.optional() }),
);
/** Of `os-getConsoleOutput`; null: all lines. */
export const CONSOLE_OUTPUT_BODIES: Versioned<{ readonly length?: number | null | undefined }> = of(
  z.strictObject({
    length: z
      .union([
        z.int().min(-1).max(1_000_000),
        z
          .string()
          .regex(/^(?:-1|\d{1,6})$/)
          .transform(Number),
      ])
      .nullable()
      .optional(),
  }),
);
/** Of `changePassword`. */
export const PASSWORD_BODIES: Versioned<{ readonly adminPass: string }> = of(
  z.strictObject({ adminPass: passwordText }),
);
/** Of `rescue`. */
export const RESCUE_BODIES: Versioned<{
  readonly adminPass?: string | undefined;
  readonly rescue_image_ref?: string | undefined;
} | null> = of(
  z.strictObject({ adminPass: passwordText.optional(), rescue_image_ref: imageId.optional() }).nullable(),
);
/** Of `lock`. */
export const LOCK_BODIES: Versioned<{ readonly locked_reason?: string | undefined } | null> = [
  { since: 1, schema: anything },
  { since: 73, schema: z.strictObject({ locked_reason: nameText.optional() }).nullable() },
];
/** Of `os-resetState`. */
export const RESET_STATE_BODIES: Versioned<{ readonly state: 'active' | 'error' }> = [
  { since: 1, schema: z.strictObject({ state: z.enum(['active', 'error']) }) },
];
/** Of `unshelve`: where to cannot be wished. */
export const UNSHELVE_BODIES: Versioned<object | null> = [
  { since: 1, schema: anything },
  { since: 77, schema: z.strictObject({}).nullable() },
];

/** Kinds of consoles, by protocol. */
export const CONSOLE_TYPES = {
  vnc: ['novnc', 'xvpvnc'],
  spice: ['spice-html5'],
  serial: ['serial'],
} as const;
/** A protocol of consoles. */
export type ConsoleProtocol = keyof typeof CONSOLE_TYPES;

/** Body of `os-getVNCConsole` and its like. */
export function consoleBodies(protocol: ConsoleProtocol): Versioned<{ readonly type: string }> {
  return of(z.strictObject({ type: z.enum(CONSOLE_TYPES[protocol]) }));
}

const remoteConsole = <Protocol extends ConsoleProtocol>(protocol: Protocol) =>
  z.strictObject({ protocol: z.literal(protocol), type: z.enum(CONSOLE_TYPES[protocol]) });
/** Body of `remote-consoles`. */
export interface RemoteConsoleBody {
  readonly remote_console: { readonly protocol: ConsoleProtocol; readonly type: string };
}
/** Bodies of `remote-consoles`. */
export const REMOTE_CONSOLE_BODIES: Versioned<RemoteConsoleBody> = [
  {
    since: 6,
    schema: z.strictObject({
      remote_console: z.discriminatedUnion('protocol', [
        remoteConsole('vnc'),
        remoteConsole('spice'),
        remoteConsole('serial'),
      ]),
    }),
  },
];

/** Answer with a password. */
export const PASSWORD_ANSWER: z.ZodType = z.strictObject({ adminPass: z.string() }).optional();
/** Answer to `createImage`, from 2.45. */
export const IMAGE_ANSWER: z.ZodType = z.strictObject({ image_id: z.guid() }).optional();
/** Answer to `os-getConsoleOutput`. */
export const OUTPUT_ANSWER: z.ZodType = z.strictObject({ output: z.string() });
/** Answer to `os-getVNCConsole` and its like. */
export const CONSOLE_ANSWER: z.ZodType = z.strictObject({
  console: z.strictObject({ type: z.string(), url: z.string() }),
});
/** Answer of `remote-consoles`. */
export const REMOTE_CONSOLE_ANSWER: z.ZodType = z.strictObject({
  remote_console: z.strictObject({ protocol: z.string(), type: z.string(), url: z.string() }),
});
