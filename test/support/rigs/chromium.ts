import { type Browser, chromium } from 'playwright-core';
import { ensurePackages } from './debian.js';

/** Debian's browser, without a window. */
export async function launchChromium(): Promise<Browser> {
  await ensurePackages(['chromium']);
  return chromium.launch({ executablePath: '/usr/bin/chromium' });
}
