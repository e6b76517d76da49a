/**
 * The official conformance suite for servers (M14 of docs/spec/mcp.md). Scenarios about the protocol are run against the server
 * itself; those that ask for tools, resources or prompts of their own against a server that has these, over the same transport.
 */
import { recordLog } from '../support/recorded-log.ts';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as sdk from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMcpServer } from '../../src/mcp/index.ts';
import { serveHttp } from '../../src/mcp/serve/serve-http.ts';
import { sample } from '../support/scale.ts';
import { createFixtureServer } from './conformance-fixture.ts';

const suite = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** About the protocol alone. */
const protocolScenarios = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'dns-rebinding-protection',
  'server-sse-multiple-streams',
];

const fixtureScenarios = [
  'completion-complete',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'tools-call-elicitation',
  'json-schema-2020-12',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
];

/** What the server does not declare, and why. */
const excludedScenarios: Readonly<Record<string, string>> = {
  'logging-set-level': 'log messages to clients are not declared: the protocol has deprecated them',
  'tools-call-with-logging': 'as above',
  'tools-call-sampling': 'the client is never asked for model calls: the protocol has deprecated that',
  'resources-subscribe': 'subscriptions to single resources are not declared: checkpoints do not change',
  'resources-unsubscribe': 'as above',
  'server-sse-polling': 'streams that are closed early and taken up again are optional, and need an event store',
};

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const folder = mkdtempSync(join(tmpdir(), 'cairn-conformance-'));
const stops: (() => Promise<void>)[] = [];
const urls = { server: '', fixture: '' };

function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}

async function checksOf(scenario: string, url: string): Promise<readonly Check[]> {
  const output = await run(['server', '--url', url, '--scenario', scenario, '-o', join(folder, scenario)]);
  const [result] = readdirSync(join(folder, scenario));
  if (result === undefined) throw new Error(output);
  return JSON.parse(readFileSync(join(folder, scenario, result, 'checks.json'), 'utf8')) as readonly Check[];
}

beforeAll(async () => {
  const server = await startMcpServer({ cwd: folder, storeUrl: 'memory:', http: { port: 0 }, log: recordLog().log });
  const fixture = await serveHttp(sdk, createFixtureServer, { port: 0 }, () => undefined);
  stops.push(
    () => server.close(),
    () => fixture.close(),
  );
  urls.server = server.url ?? '';
  urls.fixture = fixture.url ?? '';
});

afterAll(async () => {
  for (const stop of stops) await stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('conformance', () => {
  test('M14 every scenario of the suite is run, or left out for a reason', async () => {
    const listed = (await run(['list', '--server'])).matchAll(/^ {2}- (\S+)/gm);
    const known = [...protocolScenarios, ...fixtureScenarios, ...Object.keys(excludedScenarios)];
    expect(new Set([...listed].map(([, name]) => name))).toEqual(new Set(known));
  });

  const scenarios = [
    ...protocolScenarios.map((scenario) => ({ scenario, target: 'server' as const })),
    ...fixtureScenarios.map((scenario) => ({ scenario, target: 'fixture' as const })),
  ];
  test.concurrent.each(sample(scenarios, 6, ({ target }) => target))(
    'M14 $scenario passes over our transport ($target)',
    async ({ scenario, target }) => {
      const checks = await checksOf(scenario, urls[target]);
      expect(checks.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(0);
      expect(checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')).toEqual([]);
    },
    30_000,
  );
});
