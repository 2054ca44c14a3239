export type { ActionParts } from './api/action-parts.js';
export { InstanceActions } from './api/actions.js';
export { GuestControls, type PlainControl } from './api/guest-controls.js';
export { type EvacuationWishes, Rebuilds, type RebuildWishes } from './api/rebuilds.js';
export { ExternalEvents } from './api/external-events.js';
export { Moves } from './api/moves.js';
export { CellRouter } from './api/cell-router.js';
export { type BootRequest, Servers, type ServersParts } from './api/servers.js';
export {
  type CellAccess,
  CellRegistry,
  type CellRegistryOptions,
  type CellSource,
  type ConductorCells,
  type ImageRemoval,
} from './cells/cell-access.js';
export type { AllocationRatios } from './compute/capacity-report.js';
export { ComputeHost, type ComputeHostEvents } from './compute/compute-host.js';
export type { ForcedDownStart } from './compute/fence.js';
export type { CompleteHostOptions, ComputeHostOptions } from './compute/host-options.js';
export type { HostProcess } from './compute/host-process.js';
export type { ComputeLimits } from './compute/manager.js';
export {
  FileJournal,
  type JournalChange,
  type JournalEntry,
  MemoryJournal,
  type RequestJournal,
} from './compute/request-journal.js';
export {
  type ConductorService,
  conductorService,
  type ConductorServiceOptions,
} from './conductor/conductor-service.js';
export { Cell, type CellRepository } from './db/cells.js';
export type { InstanceMappings } from './db/instance-mappings.js';
export type { LocalRecords } from './db/local-records.js';
export { MemoryRecords, type RecordEvents } from './db/memory-records.js';
export type { Identified, MemoryRepository, OnChange } from './db/memory-repository.js';
export type { NetworkState, NetworkStore } from './db/network-store.js';
export { openRecords, type OpenRecordsOptions } from './db/open-records.js';
export type { WatchedRecords } from './db/record-watch.js';
export { RemoteRecords, type RemoteRecordsOptions } from './db/remote-records.js';
export type {
  Allocation,
  AllocationRepository,
  Expected,
  ForcedDownNote,
  HostCapacity,
  InstanceRepository,
  MigrationRepository,
  Records,
  Repository,
  Resources,
  ServiceChanges,
  ServiceFilter,
  ServiceRecord,
  ServiceReport,
  ServiceRepository,
} from './db/repositories.js';
export {
  DatabaseError,
  FencedError,
  ExternalEventError,
  FieldUnsetError,
  HostDownError,
  HypervisorError,
  MigrationPreCheckError,
  NoValidHostError,
  ObjectFormatError,
  OperationAbortedError,
  RecordNotFoundError,
  RolledBackError,
  ResourcesUnavailableError,
  UnexpectedStateError,
} from './errors.js';
export { FakeNetworking, type FakeNetworkingOptions } from './network/fake.js';
export type { DirectedNetworking, Networking, PortedNetworking } from './network/networking.js';
export { RemoteNetworking } from './network/remote.js';
export {
  type ActionPhase,
  API_ACTIONS,
  type ApiEvent,
  CONDUCTOR_TASKS,
  type Emit,
  INSTANCE_ACTIONS,
  type InstanceAction,
  type InstanceEvent,
  type StateEvent,
  type TaskEvent,
} from './notifications/compute-event.js';
export { COMPUTE_EVENTS } from './notifications/compute-catalogue.js';
export { NOTIFICATION_TOPIC } from './notifications/notification-topic.js';
export type { Notification } from './notifications/notification.js';
export type { NotificationSink, OutboxOptions } from './notifications/notification-outbox.js';
export {
  NO_NOTIFICATIONS,
  type Notifications,
  STATE_CHANGES,
  type StateChanges,
  versionedNotifications,
} from './notifications/notifications.js';
export type { VersionedPayload } from './notifications/versioned-payload.js';
export {
  BlockDeviceMapping,
  type BlockDeviceMappingFields,
  BlockDeviceMappingList,
  type BlockDeviceMappingListFields,
} from './objects/block-device.js';
export { decodeObjects, encodeObjects } from './objects/codec.js';
export type { ObjectDefinition } from './objects/definition.js';
export { InstanceExternalEvent, type InstanceExternalEventFields } from './objects/external-event.js';
export { Flavor, type FlavorFields } from './objects/flavor.js';
export { ImageMeta, type ImageMetaFields, ImageMetaProps } from './objects/image-meta.js';
export { Instance, type InstanceFields } from './objects/instance.js';
export { InstanceFault, type InstanceFaultFields } from './objects/instance-fault.js';
export { LibvirtLiveMigrateData, type LibvirtLiveMigrateDataFields } from './objects/migrate-data.js';
export { MigrationContext, type MigrationContextFields } from './objects/migration-context.js';
export { Migration, type MigrationFields } from './objects/migration.js';
export {
  NetworkRequest,
  type NetworkRequestFields,
  NetworkRequestList,
  type NetworkRequestListFields,
} from './objects/network-request.js';
export { type FieldName, NovaObject, type ObjectIdentity } from './objects/nova-object.js';
export { Destination, type DestinationFields } from './objects/destination.js';
export { InstanceGroup, type InstanceGroupFields } from './objects/instance-group.js';
export { type SelectionFields, SelectionObject } from './objects/selection.js';
export { ShareMapping, type ShareMappingFields } from './objects/share-mapping.js';
export { RequestSpec, type RequestSpecFields, SchedulerLimits } from './objects/request-spec.js';
export type { MigrationStatus, TaskState, VmState } from './objects/states.js';
export { ComputeApi, type ComputeApiOptions } from './rpc/compute-api.js';
export { ConductorApi } from './rpc/conductor-api.js';
export { CONDUCTOR_METHODS, type ConductorMethods } from './rpc/conductor-methods.js';
export type { Dictionary, Kind, KindName, KindType, KindTypes } from './rpc/kinds.js';
export {
  type ArgsOf,
  type CallMethod,
  type CastMethod,
  COMPUTE_METHODS,
  type ComputeMethods,
  type MethodKind,
  type MethodRow,
  type MethodTable,
  type OlderForm,
  type ResultOf,
} from './rpc/methods.js';
export { NAMED_METHODS } from './rpc/named-methods.js';
export { novaContext, type NovaContextOptions } from './rpc/nova-context.js';
export { OTHER_METHODS } from './rpc/other-methods.js';
export type { TopicOptions, TopicOverrides } from './rpc/topic-table.js';
export {
  COMPUTE_RPC_VERSION,
  CONDUCTOR_TOPIC,
  CONTROL_EXCHANGE,
  OPS_CAPABLE_VERSION,
  RECORDS_TOPIC,
  RPC_TOPIC,
  RPC_TOPIC_OPS,
  SCHEDULER_TOPIC,
} from './rpc/topics.js';
export { SCHEDULER_METHODS, type SchedulerMethods } from './rpc/scheduler-methods.js';
export { MAX_BUILD_ATTEMPTS } from './scheduler/build-attempts.js';
export { resourcesOf } from './scheduler/flavor-resources.js';
export { LocalScheduler, type LocalSchedulerOptions } from './scheduler/local-scheduler.js';
export { RemoteScheduler, type RemoteSchedulerOptions } from './scheduler/remote-scheduler.js';
export type { Scheduler, Selection, SelectOptions } from './scheduler/scheduler.js';
export { schedulerService, type SchedulerServiceOptions } from './scheduler/scheduler-service.js';
export type { DrainSight, TaskSight } from './servicegroup/drain-sight.js';
export type {
  ServiceNotification,
  ServiceNotifications,
  ServiceStatusPayload,
} from './servicegroup/service-notifications.js';
export { HostEpoch } from './servicegroup/host-epoch.js';
export { Liveness, type LivenessOptions } from './servicegroup/liveness.js';
export type { VersionCapSources } from './rpc/version-caps.js';
export { COMPUTE_SERVICE_VERSION } from './rpc/version-levels.js';
export type { ConsoleAddress, PowerOffOptions, SnapshotOptions, VirtActions } from './virt/actions.js';
export type {
  CopyProgress,
  DestroyOptions,
  Guest,
  GuestState,
  LiveMigrateOptions,
  MigrationProgress,
  SpawnOptions,
  VirtDriver,
} from './virt/driver.js';
export type { ColdMoves, RestartOptions } from './virt/cold-moves.js';
export { FakeActions, type FakeActionsOptions } from './virt/fake-actions.js';
export type { FakeOrder, FakeOrders, GuestNames } from './virt/fake-orders.js';
export { FakeSnapshotMoves, type FakeSnapshotMovesParts } from './virt/fake-snapshot-moves.js';
export { FakeColdMoves, type FakeColdMovesParts } from './virt/fake-cold-moves.js';
export { FakeGuestControl, type FakeGuestControlParts } from './virt/fake-guest-control.js';
export { FakeVirtDriver, type FakeVirtOptions } from './virt/fake.js';
export type { GuestControl, RescueOptions } from './virt/guest-control.js';
export { HypervisorDirectory } from './virt/hypervisor-directory.js';
export { HypervisorNetwork } from './virt/hypervisor-network.js';
export type { GuestStore, Hypervisors, ImageStore } from './virt/hypervisors.js';
export type { Pause } from './virt/pause.js';
export { type Hold, StepControl, type StepOptions } from './virt/step-control.js';
export type { SnapshotMoves } from './virt/snapshot-moves.js';
export { VIRT_STEPS, type VirtStep } from './virt/virt-steps.js';
export type { WorkOptions } from './virt/work-options.js';
export type { TableClientOptions } from './rpc/table-client.js';
