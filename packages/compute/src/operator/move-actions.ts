import { nameOf } from '../objects/instance.js';
import { type Action, textOf } from './actions.js';
import { FLAVOR_WORDS, flavorOf } from './flavors.js';
import { checkHost } from './named.js';
import { OperatorUsageError } from './work.js';

const TO = ['--host <name>', 'where to (default: the scheduler chooses)'] as const;

/** What brings an instance to another host, or has to do with that. */
export const MOVE_ACTIONS: readonly Action[] = [
  {
    name: 'migrate',
    summary: 'Moves it to another host while it is shut down; then confirm or revert.',
    options: [TO],
    doing: 'is being moved',
    ending: { states: ['resized'], move: 'finished' },
    isMove: true,
    ask: async ({ api, context, uuid, given }) => {
      const host = textOf(given, 'host');
      if (host !== undefined) await checkHost(api, host, '--host: ');
      await api.moves.migrate(context, uuid, host ?? null);
      return undefined;
    },
  },
  {
    name: 'live-migrate',
    summary: 'Moves it to another host while it runs.',
    options: [TO],
    doing: 'is being moved',
    ending: { states: ['active', 'paused'], move: 'completed' },
    isMove: true,
    ask: async ({ api, context, uuid, given }) => {
      const host = textOf(given, 'host');
      if (host !== undefined) await checkHost(api, host, '--host: ');
      await api.servers.liveMigrate(context, uuid, host ?? null);
      return undefined;
    },
  },
  {
    name: 'abort',
    summary: 'Takes a live migration back whose guest has not left yet.',
    doing: 'is to stay',
    ending: { states: ['active', 'paused'], move: 'cancelled' },
    ask: async ({ api, context, uuid }) => {
      await api.actions.abortLiveMigration(context, uuid);
      return undefined;
    },
  },
  {
    name: 'force-complete',
    summary: 'Ends a live migration that copies and copies: the guest stands still for the rest.',
    doing: 'is to leave now',
    ending: { states: ['active', 'paused'], move: 'completed' },
    ask: async ({ api, context, uuid }) => {
      await api.actions.forceCompleteLiveMigration(context, uuid);
      return undefined;
    },
  },
  {
    name: 'resize',
    summary: 'Gives it another size, on another host; then confirm or revert.',
    options: [['--flavor <size>', FLAVOR_WORDS]],
    doing: 'is being resized',
    ending: { states: ['resized'], move: 'finished' },
    isMove: true,
    ask: async ({ api, context, uuid, given, instance }) => {
      const flavor = flavorOf(textOf(given, 'flavor') ?? '');
      if (flavor.get('id') === instance.find('flavor')?.get('id')) {
        const name = flavor.get('name');
        throw new OperatorUsageError(
          `--flavor is "${name}", which ${nameOf(instance)} has: give another one, or move it with migrate`,
        );
      }
      await api.moves.resize(context, uuid, flavor);
      return undefined;
    },
  },
  {
    name: 'confirm',
    summary: 'After migrate or resize: it stays where it is, in its new size.',
    doing: 'stays',
    ending: { states: ['active', 'stopped'], move: 'confirmed' },
    ask: async ({ api, context, uuid }) => {
      await api.moves.confirmResize(context, uuid);
      return undefined;
    },
  },
  {
    name: 'revert',
    summary: 'After migrate or resize: it becomes again what it was, where it was.',
    doing: 'goes back',
    ending: { states: ['active', 'stopped'], move: 'reverted' },
    ask: async ({ api, context, uuid }) => {
      await api.moves.revertResize(context, uuid);
      return undefined;
    },
  },
  {
    name: 'evacuate',
    summary: 'Makes it anew on another host, since its own is down.',
    options: [TO],
    doing: 'is being made anew',
    ending: { states: ['active', 'stopped'], move: 'done' },
    isMove: true,
    ask: async ({ api, context, uuid, given }) => {
      const host = textOf(given, 'host');
      if (host !== undefined) await checkHost(api, host, '--host: ');
      await api.rebuilds.evacuate(context, uuid, host ?? null);
      return undefined;
    },
  },
];
