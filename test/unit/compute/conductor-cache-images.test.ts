import { ConductorApi, HypervisorError, NovaObject } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { until } from '../../support/deferred.js';
import { DEST, SOURCE, withCloud } from './test-cloud.js';

const THIRD = 'compute-c';

const aggregateOf = (...hosts: readonly string[]): NovaObject =>
  new NovaObject({ name: 'Aggregate', namespace: 'nova', version: '1.3' }, [
    ['id', 1],
    ['hosts', hosts],
  ]);

describe('a conductor that is to have images cached (compute-rpc 2.2)', () => {
  it('asks the hosts of the aggregate that are up, and no other; one that fails keeps nobody from it', async () => {
    const logger = new CapturedLog();
    await withCloud({ logger, hosts: [SOURCE, DEST, THIRD] }, async (test) => {
      await test.crash(THIRD);
      test.virt(SOURCE).steps.failNext('cache-image', new HypervisorError('no room'));
      const conductor = new ConductorApi(test.cloud.computeApi.transport);
      const wanted = { aggregate: aggregateOf(SOURCE, DEST, THIRD, 'nowhere'), image_ids: ['i-1', 'i-2'] };
      await conductor.cast({}, 'cache_images', wanted);
      const told = (): readonly (readonly [string, unknown])[] =>
        logger
          .at('info')
          .filter(({ message }) => message === 'A host has cached images')
          .map(({ fields }) => [String(fields['host']), fields['results']]);
      await until(() => told().length === 2);
      expect(Object.fromEntries(told())).to.deep.equal({
        [SOURCE]: { 'i-1': 'error', 'i-2': 'cached' },
        [DEST]: { 'i-1': 'cached', 'i-2': 'cached' },
      });
      const left = logger.at('info').filter(({ message }) => message.startsWith('A host that is not up'));
      expect(left.map(({ fields }) => fields['host']).sort()).to.deep.equal([THIRD, 'nowhere']);
      expect(test.arrived.filter((one) => one.startsWith('cache_images')).sort()).to.deep.equal([
        `cache_images @ compute.${SOURCE}`,
        `cache_images @ compute.${DEST}`,
      ]);
    });
  });
});
