import { describe, expect, test } from 'vitest';
import { environmentProxy } from './environment-proxy.ts';

const proxied = (server: string, env: NodeJS.ProcessEnv) => environmentProxy(new URL(server), env);

describe('which variable', () => {
  test.each([
    ['https://api:6443', { HTTPS_PROXY: 'http://p:3128', HTTP_PROXY: 'http://other' }, 'http://p:3128'],
    ['http://api:8080', { HTTPS_PROXY: 'http://p:3128', HTTP_PROXY: 'http://other' }, 'http://other'],
    ['https://api:6443', { HTTP_PROXY: 'http://other' }, undefined],
    ['https://api:6443', { https_proxy: 'http://lower' }, 'http://lower'],
    ['https://api:6443', { HTTPS_PROXY: 'http://upper', https_proxy: 'http://lower' }, 'http://upper'],
    ['https://api:6443', { HTTPS_PROXY: 'proxy.corp:3128' }, 'http://proxy.corp:3128'],
    ['https://api:6443', { HTTPS_PROXY: '' }, undefined],
    ['https://api:6443', {}, undefined],
  ])('%s with %j: %s', (server, env, expected) => {
    expect(proxied(server, env)).toBe(expected);
  });
});

describe('NO_PROXY', () => {
  test.each([
    ['10.96.0.1', '10.96.0.0/12', true],
    ['10.96.0.1', '10.96.0.1', true],
    ['10.96.0.1', '10.96.0.1:443', true],
    ['10.96.0.1', '10.96.0.1:6443', false],
    ['10.96.0.1', '192.168.0.0/16, 10.0.0.0/8', true],
    ['10.96.0.1', '10.97.0.0/16,.svc,localhost', false],
    ['[fd00::1]', 'fd00::/8', true],
    ['[fd00::1]', 'fd00::1', true],
    ['[fd00::1]', '[fd00:0::1]:443', true],
    ['[fd00::1]', 'fe80::/10', false],
    ['api.example.com', 'example.com', true],
    ['example.com', 'example.com', true],
    ['badexample.com', 'example.com', false],
    ['api.example.com', '.example.com', true],
    ['example.com', '.example.com', false],
    ['api.example.com', '*.Example.com', true],
    ['api.example.com', 'example.com:443', true],
    ['api.example.com', 'example.com:6443', false],
    ['api.example.com', '*', true],
    ['api.example.com', ' , ,', false],
    ['api.example.com', '10.0.0.0/8', false],
    ['127.0.0.1', '', true],
    ['[::1]', '', true],
    ['localhost', '', true],
  ])('%s with %j is exempt: %s', (host, noProxy, exempt) => {
    const env = { HTTPS_PROXY: 'http://p', NO_PROXY: noProxy };
    expect(proxied(`https://${host}`, env)).toBe(exempt ? undefined : 'http://p');
  });
});
