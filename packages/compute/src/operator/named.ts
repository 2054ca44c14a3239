import type { RemoteApi } from '../api/remote-api.js';
import type { Instance } from '../objects/instance.js';
import { OperatorError } from './work.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** So many names are told to choose from. */
const SHOWN = 10;

/** What an instance is called by people. */
export function nameOf(instance: Instance): string {
  return instance.find('display_name') ?? instance.get('uuid');
}

/** @throws OperatorError when it names none, or several */
export async function findInstance({ records }: RemoteApi, nameOrUuid: string): Promise<Instance> {
  const all = await records.instances.find({});
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
export async function checkHost({ records }: RemoteApi, host: string, where = ''): Promise<string> {
  const names = (await records.services.list('compute')).map((service) => service.host);
  if (names.includes(host)) return host;
  throw new OperatorError(`${where}There is no host ${host}; there ${choice(names)}`);
}

function choice(names: readonly string[]): string {
  if (names.length === 0) return 'are none at all';
  const more = names.length > SHOWN ? `, and ${names.length - SHOWN} more` : '';
  return `${names.length === 1 ? 'is' : 'are'} ${names.slice(0, SHOWN).join(', ')}${more}`;
}
