import type { EndpointSlice } from './endpoint-slice.ts';
import { endpointSliceFromJson } from './json/endpoint-slice-from-json.ts';
import { nodeFromJson } from './json/node-from-json.ts';
import { serviceCIDRFromJson } from './json/service-cidr-from-json.ts';
import { serviceFromJson } from './json/service-from-json.ts';
import type { KindDecoder } from './kind-decoder.ts';
import type { Node } from './node.ts';
import { decodeEndpointSlice } from './protobuf/decode-endpoint-slice.ts';
import { decodeNode } from './protobuf/decode-node.ts';
import { decodeService } from './protobuf/decode-service.ts';
import { decodeServiceCIDR } from './protobuf/decode-service-cidr.ts';
import type { Service } from './service.ts';
import type { ServiceCIDR } from './service-cidr.ts';

export const serviceKind: KindDecoder<Service> = {
  kind: 'Service',
  apiVersion: 'v1',
  fromProtobuf: decodeService,
  fromJson: serviceFromJson,
};

export const endpointSliceKind: KindDecoder<EndpointSlice> = {
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  fromProtobuf: decodeEndpointSlice,
  fromJson: endpointSliceFromJson,
};

export const nodeKind: KindDecoder<Node> = {
  kind: 'Node',
  apiVersion: 'v1',
  fromProtobuf: decodeNode,
  fromJson: nodeFromJson,
};

export const serviceCIDRKind: KindDecoder<ServiceCIDR> = {
  kind: 'ServiceCIDR',
  apiVersion: 'networking.k8s.io/v1',
  fromProtobuf: decodeServiceCIDR,
  fromJson: serviceCIDRFromJson,
};
