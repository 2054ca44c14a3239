import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for one user, removed at the latest when this process exits. */
export interface PrivateFolder {
  readonly path: string;
  remove(): Promise<void>;
}

const OPTIONS = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const;
const live = new Set<string>();

function removeAll(): void {
  for (const path of live) rmSync(path, OPTIONS);
}

/** @param label - a word in the folder's name, for who finds it while it is there */
export async function privateFolder(label: string): Promise<PrivateFolder> {
  const path = await mkdtemp(join(tmpdir(), `ebbgate-${label}-`));
  if (live.size === 0) process.on('exit', removeAll);
  live.add(path);
  return {
    path,
    async remove() {
      await rm(path, OPTIONS);
      live.delete(path);
      if (live.size === 0) process.off('exit', removeAll);
    },
  };
}
