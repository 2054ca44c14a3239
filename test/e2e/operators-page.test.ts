import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import type { Browser, Page } from 'playwright-core';
import type { HttpParts } from '#compute/http/app.js';
import type { Caller } from '#compute/http/auth.js';
import { overControl } from '#compute/main/control-client.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { openWindow, reads, row, show } from '../support/page-words.js';
import { PALE, TOO_WIDE } from '../support/page-checks.js';
import { launchChromium } from '../support/rigs/chromium.js';
import { eventually } from '../support/rigs/deadline.js';
import { type PageBed, withPage } from '../unit/compute/http-page-bed.js';

const LIMIT_MS = 8_000;

/** What the window complains of. */
const wrong: string[] = [];
let browser: Browser;
let page: Page;

describe('the page for operators, in Chromium', function () {
  this.timeout(60_000);

  before(async () => {
    browser = await launchChromium();
    page = await openWindow(browser, wrong);
  });

  afterEach(async () => {
    await page.goto('about:blank');
    expect(wrong.splice(0)).to.deep.equal([]);
  });

  after(async () => {
    await browser.close();
  });

  describe('on an all-in-one', onAllInOne);
  describe('whatever it has to show', onRecords);
});

function onAllInOne(): void {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  const control = join(folder, 'c.sock');
  let cloud: DaemonProcess;
  let port = 0;

  /** A command of the operator; resolves when it has ended. */
  async function command(...argv: string[]): Promise<void> {
    let said = '';
    const say = (text: string): void => {
      said += text;
    };
    const terminal = { out: say, err: say, screen: undefined, signal: new AbortController().signal };
    expect(await overControl(control, argv, terminal), said).to.equal(0);
  }

  before(async () => {
    const times = ['--boot-ms', '5', '--migration-ms', '1500'];
    const flags = ['--hosts', 'a,b,c', '--listen', '127.0.0.1:0', '--control', control, ...times];
    cloud = new DaemonProcess('', ['all-in-one', '--database', 'memory:', ...flags]);
    await cloud.event(({ kind }) => kind === 'serves');
    const listens = await cloud.event(({ kind }) => kind === 'listens');
    if (listens.kind === 'listens') port = listens.port;
    await command('instance', 'boot', 'vm1', '--host', 'a', '--wait');
  });

  beforeEach(async () => {
    await show(page, port);
    await reads(page.getByRole('status'), /^Live$/);
  });

  after(async () => {
    cloud.child.kill('SIGKILL');
    await cloud.ended;
    rmSync(folder, { recursive: true });
  });

  it('shows hosts and instances, with names and roles for all that there is', async () => {
    expect(await page.title()).to.equal('Ebbgate');
    for (const role of ['banner', 'main', 'status'] as const)
      expect(await page.getByRole(role).count(), role).to.equal(1);
    for (const name of ['What is where', 'Hosts', 'Moves', 'Instances'])
      expect(await page.getByRole('region', { name }).count(), name).to.equal(1);
    expect(await page.getByRole('img', { name: /^3 hosts with 1 instance$/ }).count()).to.equal(1);
    await reads(row(page, 'Hosts', 'a'), /^a\s+(?:nova\s+)?up\s+1\s/);
    const table = page.getByRole('table', { name: 'Hosts' });
    expect(await table.getByRole('columnheader').allInnerTexts()).to.deep.equal([
      ...['Host', 'State', 'Instances', 'vCPUs', 'Memory', 'Actions'],
    ]);
    for (const name of ['Drain a', 'Disable a', 'Force down a'])
      expect(await row(page, 'Hosts', 'a').getByRole('button', { name }).count(), name).to.equal(1);
    await reads(row(page, 'Instances', 'vm1'), /a\s+active/);
    await page.getByLabel('Filter').fill('other');
    await reads(page.getByRole('region', { name: 'Instances' }), /None fits\./);
  });

  it('shows a live migration as an arrow with its progress, and tells its end', async () => {
    const moved = command('instance', 'live-migrate', 'vm1', '--host', 'b', '--wait');
    const bar = page.getByRole('progressbar', { name: 'Move of vm1' });
    const progress = async (): Promise<number> =>
      (await bar.count()) === 0 ? 0 : Number(await bar.getAttribute('value'));
    const began = await eventually('progress', LIMIT_MS, async () => (await progress()) || undefined);
    expect(await page.getByRole('img', { name: /vm1 moves from a to b, \d+ %$/ }).count()).to.equal(1);
    const arrow = page.locator('.arrow');
    expect(await arrow.locator('title').textContent()).to.match(/^vm1: a to b, live, running/);
    expect(await arrow.locator('.label').textContent()).to.match(/^\d+ %$/);
    expect(await arrow.locator('.way').getAttribute('d')).to.match(/^M[\d.]+ [\d.]+C/);
    await eventually('more progress', LIMIT_MS, async () => (await progress()) > began);
    await moved;
    await reads(row(page, 'Instances', 'vm1'), /b\s+active/);
    await reads(page.locator('[aria-live=polite]'), /The move of vm1 is completed\./);
  });

  it('forces a host down once it is confirmed that it is fenced, and clears it (FD-1)', async () => {
    await page.getByRole('button', { name: 'Force down c' }).click();
    const dialog = page.getByRole('dialog', { name: 'Force c down?' });
    const confirm = dialog.getByRole('button', { name: 'Force down' });
    await confirm.click();
    expect(await dialog.locator('input:invalid').count()).to.equal(1);
    await dialog.getByRole('checkbox', { name: 'The machine is fenced' }).check();
    await dialog.getByLabel(/^Reason/).fill('smoke <b>');
    await confirm.click();
    await reads(row(page, 'Hosts', 'c'), /forced down\s+smoke <b> · last heard/);
    expect(await page.getByRole('dialog').count()).to.equal(0);
    await page.getByRole('button', { name: 'Clear c' }).click();
    await page.getByRole('dialog', { name: 'Clear c?' }).getByRole('button', { name: 'Clear' }).click();
    await reads(row(page, 'Hosts', 'c'), /\bup\b/);
  });

  it('shows what a host still does while it drains, and its end (GS-6)', async () => {
    const moved = command('instance', 'live-migrate', 'vm1', '--host', 'a', '--wait');
    await page.locator('.arrow').waitFor();
    await page.getByRole('button', { name: 'Drain b' }).click();
    const dialog = page.getByRole('dialog', { name: 'Drain b?' });
    await dialog.getByLabel(/^Reason/).fill('a new kernel');
    await dialog.getByRole('button', { name: 'Drain' }).click();
    const draining = page.getByRole('region', { name: 'Draining' });
    await reads(
      draining,
      /^Draining\s+b\s+a new kernel · (?:step \S+ · )?\d tasks? left · at most \d min more/,
    );
    await reads(draining.getByRole('table', { name: 'b' }).getByRole('row').nth(1), /^live migration\s+vm1/);
    expect(await draining.getByRole('progressbar', { name: 'live migration of vm1' }).count()).to.equal(1);
    await moved;
    await reads(row(page, 'Hosts', 'b'), /^b\s+down\b/);
    expect(await draining.count()).to.equal(0);
    await reads(row(page, 'Instances', 'vm1'), /a\s+active/);
  });

  it('goes by keyboard alone: to the hosts, into a dialog, out of it, and back where it was', async () => {
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = (): Promise<string> =>
      page
        .locator(':focus')
        .evaluate((one: { readonly textContent: string | null }) => one.textContent ?? '');
    await press('Tab');
    expect(await focused()).to.equal('To the hosts');
    await press('Enter', 'Tab');
    expect(await focused()).to.equal('Drain a');
    await press('Tab', 'Enter');
    await page.getByRole('dialog', { name: 'Disable a?' }).waitFor();
    expect(await focused()).to.equal('Cancel');
    await press('Escape');
    expect(await focused()).to.equal('Disable a');
    await press('Enter', 'Shift+Tab');
    await page.keyboard.type('its fan is loud');
    await press('Enter');
    await reads(row(page, 'Hosts', 'a'), /disabled\s+its fan is loud/);
    await eventually('the focus comes back', LIMIT_MS, async () => (await focused()) === 'Enable a');
    await press('Enter', 'Tab', 'Enter');
    await reads(row(page, 'Hosts', 'a'), /\bup\b/);
  });
}

