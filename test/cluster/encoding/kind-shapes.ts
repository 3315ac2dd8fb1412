import { always, type FieldShape, optional, repeated } from './message-shape.ts';

const ownerReference = [
  always(1, 'kind'),
  always(3, 'name'),
  always(4, 'uid'),
  always(5, 'apiVersion'),
  optional(6, 'controller', 'bool'),
  optional(7, 'blockOwnerDeletion', 'bool'),
];

const managedFieldsEntry = [
  always(1, 'manager'),
  always(2, 'operation'),
  always(3, 'apiVersion'),
  optional(4, 'time', 'time'),
  always(6, 'fieldsType'),
  optional(7, 'fieldsV1', 'fieldsV1'),
  always(8, 'subresource'),
];

const objectMeta = [
  always(1, 'name'),
  always(2, 'generateName'),
  always(3, 'namespace'),
  always(4, 'selfLink'),
  always(5, 'uid'),
  always(6, 'resourceVersion'),
  always(7, 'generation', 'int'),
  always(8, 'creationTimestamp', 'time'),
  optional(9, 'deletionTimestamp', 'time'),
  optional(10, 'deletionGracePeriodSeconds', 'int'),
  repeated(11, 'labels', 'stringMap'),
  repeated(12, 'annotations', 'stringMap'),
  repeated(13, 'ownerReferences', ownerReference),
  repeated(14, 'finalizers'),
  repeated(17, 'managedFields', managedFieldsEntry),
];

export const listMeta = [
  always(1, 'selfLink'),
  always(2, 'resourceVersion'),
  always(3, 'continue'),
  optional(4, 'remainingItemCount', 'int'),
];

const condition = [
  always(1, 'type'),
  always(2, 'status'),
  always(3, 'observedGeneration', 'int'),
  always(4, 'lastTransitionTime', 'time'),
  always(5, 'reason'),
  always(6, 'message'),
];

const servicePort = [
  always(1, 'name'),
  always(2, 'protocol'),
  always(3, 'port', 'int'),
  always(4, 'targetPort', 'intOrString'),
  always(5, 'nodePort', 'int'),
  optional(6, 'appProtocol'),
];

const portStatus = [always(1, 'port', 'int'), always(2, 'protocol'), optional(3, 'error')];

const service = [
  always(1, 'metadata', objectMeta),
  always(2, 'spec', [
    repeated(1, 'ports', servicePort),
    repeated(2, 'selector', 'stringMap'),
    always(3, 'clusterIP'),
    always(4, 'type'),
    repeated(5, 'externalIPs'),
    always(7, 'sessionAffinity'),
    always(8, 'loadBalancerIP'),
    repeated(9, 'loadBalancerSourceRanges'),
    always(10, 'externalName'),
    always(11, 'externalTrafficPolicy'),
    always(12, 'healthCheckNodePort', 'int'),
    always(13, 'publishNotReadyAddresses', 'bool'),
    optional(14, 'sessionAffinityConfig', [optional(1, 'clientIP', [optional(1, 'timeoutSeconds', 'int')])]),
    optional(17, 'ipFamilyPolicy'),
    repeated(18, 'clusterIPs'),
    repeated(19, 'ipFamilies'),
    optional(20, 'allocateLoadBalancerNodePorts', 'bool'),
    optional(21, 'loadBalancerClass'),
    optional(22, 'internalTrafficPolicy'),
    optional(23, 'trafficDistribution'),
  ]),
  always(3, 'status', [
    always(1, 'loadBalancer', [
      repeated(1, 'ingress', [
        always(1, 'ip'),
        always(2, 'hostname'),
        optional(3, 'ipMode'),
        repeated(4, 'ports', portStatus),
      ]),
    ]),
    repeated(2, 'conditions', condition),
  ]),
];

const objectReference = [
  always(1, 'kind'),
  always(2, 'namespace'),
  always(3, 'name'),
  always(4, 'uid'),
  always(5, 'apiVersion'),
  always(6, 'resourceVersion'),
  always(7, 'fieldPath'),
];

