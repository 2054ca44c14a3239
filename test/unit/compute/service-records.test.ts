import { MemoryRecords } from '@ebbgate/compute';
import { Service } from '@ebbgate/service';
import { StateReports } from '#compute/servicegroup/state-reports.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { rejectionOf, until } from '../../support/deferred.js';
import { fakeParts } from '../service/fakes.js';
import { SOURCE, withCloud } from './test-cloud.js';

const HOUR_MS = 3_600_000;
const GONE =
  'The record of this service was deleted, and it is not made again: start the service again to register it';

describe('the record of a service that was deleted', () => {
  it('is not made again by its reports; the log says so once, and reminds of it rarely (COMP-18)', async () => {
    const { services } = new MemoryRecords(() => undefined);
    const log = new CapturedLog();
    let nowMs = 0;
    const snapshot = new Service(fakeParts()).snapshot();
    const service = { binary: 'compute', host: 'a', version: 7 };
    const reports = new StateReports({ services, service, logger: log, now: () => nowMs });
    expect(await reports.tell(snapshot)).to.include({ host: 'a', state: 'idle', version: 7 });
    await services.delete('compute', 'a');
    const errors = (): readonly string[] => log.at('error').map(({ message }) => message);
    for (const atMs of [0, 10_000, HOUR_MS - 1]) {
      nowMs = atMs;
      expect(await reports.tell(snapshot)).to.equal(undefined);
    }
    expect(errors()).to.deep.equal([GONE]);
    nowMs = HOUR_MS;
    await reports.tell(snapshot);
    expect(errors()).to.deep.equal([GONE, GONE]);
    expect(await services.list('compute')).to.deep.equal([]);
  });

  it('is there again when the service is started again, and not before: it goes on meanwhile (COMP-18)', async () => {
    const log = new CapturedLog();
    await withCloud({ host: { reportIntervalMs: 10 }, logger: log }, async (test) => {
      const { services } = test.cloud.records;
      await services.delete('compute', SOURCE);
      await until(() => log.at('error').length > 0);
      expect(log.at('error').map(({ message }) => message)).to.deep.equal([GONE]);
      expect(test.cloud.host(SOURCE).process.service.state).to.equal('running');
      expect((await test.cloud.host(SOURCE).terminate()).code).to.equal(0);
      expect((await rejectionOf(services.get('compute', SOURCE))).code).to.equal('ERR_NOT_FOUND');
      await test.cloud.host(SOURCE).start();
      expect(await services.get('compute', SOURCE)).to.include({ state: 'running', reportCount: 1 });
    });
  });
});

describe('the reports of a compute host', () => {
  it('say that it is up before it says so itself (COMP-09)', () =>
    withCloud({}, async (test) => {
      const host = test.cloud.host(SOURCE);
      await host.terminate();
      const order: string[] = [];
      test.cloud.records.events.on('service', ({ host: of, state }) => {
        if (of === SOURCE) order.push(`recorded ${state}`);
      });
      host.events.on('started', ({ service }) => {
        service.events.on('state', ({ state }) => order.push(`is ${state}`));
      });
      await host.start();
      expect(order).to.deep.equal(['is starting', 'recorded running', 'is running']);
    }));

  it('survive whatever goes wrong, log the changes only, and go on (COMP-10)', async () => {
    const log = new CapturedLog();
    await withCloud({ host: { reportIntervalMs: 5 }, logger: log }, async (test) => {
      const { services } = test.cloud.records;
      const report = services.report.bind(services);
      let failures = 0;
      services.report = ({ host, ...rest }) => {
        if (host !== SOURCE || failures === 4) return report({ host, ...rest });
        failures += 1;
        if (failures % 2 === 0) throw new TypeError('cannot read properties of undefined');
        return Promise.reject(new Error('nobody is there'));
      };
      await until(() => failures === 4);
      const { reportCount } = await services.get('compute', SOURCE);
      const before = test.reports(SOURCE);
      await until(() => test.reports(SOURCE) > before + 1);
      expect((await services.get('compute', SOURCE)).reportCount).to.be.above(reportCount);
      const told = log.lines.filter(({ message }) => message.includes('state report'));
      expect(told.map(({ level, message }) => `${level}: ${message}`)).to.deep.equal([
        'warn: The state report fails; it is tried again',
        'info: The state report works again',
      ]);
      expect(test.cloud.host(SOURCE).process.service.state).to.equal('running');
    });
  });
});
