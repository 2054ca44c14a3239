import { asyncApiOf, type DescribedMethod, eventsOf } from '@ebbgate/notify';
import { COMPUTE_EVENTS } from '../notifications/compute-catalogue.js';
import { NOTIFICATION_TOPIC } from '../notifications/notification-topic.js';
import { CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE } from '../rpc/conductor-methods.js';
import { HOST_METHODS, HOST_NAMESPACE } from '../rpc/host-methods.js';
import { argsSchema, kindSchema, OBJECT_SCHEMAS } from '../rpc/kind-schemas.js';
import { COMPUTE_METHODS, type MethodTable } from '../rpc/methods.js';
import { OBJECT_METHODS } from '../rpc/object-methods.js';
import { SCHEDULER_METHODS } from '../rpc/scheduler-methods.js';
import { type TopicTable, topicOf, topicTable } from '../rpc/topic-table.js';
import { COMPUTE_RPC_VERSION, CONDUCTOR_TOPIC, SCHEDULER_TOPIC } from '../rpc/topics.js';

const DESCRIPTION = `After OpenStack Nova. Requests and notifications are in the envelope of oslo.messaging. A request to one
host goes to the queue \`TOPIC.HOST\`, to any server to \`TOPIC\`.`;

/** The AsyncAPI description of the RPC interface and the notifications. @param topics - as configured; default: as the table has them */
export function asyncApiDescription(topics: TopicTable = topicTable()): string {
  const document = asyncApiOf({
    title: 'Ebbgate compute service',
    version: COMPUTE_RPC_VERSION,
    description: DESCRIPTION.replaceAll('\n', ' '),
    methods: [
      ...rows(COMPUTE_METHODS, undefined, (name) => topicOf(topics, name)),
      ...rows(HOST_METHODS, HOST_NAMESPACE, () => topics.opsTopic),
      ...rows(CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE, () => CONDUCTOR_TOPIC),
      ...rows(OBJECT_METHODS, undefined, () => CONDUCTOR_TOPIC),
      ...rows(SCHEDULER_METHODS, undefined, () => SCHEDULER_TOPIC),
    ],
    events: eventsOf(COMPUTE_EVENTS, NOTIFICATION_TOPIC),
    schemas: OBJECT_SCHEMAS,
  });
  return `${JSON.stringify(document, null, 2)}\n`;
}

function rows(
  table: MethodTable,
  namespace: string | undefined,
  topicFor: (name: string) => string,
): readonly DescribedMethod[] {
  return Object.entries(table).map(([name, row]) => ({
    name,
    topic: topicFor(name),
    namespace,
    version: row.version,
    kind: row.kind === 'cast' ? 'cast' : 'call',
    args: argsSchema(row.args),
    result: kindSchema(row.returns),
    summary: `${row.route}; since ${row.since}`,
  }));
}
