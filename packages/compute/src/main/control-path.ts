import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';

/** Given as the path: there is to be no socket. */
export const NO_CONTROL = 'none';

const RIGHTS_OF_OTHERS = 0o077;

/** Where an all-in-one listens for its operator, unless another path is given: in a folder of this user alone. */
export function defaultControlPath(): string {
  const runtime = process.env['XDG_RUNTIME_DIR'];
  if (runtime !== undefined && runtime !== '') return join(runtime, 'ebbgate-compute.sock');
  return join(tmpdir(), `ebbgate-compute-${process.getuid?.() ?? 'user'}`, 'control.sock');
}

/**
 * Makes the folder of the socket, when it is not there.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when the default one is not this user's alone: others could pretend to
 * be the cloud, or its operator
 */
export function prepareFolder(path: string): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (path !== defaultControlPath()) return;
  const { uid, mode } = lstatSync(folder);
  if (uid === process.getuid?.() && (mode & RIGHTS_OF_OTHERS) !== 0) chmodSync(folder, 0o700);
  else if (uid !== process.getuid?.()) {
    throw new ConfigurationError(
      `${folder} belongs to another user: give --control another path, or "${NO_CONTROL}"`,
    );
  }
}
