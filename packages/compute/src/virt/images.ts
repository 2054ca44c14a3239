import type { StepControl } from './step-control.js';
import type { WorkOptions } from './work-options.js';

/** The images that a host keeps at hand for new instances. */
export interface ImageCache {
  /**
   * Fetches one; resolves with whether it had to be, false when it was there already. Rejects with HypervisorError
   * (`ERR_HYPERVISOR`) when it cannot be fetched.
   */
  cache(imageId: string, options?: WorkOptions): Promise<boolean>;
}

/** Images by name alone: there is nothing to fetch but the step `cache-image`, which is taken for each that is new. */
export class FakeImages implements ImageCache {
  readonly #steps: StepControl;
  readonly #cached = new Set<string>();

  constructor(steps: StepControl) {
    this.#steps = steps;
  }

  /** Remembers the image, as long as this object lives. */
  async cache(imageId: string, { signal }: WorkOptions = {}): Promise<boolean> {
    if (this.#cached.has(imageId)) return false;
    await this.#steps.take('cache-image', 0, { signal });
    this.#cached.add(imageId);
    return true;
  }
}
