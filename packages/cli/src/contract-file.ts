import { basename, extname } from 'node:path';
import type { DescribedContract, EventCatalogue } from '@ebbgate/notify';
import { importFile } from './module-import.js';
import { UsageError } from './usage-error.js';

/** What a module declares, each by the name of its export. */
export interface Declarations {
  /** The name of the file, without its ending. */
  readonly name: string;
  readonly contracts: ReadonlyMap<string, DescribedContract>;
  readonly catalogues: ReadonlyMap<string, EventCatalogue>;
}

/**
 * The contracts and event catalogues that a module exports; those of a default export have the name of the file.
 * @throws UsageError when it cannot be loaded, or exports neither
 */
export async function loadDeclarations(file: string, cwd: string): Promise<Declarations> {
  const name = basename(file, extname(file));
  const exports = [...(await importFile(file, cwd))].map(
    ([key, value]) => [key === 'default' ? name : key, value] as const,
  );
  const contracts = new Map(
    exports.filter((entry): entry is [string, DescribedContract] => isContract(entry[1])),
  );
  const catalogues = new Map(
    exports.filter((entry): entry is [string, EventCatalogue] => isCatalogue(entry[1])),
  );
  if (contracts.size + catalogues.size > 0) return { name, contracts, catalogues };
  throw new UsageError(
    `${file} exports neither a contract (defineContract of @ebbgate/rpc) nor events (defineEvents of @ebbgate/notify)`,
  );
}

/** By their shape: another copy of ours may have made them. */
function isContract(value: unknown): boolean {
  return isObject(value) && typeof value['version'] === 'string' && isObject(value['methods']);
}

function isCatalogue(value: unknown): boolean {
  return isObject(value) && isObject(value['events']) && typeof value['notifier'] === 'function';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
