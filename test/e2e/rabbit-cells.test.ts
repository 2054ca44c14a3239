import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { TwoCells } from '../support/two-cells.js';

const rabbit = await sharedRabbit();

describe('two cells on RabbitMQ, each service a process', function () {
  this.timeout(120_000);
  let site: TwoCells;

  before(async () => {
    site = await TwoCells.start(await Promise.all([rabbit.vhost(), rabbit.vhost()]));
  });

  after(() => site.dispose());

  it('are told without their passwords (SEC-06)', async () => {
    const told = await site.all.ok('cell', 'list');
    expect(told).to.match(/^CELL .*\ncell1 +rabbit:\/\/[^:]+:\*\*\*@.*\ncell2 /);
    const passwords = site.urls.map((url) => new URL(url).password);
    for (const password of passwords) expect(told).to.not.contain(password);
  });

  it('move an instance from one to the other, where it is confirmed (GS-52, GS-57, GS-66)', async () => {
    const uuid = await site.boot('vm1');
    const resized = await site.all.ok('instance', 'resize', 'vm1', '--flavor', 'm1.medium', '--wait');
    expect(resized).to.contain('vm1: migration a -> b finished\n');
    expect(await site.list(site.all)).to.deep.equal(['vm1 resized null b']); // once, and not in both
    expect(await site.list(site.first)).to.deep.equal([]);
    expect(site.machines.locate(uuid)).to.deep.equal(['b']);
    await site.all.ok('instance', 'confirm', 'vm1', '--wait');
    expect(site.machines.storeOf('a').kept()).to.deep.equal([]);
    expect(site.machines.images.list()).to.deep.equal([]);
  });

  it('work on, and with each other, when one of the two conductors of a cell is stopped (GS-23)', async () => {
    const stopped = site.daemons.get('c1');
    stopped?.child.kill('SIGTERM');
    expect(await stopped?.ended, stopped?.log).to.deep.equal({ code: 0, signal: null });
    const uuid = await site.boot('vm2');
    await site.all.ok('instance', 'resize', 'vm2', '--flavor', 'm1.medium', '--wait');
    expect(site.machines.locate(uuid)).to.deep.equal(['b']);
    await site.all.ok('instance', 'revert', 'vm2', '--wait');
    expect(await site.list(site.all)).to.deep.equal(['vm1 active null b', 'vm2 active null a']);
    expect(site.machines.locate(uuid)).to.deep.equal(['a']);
  });
});
