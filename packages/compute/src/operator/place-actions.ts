import { type Action, textOf } from './actions.js';

/** What is done to an instance where it is. */
export const PLACE_ACTIONS: readonly Action[] = [
  {
    name: 'start',
    summary: 'Starts it when it is stopped.',
    doing: 'starts',
    ending: { states: ['active'] },
    ask: async ({ api, context, uuid }) => {
      await api.actions.start(context, uuid);
      return undefined;
    },
  },
  {
    name: 'stop',
    summary: 'Shuts its guest down.',
    options: [['--now', 'without asking the guest first']],
    doing: 'stops',
    ending: { states: ['stopped'] },
    ask: async ({ api, context, uuid, given }) => {
      await api.actions.stop(context, uuid, { clean: given['now'] !== true });
      return undefined;
    },
  },
  {
    name: 'reboot',
    summary: 'Reboots it.',
    options: [['--hard', 'switches it off and on; mends one in ERROR']],
    doing: 'reboots',
    ending: { states: ['active'] },
    ask: async ({ api, context, uuid, given }) => {
      await api.actions.reboot(context, uuid, given['hard'] === true ? 'hard' : 'soft');
      return undefined;
    },
  },
  {
    name: 'rebuild',
    summary: 'Makes it anew on its host.',
    options: [['--image <id>', 'of which image (default: the one that it has)']],
    doing: 'is being made anew',
    ending: { states: ['active', 'stopped'] },
    ask: async ({ api, context, uuid, given }) => {
      await api.rebuilds.rebuild(context, uuid, textOf(given, 'image') ?? null);
      return undefined;
    },
  },
  {
    name: 'snapshot',
    summary: 'Makes an image of it.',
    doing: 'is being copied',
    ending: { states: ['active', 'stopped', 'paused'] },
    ask: async ({ api, context, uuid }) => `image ${await api.actions.snapshot(context, uuid)}`,
  },
  {
    name: 'delete',
    summary: 'Deletes it, whatever is being done to it.',
    doing: 'is being deleted',
    ending: { states: ['deleted'] },
    ask: async ({ api, context, uuid }) => {
      await api.actions.delete(context, uuid);
      return undefined;
    },
  },
];
