/** How ports are chosen when addresses are translated. */
export type NatFlag = 'random' | 'fully-random' | 'persistent';
