import { isHidden } from '../cells/cell-access.js';
import { type Instance, nameOf } from '../objects/instance.js';
import { type CloudView, OperatorError } from './work.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** So many names are told to choose from. */
const SHOWN = 10;

/** Is it no mere copy, of an instance that is in another cell? */
export function isShown(record: { find(name: 'hidden'): boolean | undefined }): boolean {
  return !isHidden(record);
}

/** @throws OperatorError when it names none, or several */
export async function findInstance({ records }: CloudView, nameOrUuid: string): Promise<Instance> {
  const all = (await records.instances.find({})).filter(isShown);
  const found = all.filter((one) => nameOf(one) === nameOrUuid || one.get('uuid') === nameOrUuid);
  const [first] = found;
  if (first && found.length === 1) return first;
  if (first) {
    const uuids = found.map((one) => one.get('uuid')).join(', ');
    throw new OperatorError(
      `${found.length} instances are called ${nameOrUuid}: give the id of one, of ${uuids}`,
    );
  }
  const what = UUID.test(nameOrUuid) ? 'with the id' : 'called';
  throw new OperatorError(`There is no instance ${what} ${nameOrUuid}; there ${choice(all.map(nameOf))}`);
}

/** @throws OperatorError when there is no such host */
export async function checkHost(
  { records }: Pick<CloudView, 'records'>,
  host: string,
  where = '',
): Promise<string> {
  const names = (await records.services.list('compute')).map((service) => service.host);
  if (names.includes(host)) return host;
  throw new OperatorError(`${where}There is no host ${host}; there ${choice(names)}`);
}

function choice(names: readonly string[]): string {
  if (names.length === 0) return 'are none at all';
  const more = names.length > SHOWN ? `, and ${names.length - SHOWN} more` : '';
  return `${names.length === 1 ? 'is' : 'are'} ${names.slice(0, SHOWN).join(', ')}${more}`;
}
