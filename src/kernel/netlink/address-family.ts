import type { IpFamily } from '../../base/ip.ts';

// linux/socket.h
export const AF_UNSPEC = 0;
export const AF_INET = 2;
export const AF_INET6 = 10;

/** Address family number of the socket API. */
export const addressFamily = (family: IpFamily): number => (family === 'IPv4' ? AF_INET : AF_INET6);