const endpoint = [
  repeated(1, 'addresses'),
  always(2, 'conditions', [
    optional(1, 'ready', 'bool'),
    optional(2, 'serving', 'bool'),
    optional(3, 'terminating', 'bool'),
  ]),
  optional(3, 'hostname'),
  optional(4, 'targetRef', objectReference),
  repeated(5, 'deprecatedTopology', 'stringMap'),
  optional(6, 'nodeName'),
  optional(7, 'zone'),
  optional(8, 'hints', [
    repeated(1, 'forZones', [always(1, 'name')]),
    repeated(2, 'forNodes', [always(1, 'name')]),
  ]),
];

const endpointSlice = [
  always(1, 'metadata', objectMeta),
  repeated(2, 'endpoints', endpoint),
  repeated(3, 'ports', [
    optional(1, 'name'),
    optional(2, 'protocol'),
    optional(3, 'port', 'int'),
    optional(4, 'appProtocol'),
  ]),
  always(4, 'addressType'),
];

const nodeCondition = [
  always(1, 'type'),
  always(2, 'status'),
  always(3, 'lastHeartbeatTime', 'time'),
  always(4, 'lastTransitionTime', 'time'),
  always(5, 'reason'),
  always(6, 'message'),
];

const nodeSystemInfo = [
  always(1, 'machineID'),
  always(2, 'systemUUID'),
  always(3, 'bootID'),
  always(4, 'kernelVersion'),
  always(5, 'osImage'),
  always(6, 'containerRuntimeVersion'),
  always(7, 'kubeletVersion'),
  always(8, 'kubeProxyVersion'),
  always(9, 'operatingSystem'),
  always(10, 'architecture'),
];

const node = [
  always(1, 'metadata', objectMeta),
  always(2, 'spec', [
    always(1, 'podCIDR'),
    always(2, 'externalID'),
    always(3, 'providerID'),
    always(4, 'unschedulable', 'bool'),
    repeated(5, 'taints', [
      always(1, 'key'),
      always(2, 'value'),
      always(3, 'effect'),
      optional(4, 'timeAdded', 'time'),
    ]),
    repeated(7, 'podCIDRs'),
  ]),
  always(3, 'status', [
    repeated(1, 'capacity', 'quantityMap'),
    repeated(2, 'allocatable', 'quantityMap'),
    always(3, 'phase'),
    repeated(4, 'conditions', nodeCondition),
    repeated(5, 'addresses', [always(1, 'type'), always(2, 'address')]),
    always(6, 'daemonEndpoints', [always(1, 'kubeletEndpoint', [always(1, 'Port', 'int')])]),
    always(7, 'nodeInfo', nodeSystemInfo),
    repeated(8, 'images', [repeated(1, 'names'), always(2, 'sizeBytes', 'int')]),
  ]),
];

const serviceCIDR = [
  always(1, 'metadata', objectMeta),
  always(2, 'spec', [repeated(1, 'cidrs')]),
  always(3, 'status', [repeated(1, 'conditions', condition)]),
];

const status = [
  always(1, 'metadata', listMeta),
  always(2, 'status'),
  always(3, 'message'),
  always(4, 'reason'),
  optional(5, 'details', [
    always(1, 'name'),
    always(2, 'group'),
    always(3, 'kind'),
    repeated(4, 'causes', [always(1, 'reason'), always(2, 'message'), always(3, 'field')]),
    always(5, 'retryAfterSeconds', 'int'),
    always(6, 'uid'),
  ]),
  always(6, 'code', 'int'),
];

export interface KindShape {
  readonly apiVersion: string;
  readonly fields: readonly FieldShape[];
}

/** The kinds a Service proxy meets on the wire. */
export const kindShapes = {
  Service: { apiVersion: 'v1', fields: service },
  EndpointSlice: { apiVersion: 'discovery.k8s.io/v1', fields: endpointSlice },
  Node: { apiVersion: 'v1', fields: node },
  ServiceCIDR: { apiVersion: 'networking.k8s.io/v1', fields: serviceCIDR },
  Status: { apiVersion: 'v1', fields: status },
} as const satisfies Record<string, KindShape>;

export type EncodableKind = keyof typeof kindShapes;
