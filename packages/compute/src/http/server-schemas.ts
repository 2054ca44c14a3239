import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { booleanWord } from './service-schemas.js';

/** What texts of users may be: no control characters and halves of characters, which not every database can hold. */
const PRINTABLE = /^[^\p{Cc}\p{Cs}]*$/u;
const printable = (least: number, most = 255) =>
  z.string().min(least).max(most).regex(PRINTABLE, { error: 'It must not have control characters' });

/** What something is called, as upstream has it: nothing that is not seen, or turns what stands beside it; no blanks around it. */
export const nameText: z.ZodType<string> = printable(1)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, { error: 'It must not have characters that are not seen' })
  .regex(/^\S(?:.*\S)?$/su, { error: 'It must not begin or end with blanks' });
/** Words about something. */
export const descriptionText: z.ZodType<string | null> = z
  .string()
  .max(255)
  .regex(/^(?:[^\p{C}\p{Zl}\p{Zp}]|[\t\n\r])*$/u, { error: 'It must not have characters that are not seen' })
  .nullable();
/** An image, by its id: a uuid at an image service, here any word. */
export const imageId: z.ZodType<string> = z.string().regex(/^[\w.-]{1,255}$/, {
  error: 'It must be an id: letters, digits and characters of . _ -',
});
/** A flavor, by its id. */
export const flavorRef: z.ZodType<string, string | number> = z
  .union([printable(1), z.int().min(0)])
  .transform(String);
/** Notes of users, by name. */
export const metadataMap: z.ZodType<Readonly<Record<string, string>>> = z.record(
  z.string().regex(/^[a-zA-Z0-9-_:. ]{1,255}$/),
  printable(0),
);
/** The name of a host. */
export const hostText: z.ZodType<string> = z.string().regex(/^[a-zA-Z0-9._-]{1,255}$/, {
  error: 'It must be letters, digits and characters of . _ -',
});
/** What the guest calls itself. */
export const hostnameText: z.ZodType<string> = z
  .string()
  .regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,253}[a-zA-Z0-9])?$/);
/** A password. */
export const passwordText: z.ZodType<string> = printable(0);

/** The networks of a new server. */
export interface NetworkWish {
  readonly uuid?: string | undefined;
  readonly port?: string | null | undefined;
  readonly fixed_ip?: string | undefined;
  readonly tag?: string | undefined;
}

/** A new server, as it is asked for. */
export interface NewServer {
  readonly name: string;
  readonly flavorRef: string;
  readonly imageRef?: string | undefined;
  readonly networks?: 'auto' | 'none' | readonly NetworkWish[] | undefined;
  readonly availability_zone?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly adminPass?: string | undefined;
  readonly key_name?: string | undefined;
  readonly security_groups?: readonly { readonly name?: string | undefined }[] | undefined;
  readonly description?: string | null | undefined;
  readonly host?: string | undefined;
  readonly hypervisor_hostname?: string | undefined;
  readonly hostname?: string | undefined;
}

/** Hints for the choice of host. */
export type Hints = Readonly<Record<string, string | readonly string[]>>;

/** Body of a create. */
export interface CreateBody {
  readonly server: NewServer;
  readonly 'os:scheduler_hints'?: Hints | undefined;
  readonly 'OS-SCH-HNT:scheduler_hints'?: Hints | undefined;
}

/** Body of an update. */
export interface UpdateServerBody {
  readonly server: {
    readonly name?: string | undefined;
    readonly description?: string | null | undefined;
    readonly hostname?: string | undefined;
  };
}

const one = z
  .union([z.literal(1), z.literal('1')], { error: 'Only one server is made at a time' })
  .optional();
const network = { uuid: printable(1).optional(), port: printable(1).nullable().optional() };
const addressed = { ...network, fixed_ip: z.union([z.ipv4(), z.ipv6()]).optional() };
const networks = z.array(z.strictObject(addressed)).max(64);
const taggedNetworks = z.array(z.strictObject({ ...addressed, tag: printable(1, 60).optional() })).max(64);
const choice = z.enum(['auto', 'none']);
/** Taken, and without an effect. */
const ignored = {
  'OS-DCF:diskConfig': z.enum(['AUTO', 'MANUAL']).optional(),
  accessIPv4: z.union([z.ipv4(), z.literal('')]).optional(),
  accessIPv6: z.union([z.ipv6(), z.literal('')]).optional(),
};
const server = {
  ...ignored,
  name: nameText,
  flavorRef,
  imageRef: z.union([imageId, z.literal('')]).optional(),
  adminPass: passwordText.optional(),
  metadata: metadataMap.optional(),
  networks: networks.optional(),
  availability_zone: nameText.optional(),
  config_drive: booleanWord.optional(),
  key_name: nameText.optional(),
  min_count: one,
  max_count: one,
  security_groups: z
    .array(z.strictObject({ name: nameText.optional() }))
    .max(64)
    .optional(),
  user_data: z.base64().max(65_535).optional(),
};
const hint = z.union([printable(1), z.array(printable(1)).max(64)]);
const hints = z.record(printable(1), hint).optional();
const create = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({
    server: z.strictObject(shape),
    'os:scheduler_hints': hints,
    'OS-SCH-HNT:scheduler_hints': hints,
  });
const described = { ...server, description: descriptionText.optional() };
const connected = {
  ...described,
  networks: z.union([choice, networks], { error: 'It must be auto, none or a list' }),
};
const tagged = {
  ...described,
  networks: z.union([choice, taggedNetworks], { error: 'It must be auto, none or a list' }),
};
const placed = { ...tagged, host: hostText.optional(), hypervisor_hostname: hostText.optional() };

/** Bodies of the create, by version. */
export const CREATE_BODIES: Versioned<CreateBody> = [
  { since: 1, schema: create(server) },
  { since: 19, schema: create(described) },
  { since: 37, schema: create(connected) },
  { since: 42, schema: create(tagged) },
  { since: 74, schema: create(placed) },
  { since: 90, schema: create({ ...placed, hostname: hostnameText.optional() }) },
];

const update = { ...ignored, name: nameText.optional() };
const describedUpdate = { ...update, description: descriptionText.optional() };
const updateOf = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({ server: z.strictObject(shape) });

/** Bodies of the update, by version. */
export const UPDATE_SERVER_BODIES: Versioned<UpdateServerBody> = [
  { since: 1, schema: updateOf(update) },
  { since: 19, schema: updateOf(describedUpdate) },
  { since: 90, schema: updateOf({ ...describedUpdate, hostname: hostnameText.optional() }) },
];
