// One process of the soak: plays the role of its argument until SIGTERM, and then ends by itself.
import { notebook } from './records.js';
import { driversFor, heapInUse, type RoleSettings } from './role.js';
import { startRole } from './roles.js';

const settings = JSON.parse(process.argv[2] ?? '') as RoleSettings; // of the process that started this one
const notes = notebook(settings.file);
for (const event of ['unhandledRejection', 'uncaughtException'] as const)
  process.on(event, (error: unknown) => {
    notes.note({ is: 'unhandled', text: error instanceof Error ? String(error.stack) : String(error) });
  });

const role = startRole(settings, await driversFor(settings.url), notes);
const heap = setInterval(() => {
  notes.note({ is: 'heap', bytes: heapInUse() });
}, settings.heapEveryMs);

async function end(): Promise<void> {
  clearInterval(heap);
  await role.end();
  process.off('disconnect', abandoned);
  process.disconnect();
}

async function quiesce(): Promise<void> {
  await role.quiesce();
  notes.note({ is: 'heap', bytes: heapInUse() });
  process.send?.('quiet');
}

function abandoned(): void {
  process.exit(1); // the soak itself is gone
}

void role.ready.then(() => process.send?.('ready'));
process.once('SIGTERM', () => void end());
process.on('message', () => void quiesce()); // there is one thing to be told
process.on('disconnect', abandoned);
process.send?.('there');
