import { defineEvents, type EventCatalogue, type Events } from '@ebbgate/notify';
import { API_ACTIONS, CONDUCTOR_TASKS, FAILING_ACTIONS, INSTANCE_ACTIONS } from './compute-event.js';
import {
  PLAIN_SCHEMA,
  schemaOfAction,
  SERVICE_SCHEMA,
  STATE_SCHEMA,
  TASK_SCHEMA,
} from './payload-schemas.js';

const SERVICES: Events = {
  'service.create': { payload: SERVICE_SCHEMA, description: 'A service has registered for the first time' },
  'service.update': {
    payload: SERVICE_SCHEMA,
    description: 'A service was enabled, disabled, forced down or called up; no heartbeat is told',
  },
  'service.delete': { payload: SERVICE_SCHEMA, description: 'The record of a service was deleted' },
};

const PHASES = [
  ['start', 'begins'],
  ['end', 'has ended'],
] as const;

const ACTIONS: Events = Object.fromEntries(
  INSTANCE_ACTIONS.flatMap((action) =>
    PHASES.map(([phase, words]) => [
      `instance.${action}.${phase}`,
      { payload: schemaOfAction(action), description: `${action} of an instance ${words}` },
    ]),
  ),
);

const FAILURES: Events = Object.fromEntries(
  FAILING_ACTIONS.map((action) => [
    `instance.${action}.error`,
    {
      payload: schemaOfAction(action),
      priorities: ['error'],
      description: `${action} of an instance has failed`,
    },
  ]),
);

const ASKED: Events = Object.fromEntries(
  API_ACTIONS.map((action) => [
    `instance.${action}`,
    { payload: PLAIN_SCHEMA, description: `An API was asked for ${action} of an instance` },
  ]),
);

const TASKS: Events = Object.fromEntries(
  CONDUCTOR_TASKS.map((task) => [
    `compute_task.${task}.error`,
    { payload: TASK_SCHEMA, priorities: ['error'], description: `A conductor could not do ${task}` },
  ]),
);

/** All that the compute service tells, in Nova's versioned form. */
export const COMPUTE_EVENTS: EventCatalogue = defineEvents<Events>({
  ...SERVICES,
  'instance.update': {
    payload: STATE_SCHEMA,
    description: 'What an instance is, or what is being done to it, has changed; only when that is asked for',
  },
  ...ASKED,
  ...ACTIONS,
  ...FAILURES,
  ...TASKS,
});
