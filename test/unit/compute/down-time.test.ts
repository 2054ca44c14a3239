import { silentLogger } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { downTimeOf, withDownTime } from '#compute/main/down-time.js';
import { CapturedLog } from '../../support/captured-log.js';

describe('when a service is down', () => {
  it('is after 60 seconds, or what is given, if that is longer than from one report to the next; else after two and a half of these, with a warning (FD-30)', () => {
    expect(downTimeOf({ reportInterval: 10, serviceDownTime: 60 })).to.equal(60);
    expect(downTimeOf({ reportInterval: 10, serviceDownTime: 11 })).to.equal(11);
    expect(downTimeOf({ reportInterval: 10, serviceDownTime: 10 })).to.equal(25);
    expect(downTimeOf({ reportInterval: 61, serviceDownTime: 60 })).to.equal(152); // as upstream: a whole number
    const log = new CapturedLog();
    expect(withDownTime({ reportInterval: 30, serviceDownTime: 20 }, log).serviceDownTime).to.equal(75);
    expect(log.at('warn').map(({ fields }) => fields)).to.deep.equal([
      { reportInterval: 30, given: 20, serviceDownTime: 75 },
    ]);
    const well = { reportInterval: 30, serviceDownTime: 60 };
    expect(withDownTime(well, silentLogger)).to.equal(well);
  });
});
