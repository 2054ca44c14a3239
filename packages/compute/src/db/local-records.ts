import type { CellRepository } from './cells.js';
import type { InstanceMappings } from './instance-mappings.js';
import type { NetworkStore } from './network-store.js';
import type { WatchedRecords } from './record-watch.js';

/** The records as those processes have them that have the database. `events` tells of the writes of this process. */
export interface LocalRecords extends WatchedRecords {
  /** The cells that there are; never served to others, as their URLs hold passwords. */
  readonly cells: CellRepository;
  /** In which cell each instance is: those of the API's database count. */
  readonly mappings: InstanceMappings;
  /** What the fake network service knows. */
  readonly networks: NetworkStore;
  /** Closes the database. Afterwards everything rejects with DatabaseError (`ERR_DATABASE`). */
  close(): Promise<void>;
}
