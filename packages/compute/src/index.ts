export { ExternalEvents } from './api/external-events.js';
export { type BootRequest, Servers } from './api/servers.js';
export { ComputeHost, type ComputeHostEvents } from './compute/compute-host.js';
export type { CompleteHostOptions, ComputeHostOptions } from './compute/host-options.js';
export type { HostProcess } from './compute/host-process.js';
export type { ComputeLimits } from './compute/manager.js';
export { Conductor, type ConductorOptions } from './conductor/conductor.js';
export {
  type ConductorService,
  conductorService,
  type ConductorServiceOptions,
} from './conductor/conductor-service.js';
export { MemoryRecords, type RecordEvents } from './db/memory-records.js';
export type { Identified, MemoryRepository, OnChange } from './db/memory-repository.js';
export { RemoteRecords, type RemoteRecordsOptions } from './db/remote-records.js';
export type {
  Expected,
  InstanceRepository,
  MigrationRepository,
  Records,
  Repository,
  ServiceRecord,
  ServiceRepository,
} from './db/repositories.js';
export {
  ExternalEventError,
  FieldUnsetError,
  HypervisorError,
  MigrationPreCheckError,
  NoValidHostError,
  ObjectFormatError,
  OperationAbortedError,
  RecordNotFoundError,
  UnexpectedStateError,
} from './errors.js';
export { FakeNetworking, type FakeNetworkingOptions } from './network/fake.js';
export type { Networking } from './network/networking.js';
export { RemoteNetworking } from './network/remote.js';
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
export { LibvirtLiveMigrateData, type LibvirtLiveMigrateDataFields } from './objects/migrate-data.js';
export { Migration, type MigrationFields } from './objects/migration.js';
export {
  NetworkRequest,
  type NetworkRequestFields,
  NetworkRequestList,
  type NetworkRequestListFields,
} from './objects/network-request.js';
export { type FieldName, NovaObject, type ObjectIdentity } from './objects/nova-object.js';
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
export { OTHER_METHODS } from './rpc/other-methods.js';
export {
  COMPUTE_RPC_VERSION,
  CONDUCTOR_TOPIC,
  CONTROL_EXCHANGE,
  OPS_CAPABLE_VERSION,
  RECORDS_TOPIC,
  RPC_TOPIC,
  RPC_TOPIC_OPS,
} from './rpc/topics.js';
export type {
  Guest,
  GuestState,
  LiveMigrateOptions,
  MemoryProgress,
  SpawnOptions,
  VirtDriver,
  WorkOptions,
} from './virt/driver.js';
export { FakeVirtDriver, type FakeVirtOptions } from './virt/fake.js';
export { HypervisorDirectory } from './virt/hypervisor-directory.js';
export { HypervisorNetwork } from './virt/hypervisor-network.js';
export type { GuestStore, Hypervisors } from './virt/hypervisors.js';
export type { Pause } from './virt/pause.js';
export { type Hold, StepControl, type VirtStep } from './virt/step-control.js';
