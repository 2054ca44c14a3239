import { readFileSync } from 'node:fs';
import { ConfigurationError } from '@ebbgate/core';

/** Flags by their names in code, as a configuration file has them. */
export type ConfiguredFlags = Readonly<Record<string, string | boolean>>;

const SECTION = /^\[([^\]]+)\]$/;
const SETTING = /^([A-Za-z_]\w*)\s*[=:]\s*(.*)$/;

/** Settings that Nova has in other sections, and the flags that they are. */
const NOVAS: ReadonlyMap<string, string> = new Map([
  ['upgrade_levels.compute', 'computeVersionCap'],
  ['database.connection', 'database'],
  ['api_database.connection', 'apiDatabase'],
]);

/**
 * Reads a configuration file in the form of Nova's: `[DEFAULT]` has each flag under its name with underscores,
 * `[upgrade_levels]` has `compute`, the version cap, `[database]` and `[api_database]` have `connection`, and `[topics]` the topic of single methods. What a flag or the
 * environment says goes before what is here.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a file that cannot be read, and for a line or a section that is none
 */
export function readConfigFile(file: string): ConfiguredFlags {
  const flags = new Map<string, string | boolean>();
  const topics: string[] = [];
  for (const { section, name, value, where } of settings(file)) {
    if (section === 'DEFAULT') flags.set(camelCase(name), flagValue(value));
    else if (NOVAS.has(`${section}.${name}`)) flags.set(NOVAS.get(`${section}.${name}`) ?? '', value);
    else if (section === 'topics') topics.push(`${name}=${value}`);
    else throw new ConfigurationError(`${where}: [${section}] has no "${name}"`);
  }
  if (topics.length > 0) flags.set('topic', topics.join(','));
  return Object.fromEntries(flags);
}

interface Setting {
  readonly section: string;
  readonly name: string;
  readonly value: string;
  /** For errors. */
  readonly where: string;
}

function settings(file: string): readonly Setting[] {
  let section = 'DEFAULT';
  const found: Setting[] = [];
  for (const [index, line] of textOf(file).split(/\r?\n/).entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) continue;
    const where = `Line ${index + 1} of ${file}`;
    const header = SECTION.exec(text)?.[1];
    const [, name, value] = SETTING.exec(text) ?? [];
    if (header !== undefined) section = header.trim();
    else if (name !== undefined && value !== undefined) found.push({ section, name, value, where });
    else throw new ConfigurationError(`${where} must be [section] or name = value`);
  }
  return found;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`The configuration file ${file} cannot be read`, { cause: error });
  }
}

function flagValue(value: string): string | boolean {
  const word = value.toLowerCase();
  return word === 'true' || word === 'false' ? word === 'true' : value;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
}
