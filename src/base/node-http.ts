/**
 * Node's `http` module. An ES import of it asks for every one of its exports, some of which load a whole second HTTP
 * client (undici): 6 MB and 50 ms that a process pays at its start. Types are imported from `node:http` as usual.
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
