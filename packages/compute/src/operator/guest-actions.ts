import { randomBytes } from 'node:crypto';
import type { PlainControl } from '../api/guest-controls.js';
import type { VmState } from '../objects/states.js';
import { type Action, textOf } from './actions.js';
import { OperatorUsageError } from './work.js';

const plain = (name: PlainControl, summary: string, doing: string, end: VmState): Action => ({
  name,
  summary,
  doing,
  ending: { states: [end] },
  ask: async ({ api, context, uuid }) => {
    await api.controls.ask(context, uuid, name);
    return undefined;
  },
});

/** What is done to an instance to hold it, to mend it, to put it away, or to give it something. */
export const GUEST_ACTIONS: readonly Action[] = [
  plain('pause', 'Its guest stands still, and keeps its memory.', 'is being paused', 'paused'),
  plain('unpause', 'Its guest goes on.', 'goes on', 'active'),
  plain('suspend', 'Its memory goes to disk, and its guest ends.', 'is being suspended', 'suspended'),
  plain(
    'resume',
    'Its guest goes on with the memory that it had when it was suspended.',
    'goes on',
    'active',
  ),
  {
    name: 'rescue',
    summary: 'Starts it from another disk, with its own beside it, to be mended.',
    options: [['--image <id>', 'of which image (default: the one that it was made of)']],
    doing: 'is being rescued',
    ending: { states: ['rescued'] },
    ask: async ({ api, context, uuid, given }) => {
      await api.controls.rescue(context, uuid, textOf(given, 'image') ?? null);
      return undefined;
    },
  },
  plain('unrescue', 'Starts it from its own disk again.', 'is being started as usual', 'active'),
  {
    name: 'shelve',
    summary: 'Makes an image of it, and frees its host.',
    doing: 'is being shelved',
    ending: { states: ['shelved', 'shelved_offloaded'] },
    ask: async ({ api, context, uuid }) => {
      const image = await api.controls.shelve(context, uuid);
      return image === null ? undefined : `image ${image}`;
    },
  },
  {
    name: 'shelve-offload',
    summary: 'Frees the host of one that is shelved there.',
    doing: 'is leaving its host',
    ending: { states: ['shelved_offloaded'] },
    ask: async ({ api, context, uuid }) => {
      await api.controls.shelveOffload(context, uuid);
      return undefined;
    },
  },
  {
    name: 'unshelve',
    summary: 'Brings a shelved one back, on its host or on another.',
    doing: 'is being brought back',
    ending: { states: ['active'] },
    ask: async ({ api, context, uuid }) => {
      await api.controls.unshelve(context, uuid);
      return undefined;
    },
  },
  {
    name: 'set-password',
    summary: 'Gives its administrator a new password, which is made up here and told.',
    doing: 'has another password',
    ending: { states: ['active'] },
    ask: async ({ api, context, uuid }) => {
      const password = randomBytes(12).toString('base64url');
      await api.controls.setPassword(context, uuid, password);
      return password;
    },
  },
  {
    name: 'crash-dump',
    summary: 'Has its system dump its memory.',
    doing: 'is to dump its memory',
    ending: { states: ['active', 'paused', 'rescued', 'resized', 'error'] },
    ask: async ({ api, context, uuid }) => {
      await api.controls.crashDump(context, uuid);
      return undefined;
    },
  },
  {
    name: 'add-volume',
    summary: 'Gives it a volume.',
    options: [
      ['--volume <id>', 'which volume; needed'],
      ['--device <path>', 'the name that it gets, as /dev/vdb (default: the first that is free)'],
    ],
    doing: 'gets a volume',
    ending: { states: ['active', 'paused', 'stopped', 'resized'] },
    ask: async ({ api, context, uuid, given }) => {
      const volume = textOf(given, 'volume');
      if (volume === undefined) throw new OperatorUsageError('--volume must be given: the id of a volume');
      return api.controls.addVolume(context, uuid, volume, textOf(given, 'device') ?? null);
    },
  },
];