const HOSTILE = [
  '<img src=x onerror="window.hacked = 1">',
  '__proto__',
  'constructor',
  '"><script>hacked = 1</script>',
  '\u202e\u0000',
  'x'.repeat(255),
  '${hacked = 1}',
];

function onRecords(): void {
  const PLAIN = ['a-host', 'b-host', 'c-host', 'd-host', 'e-host', 'vm1'];

  /** Shows an API in this process, which has all that there can be, by these names. */
  async function shown(
    names: readonly string[],
    work: (api: PageBed) => Promise<void>,
    parts: Partial<HttpParts> = {},
  ): Promise<void> {
    await withPage(async (api) => {
      await api.fill(names);
      await show(page, api.port);
      await work(api);
      await page.goto('about:blank'); // it would tell that the API has ended
    }, parts);
  }

  it('shows names as they are, whatever they look like, and nothing comes of them (SEC-06)', () =>
    shown(HOSTILE, async () => {
      await reads(page.getByRole('status'), /^Live$/);
      const heads = await page.locator('#hosts tbody th .name').allTextContents();
      expect(heads).to.have.members(HOSTILE.slice(0, 5));
      expect(await page.locator('#instances tbody th').allTextContents()).to.have.members([
        HOSTILE[0],
        HOSTILE[6],
      ]);
      expect(await page.locator('main :is(img, script, b)').count()).to.equal(0);
      expect(await page.evaluate('typeof hacked + typeof ({}).vm_state')).to.equal('undefinedundefined');
      expect(
        await page.evaluate(
          `(() => { try { document.body.innerHTML = 'x'; } catch { return 'refused'; } })()`,
        ),
      ).to.equal('refused');
      wrong.splice(0); // Chromium tells of that
    }));

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has enough contrast in every text, ${colorScheme}`, () =>
      shown(PLAIN, async () => {
        await page.emulateMedia({ colorScheme });
        await reads(page.getByRole('region', { name: 'Draining' }), /b-host/);
        await page.getByRole('button', { name: 'Force down a-host' }).click();
        expect(await page.getByRole('dialog').count()).to.equal(1);
        expect(await page.evaluate(PALE)).to.deep.equal([]);
      }));
  }

  it('fits 320 pixels, rows as cards that are rows all the same, and keeps still for who wants that', () =>
    shown(PLAIN, async () => {
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await page.setViewportSize({ width: 320, height: 640 });
      await reads(page.getByRole('region', { name: 'Draining' }), /b-host/);
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(320);
      expect(await page.evaluate(TOO_WIDE)).to.deep.equal([]);
      expect(await page.getByRole('table', { name: 'Hosts' }).getByRole('row').count()).to.equal(6);
      await reads(row(page, 'Hosts', 'c-host').getByRole('cell').first(), /disabled/);
      const button = await page.getByRole('button', { name: 'Drain a-host' }).boundingBox();
      expect(button?.height).to.be.at.least(24);
      expect(
        await page.evaluate("getComputedStyle(document.querySelector('.arrow .done')).transition"),
      ).to.match(/^none|0s/);
      await page.getByRole('button', { name: 'Disable a-host' }).click();
      expect(await page.evaluate(TOO_WIDE)).to.deep.equal([]);
    }));

  it('asks for a token where one is needed, changes something with it, and forgets it (SEC-04)', () => {
    const ann = { userId: 'ann', projectId: null, roles: ['admin'] };
    const validate = (token: string | undefined): Caller | undefined =>
      token === 'token-of-ann' ? ann : undefined;
    return shown(
      PLAIN,
      async ({ bed }) => {
        const form = page.getByRole('region', { name: 'Sign in' });
        await form.getByLabel('Token').fill('another');
        await page.keyboard.press('Enter');
        await reads(form.getByRole('alert'), /This token is not valid/);
        expect(await page.getByRole('table').count()).to.equal(0);
        await form.getByLabel('Token').fill('token-of-ann');
        await form.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('button', { name: 'Disable a-host' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
        await reads(row(page, 'Hosts', 'a-host'), /disabled/);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await reads(page.getByRole('status'), /^Signed out$/);
        expect(await page.context().cookies()).to.deep.equal([]);
        bed.app.refuseNewWork();
        wrong.splice(0); // Chromium tells of each 401
      },
      { validator: { isOpen: false, validate } },
    );
  });

  it('says so when the API ends', () =>
    shown(PLAIN, async ({ bed }) => {
      await reads(page.getByRole('status'), /^Live$/);
      bed.app.refuseNewWork();
      await reads(page.getByRole('status'), /^Connection lost, trying again …$/);
      wrong.splice(0); // Chromium tells of it, too
    }));
}
