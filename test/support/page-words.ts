import type { Browser, Locator, Page } from 'playwright-core';
import { eventually } from './rigs/deadline.js';

const LIMIT_MS = 8_000;

/** A window of a browser; what goes wrong in it is added to `wrong`. */
export async function openWindow(browser: Browser, wrong: string[]): Promise<Page> {
  const page = await browser.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
  });
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') wrong.push(`asked for ${request.url()}`);
  });
  return page;
}

/** Shows the page for operators of the API at this port. */
export async function show(page: Page, port: number): Promise<void> {
  await page.setViewportSize({ width: 1100, height: 800 });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
  await page.goto(`http://127.0.0.1:${port}/`);
}

/** The row of a table that begins with this name. */
export function row(page: Page, table: string, name: string): Locator {
  const rows = page.getByRole('table', { name: table }).getByRole('row');
  return rows.filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${name}\\b`) }) });
}

/** Resolves when the text of what is found is like this. @throws Error that says what it is */
export async function reads(what: Locator, pattern: RegExp): Promise<void> {
  let text = '';
  await eventually(`${String(pattern)} in the page`, LIMIT_MS, async () => {
    text = (await what.count()) === 0 ? '' : await what.first().innerText();
    return pattern.test(text);
  }).catch((error: unknown) => {
    throw new Error(`It reads ${JSON.stringify(text)}`, { cause: error });
  });
}
