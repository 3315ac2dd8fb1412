import { expect, test } from 'vitest';
import type { Endpoint } from '../../model/endpoint.ts';
import type { ServicePort } from '../../model/service-port.ts';
import { endpointChainName, isServicePortChain, policyChainName, servicePortTail } from './chain-names.ts';

function port(text: string): ServicePort {
  const [, namespace, name, portName = '', protocol] = /^([^/]+)\/([^:]+?)(?::(.+?))?(tcp|udp)$/.exec(text)!;
  return { namespace, name, portName, protocol: protocol!.toUpperCase() } as ServicePort;
}

test.each([
  ['ns1/svc1:p80tcp', 'XPGD46QRK7WJZT7O'],
  ['ns2/svc2:p80tcp', 'GNZBNJ2PO5MGZ6GT'],
  ['ns3/svc3:p80tcp', 'X27LE4BHSL4DOUIK'],
  ['ns4/svc4:p80tcp', '4SW47YFZTEDKD3PK'],
  ['ns5/svc5:p80tcp', 'NUKIZ6OKUXPJNT4C'],
  ['ns2/svc2:p8080tcp', '2VJB64SDSIJUP5T6'],
  ['ns4/svc4:p8082tcp', 'EBDQOQU5SJFXRIL3'],
  ['ns1/svc1tcp', 'AQI2S6QIMU7PVVRP'],
  ['ns1/svc1:dns-udpudp', 'VSAJCMDKUGXIKENG'],
  ['default/kubernetes:httpstcp', 'NPX46M4PTMTKRN6Y'],
  ['kube-system/kube-dns:dnsudp', 'TCOU7JCQXEZGVUNU'],
])('chains of %s end in %s', (input, tail) => {
  expect(servicePortTail(port(input))).toBe(tail);
  expect(policyChainName('FW', servicePortTail(port(input)))).toBe(`KUBE-FW-${tail}`);
});

test.each([
  ['ns1/svc1:p80tcp', '10.180.0.1', 80, 'SXIVWICOYRO3J4NJ'],
  ['ns2/svc2:p80tcp', '10.180.0.2', 80, 'RS4RBKLTHTF2IUXJ'],
  ['ns3/svc3:p80tcp', '10.180.0.3', 80, 'OYPFS5VJICHGATKP'],
  ['ns4/svc4:p80tcp', '10.180.0.4', 80, 'UKSFD7AGPMPPLUHC'],
  ['ns4/svc4:p80tcp', '10.180.0.5', 80, 'C6EBXVWJJZMIWKLZ'],
  ['ns5/svc5:p80tcp', '10.180.0.3', 80, 'I77PXRDZVX7PMWMN'],
  ['ns1/svc1:p80tcp', '10.0.0.0', 80, 'DKGQUZGBKLTPAR56'],
  ['ns3/svc3:p8081tcp', '203.0.113.4', 8081, 'RUVVH7YV3PHQBDOS'],
  ['ns1/svc1:p80tcp', 'fd00:10:180::1', 80, 'OGYCNMB4EMRUSJ6N'],
])('the chain of an endpoint of %s at %s', (seed, ip, number, tail) => {
  expect(endpointChainName(seed, { ip, port: number } as Endpoint)).toBe(`KUBE-SEP-${tail}`);
});

test('only chains with the full form of a name count as a ServicePort’s', () => {
  expect(isServicePortChain('KUBE-SVC-XPGD46QRK7WJZT7O')).toBe(true);
  for (const foreign of [
    'KUBE-SERVICES',
    'KUBE-SVC-MINE',
    'KUBE-SVC-XPGD46QRK7WJZT7O2',
    'KUBE-XLB-XPGD46QRK7WJZT7O',
  ])
    expect(isServicePortChain(foreign)).toBe(false);
});
