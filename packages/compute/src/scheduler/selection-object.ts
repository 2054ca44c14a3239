import { decodeJson } from '@ebbgate/core';
import type { Resources } from '../db/repositories.js';
import { SelectionObject } from '../objects/selection.js';
import type { Selection } from './scheduler.js';

/** Uuid of the only cell, until there are several. */
const CELL = '00000000-0000-0000-0000-000000000000';
/** The form in which Placement writes allocations. */
const ALLOCATION_VERSION = '1.36';
/** Placement's names of what is allocated. */
const CLASSES: readonly (readonly [name: string, member: keyof Resources])[] = [
  ['VCPU', 'vcpus'],
  ['MEMORY_MB', 'memoryMb'],
  ['DISK_GB', 'diskGb'],
];

/** What else is known of a host that was chosen. */
export interface SelectedHost {
  /** Of its service record. */
  readonly uuid: string;
  readonly availabilityZone: string | null;
}

/** A choice as it travels: Nova's Selection, with the resources in Placement's form. */
export function selectionObject(
  selection: Selection,
  { uuid, availabilityZone }: SelectedHost,
): SelectionObject {
  const resources = Object.fromEntries(CLASSES.map(([name, member]) => [name, selection.resources[member]]));
  return SelectionObject.create({
    compute_node_uuid: uuid,
    service_host: selection.host,
    nodename: selection.node,
    cell_uuid: CELL,
    limits: null,
    allocation_request: JSON.stringify({ allocations: { [uuid]: { resources } } }),
    allocation_request_version: ALLOCATION_VERSION,
    availability_zone: availabilityZone,
  });
}

/**
 * The choice in such an object; undefined when it is none. One that tells no resources (Nova may name a host without them)
 * takes `otherwise`.
 */
export function readSelection(object: unknown, otherwise: Resources): Selection | undefined {
  if (!SelectionObject.is(object)) return undefined;
  const host: unknown = object.find('service_host');
  const node: unknown = object.find('nodename');
  if (typeof host !== 'string' || host === '') return undefined;
  const resources = readResources(object.find('allocation_request')) ?? otherwise;
  return { host, node: typeof node === 'string' ? node : host, resources };
}

function readResources(text: unknown): Resources | undefined {
  if (typeof text !== 'string') return undefined;
  const found = new Map<string, number>();
  for (const provider of members(memberOf(parse(text), 'allocations'))) {
    for (const [name, amount] of entries(memberOf(provider, 'resources'))) {
      if (typeof amount === 'number') found.set(name, (found.get(name) ?? 0) + amount);
    }
  }
  if (!CLASSES.some(([name]) => found.has(name))) return undefined;
  const [vcpus = 0, memoryMb = 0, diskGb = 0] = CLASSES.map(([name]) => found.get(name) ?? 0);
  return { vcpus, memoryMb, diskGb };
}

function parse(text: string): unknown {
  try {
    return decodeJson(text);
  } catch {
    return undefined; // no allocation that we could read
  }
}

function entries(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function members(value: unknown): readonly unknown[] {
  return entries(value).map(([, member]) => member);
}

function memberOf(value: unknown, name: string): unknown {
  return new Map(entries(value)).get(name);
}
