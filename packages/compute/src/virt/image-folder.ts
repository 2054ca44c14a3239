import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HypervisorError } from '../errors.js';
import type { ImageStore } from './hypervisors.js';

/** Images as empty files in a folder that all hosts share; it is made with the first of them. */
export class ImageFolder implements ImageStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  has(imageId: string): boolean {
    return existsSync(this.#file(imageId));
  }

  /** @throws HypervisorError (`ERR_HYPERVISOR`) for an id that could not be a file's name */
  add(imageId: string): void {
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(this.#file(imageId), '');
  }

  remove(imageId: string): void {
    rmSync(this.#file(imageId), { force: true });
  }

  list(): readonly string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder).sort() : [];
  }

  /** Ids come from the wire: none of them may lead out of the folder. */
  #file(imageId: string): string {
    if (/^[\w-]{1,64}$/.test(imageId)) return join(this.#folder, imageId);
    throw new HypervisorError('The id of an image must be letters, digits and characters of _ -');
  }
}
