import { bootRequest } from '../api/boot-request.js';
import { textOf } from './actions.js';
import { flavorOf } from './flavors.js';
import { checkHost } from './named.js';
import { readHints } from './operator-options.js';
import { type ActionOptions, concluded } from './run-action.js';
import { OPERATOR, OperatorUsageError, type Work } from './work.js';

/** Names are those of guests, too. */
const NAME = /^[A-Za-z0-9][\w.-]{0,62}$/;

/** Makes a new instance. @throws OperatorUsageError */
export function bootWork(
  name: string,
  given: Readonly<Record<string, unknown>>,
  options: ActionOptions,
): Work {
  if (!NAME.test(name)) {
    throw new OperatorUsageError(
      `The name is "${name}", and must be letters, digits and characters of . _ -, at most 63, a letter or digit first`,
    );
  }
  const flavor = flavorOf(textOf(given, 'flavor') ?? '');
  const hints = readHints(given);
  const host = textOf(given, 'host') ?? null;
  return async (cloud, terminal) => {
    if (host !== null) await checkHost(cloud.api, host, '--host: ');
    const zone = textOf(given, 'availabilityZone') ?? null;
    const image = textOf(given, 'image') ?? '';
    const wanted = { name, owner: OPERATOR, flavor, image, host, zone, hints };
    const api = await cloud.apiFor(host);
    const instance = await api.servers.boot(cloud.context, bootRequest(wanted));
    const said = `${name} is being built: ${instance.get('uuid')}`;
    await concluded(cloud, terminal, { instance, ending: { states: ['active'] }, said }, options);
  };
}
