/** One line of the demo: requests from one place to one address, and what has to come of them. */
export interface Check {
  readonly from: string;
  /** What `to` is, for people. */
  readonly service: string;
  readonly to: string;
  readonly proto?: 'tcp' | 'udp';
  readonly expect: CheckExpectation;
}

export type CheckExpectation =
  /** Each of these pods answers at least once, nobody else does, and all see the client as one of `seen`. */
  | { readonly pods: readonly string[]; readonly seen: readonly string[]; readonly why: string }
  /** One and the same pod of the list answers all requests. */
  | { readonly onePodOf: readonly string[]; readonly seen: readonly string[]; readonly why: string }
  | { readonly failure: 'refused' | 'timeout'; readonly why: string };

export interface CheckGroup {
  readonly title: string;
  readonly checks: readonly Check[];
}

const ALL_API = ['api-1', 'api-2'];
const ALL_CARTS = ['cart-1', 'cart-2'];

/** The tour of examples/shop as it is. */
export const TOUR: readonly CheckGroup[] = [
  {
    title: 'Inside the cluster',
    checks: [
      {
        from: 'cart-1',
        service: 'api ClusterIP',
        to: '10.96.0.20:80',
        expect: { pods: ALL_API, seen: ['cart-1'], why: 'both pods' },
      },
      {
        from: 'cart-2',
        service: 'api ClusterIP',
        to: '10.96.0.20:80',
        expect: { pods: ALL_API, seen: ['cart-2'], why: 'both pods' },
      },
      {
        from: 'api-1',
        service: 'api ClusterIP',
        to: '10.96.0.20:80',
        expect: { pods: ALL_API, seen: ['api-1', 'node1'], why: 'itself through node1' },
      },
      {
        from: 'cart-1',
        service: 'web ClusterIP',
        to: '[fd00:10:96::10]:80',
        expect: { pods: ['web-1', 'web-2'], seen: ['cart-1'], why: 'both pods' },
      },
      {
        from: 'web-1',
        service: 'cart with affinity',
        to: '10.96.0.30:80',
        expect: { onePodOf: ALL_CARTS, seen: ['web-1'], why: 'one pod for all' },
      },
      {
        from: 'web-2',
        service: 'events over UDP',
        to: '10.96.0.40:514',
        proto: 'udp',
        expect: { pods: ALL_API, seen: ['web-2'], why: 'both pods' },
      },
      {
        from: 'web-1',
        service: 'orders, no endpoints',
        to: '10.96.0.60:80',
        expect: { failure: 'refused', why: 'refused at once' },
      },
    ],
  },
  {
    title: 'From outside',
    checks: [
      {
        from: 'client',
        service: 'api NodePort node1',
        to: '172.31.1.11:30090',
        expect: { pods: ALL_API, seen: ['node1'], why: 'through node1' },
      },
      {
        from: 'client',
        service: 'api NodePort node2',
        to: '172.31.2.12:30090',
        expect: { pods: ALL_API, seen: ['node2'], why: 'through node2' },
      },
      {
        from: 'client',
        service: 'web LoadBalancer',
        to: '203.0.113.10:80',
        expect: { pods: ['web-1', 'web-2'], seen: ['client'], why: 'the real client' },
      },
      {
        from: 'client',
        service: 'web LoadBalancer',
        to: '[2001:db8:113::10]:80',
        expect: { pods: ['web-1', 'web-2'], seen: ['client'], why: 'the real client' },
      },
      {
        from: 'client',
        service: 'reports NodePort node2',
        to: '172.31.2.12:30100',
        expect: { pods: ['cart-2'], seen: ['client'], why: 'its own pod' },
      },
      {
        from: 'client',
        service: 'reports NodePort node1',
        to: '172.31.1.11:30100',
        expect: { failure: 'timeout', why: 'dropped: no pod here' },
      },
    ],
  },
];

/** What changes once web-3 is an endpoint of `web`. */
export const AFTER_SCALING: CheckGroup = {
  title: 'After web was scaled to three pods',
  checks: [
    {
      from: 'cart-1',
      service: 'web ClusterIP',
      to: '10.96.0.10:80',
      expect: { pods: ['web-1', 'web-2', 'web-3'], seen: ['cart-1'], why: 'three pods' },
    },
    {
      from: 'cart-2',
      service: 'web ClusterIP',
      to: '[fd00:10:96::10]:80',
      expect: { pods: ['web-1', 'web-2', 'web-3'], seen: ['cart-2'], why: 'three pods' },
    },
    {
      from: 'client',
      service: 'web LoadBalancer',
      to: '203.0.113.10:80',
      expect: { pods: ['web-1', 'web-2', 'web-3'], seen: ['client'], why: 'three pods' },
    },
  ],
};
