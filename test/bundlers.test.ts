/**
 * The packed package in what people build with, each installed on demand and the result run: Next, Vite for servers, webpack, and Jest. The
 * guide to bundling says what was seen here. esbuild is in `bundles.test.ts`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installPackage, type InstalledPackage } from './support/installed-package.ts';
import { copyModules, installOnDemand } from './support/on-demand.ts';
import { isProving } from './support/scale.ts';

const minuteMs = 60_000;

/** What each of them builds and runs: a run that waits, is answered and ends, over a store in a file; and a YAML workflow. */
const flow = `
import { writeFileSync } from 'node:fs';
import { humanNode, openCairn, workflow } from 'cairn-workflows';
import * as aiSdk from 'cairn-workflows/ai-sdk';
import * as http from 'cairn-workflows/http';

const any = { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }) } };

export async function refund(folder) {
  const cairn = await openCairn({ cwd: folder, store: 'sqlite:runs.db', allow: ['inline'] });
  const graph = workflow('refund')
    .input(any)
    .step('approve', humanNode({ prompt: 'Pay it back?', choices: ['yes', 'no'] }))
    .step('pay', ({ state }) => 'paid: ' + state.artifacts.approve, { effectClass: 'external' })
    .returns(({ state }) => state.artifacts.pay)
    .compile({ store: 'sqlite:' + folder + '/runs.db' });
  const { runId, status } = await graph.invoke({ amount: 40 });
  const { output } = await graph.resume(runId, { answers: { approve: 'yes' } });
  await graph.close();
  const text = 'name: greet\\nblocks:\\n  - { id: hello, type: EchoBlock, inputs: { message: hello } }\\noutputs: { said: "\${blocks.hello.outputs.echoed}" }\\n';
  writeFileSync(folder + '/greet.yaml', text);
  const started = await cairn.run({ file: 'greet.yaml' });
  const { outputs } = await cairn.inspect({ run: started.runId });
  await cairn.close();
  return { status, output, outputs, doors: [typeof aiSdk.durable, typeof http.createHandler] };
}
`;

const expected = {
  status: 'paused',
  output: 'paid: yes',
  outputs: { said: 'Echo: hello' },
  doors: ['function', 'function'],
};

describe.skipIf(!isProving)('in npm run prove: the packed package, built with', () => {
  let installed: InstalledPackage;
  let top = '';
  beforeAll(() => {
    installed = installPackage();
    top = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-bundlers-')));
  }, 5 * minuteMs);
  afterAll(() => {
    installed.remove();
    rmSync(top, { recursive: true, force: true });
  });

  /** A project with the package, what is installed for it, and files. */
  function projectOf(
    name: string,
    packages: Readonly<Record<string, string>>,
    files: Readonly<Record<string, string>>,
  ): string {
    const project = join(top, name);
    mkdirSync(project);
    const folder = Object.keys(packages).length === 0 ? [] : [installOnDemand(packages)];
    copyModules(project, ...folder, installed.app);
    for (const [path, text] of Object.entries({ 'flow.mjs': flow, ...files })) {
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), text);
    }
    return project;
  }

  function build(project: string, script: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, 'node_modules', script), ...args], {
      cwd: project,
      encoding: 'utf8',
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production', CI: '1' },
    });
    expect([script, status, status === 0 ? '' : (stdout + stderr).slice(-3_000)]).toEqual([script, 0, '']);
    return stdout + stderr;
  }

  /** Runs what was built in another folder, where nothing is installed. */
  function runElsewhere(project: string, built: string): unknown {
    const elsewhere = mkdtempSync(join(top, 'elsewhere-'));
    cpSync(join(project, built), elsewhere, { recursive: true });
    const { status, stdout, stderr } = spawnSync(process.execPath, ['main.mjs'], { cwd: elsewhere, encoding: 'utf8' });
    // A line of a bundle may be long, and an error shows it.
    expect([status, status === 0 ? '' : stderr.slice(-2_000)]).toEqual([0, '']);
    return JSON.parse(stdout);
  }

  const main = `import { refund } from './flow.mjs';\nrefund(process.cwd()).then((result) => console.log(JSON.stringify(result)));\n`;

  test('Vite for servers, with nothing left outside: the result runs elsewhere', { timeout: 10 * minuteMs }, () => {
    const config = `export default { build: { ssr: 'main.mjs', outDir: 'out', rollupOptions: { output: { entryFileNames: 'main.mjs' } } }, ssr: { noExternal: true } };\n`;
    const project = projectOf('vite', { vite: '8.3.8' }, { 'main.mjs': main, 'vite.config.mjs': config });
    build(project, 'vite/bin/vite.js', 'build', '--logLevel', 'warn');
    expect(runElsewhere(project, 'out')).toEqual(expected);
  });

  test('webpack, as ES modules: the result runs elsewhere', { timeout: 10 * minuteMs }, () => {
    const config = `export default { mode: 'production', target: 'node22', entry: './main.mjs', experiments: { outputModule: true }, output: { path: import.meta.dirname + '/out', filename: 'main.mjs', module: true, chunkFormat: 'module' } };\n`;
    const run = `import webpack from 'webpack';\nimport config from './webpack.config.mjs';\nwebpack(config, (error, stats) => { const text = String(error ?? stats.toString({ preset: 'errors-warnings' })); console.log(text); process.exitCode = error || stats.hasErrors() ? 1 : 0; });\n`;
    const files = { 'main.mjs': main, 'webpack.config.mjs': config, 'run.mjs': run };
    const project = projectOf('webpack', { webpack: '5.113.0' }, files);
    build(project, '../run.mjs');
    expect(runElsewhere(project, 'out')).toEqual(expected);
  });

  test(
    'Next, a route that runs workflows: built, and the built server answers',
    { timeout: 15 * minuteMs },
    async () => {
      const layout = `export default function Layout({ children }) { return <html><body>{children}</body></html>; }\n`;
      const route = `import { refund } from '../../flow.mjs';\nexport const dynamic = 'force-dynamic';\nexport async function GET() { return Response.json(await refund(process.env.RUNS)); }\n`;
      const project = projectOf(
        'next',
        { next: '16.4.6', react: '19.2.0', 'react-dom': '19.2.0' },
        {
          'package.json': '{ "private": true }\n',
          'app/layout.jsx': layout,
          'app/page.jsx': `export default function Page() { return <p>here</p>; }\n`,
          'app/refund/route.js': route,
        },
      );
      const next = 'next/dist/bin/next';
      build(project, next, 'build');
      const runs = mkdtempSync(join(top, 'runs-'));
      const server = spawn(
        process.execPath,
        [join(project, 'node_modules', next), 'start', '-H', '127.0.0.1', '-p', '0'],
        {
          cwd: project,
          env: { ...process.env, RUNS: runs, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      try {
        const url = await new Promise<string>((resolve, reject) => {
          let said = '';
          server.on('exit', (code) => reject(new Error(`next start ended with ${code}: ${said}`)));
          server.stdout.setEncoding('utf8').on('data', (text: string) => {
            said += text;
            const [found] = /http:\/\/(?:127\.0\.0\.1|localhost):[1-9]\d*/.exec(said) ?? [];
            if (found !== undefined) resolve(found.replace('localhost', '127.0.0.1'));
          });
        });
        const answer = await fetch(`${url}/refund`);
        expect([answer.status, await answer.json()]).toEqual([200, expected]);
      } finally {
        server.kill('SIGKILL');
      }
    },
  );

  test('Jest, with ES modules: a test that runs workflows passes', { timeout: 10 * minuteMs }, () => {
    const jestTest = `import { refund } from './flow.mjs';\ntest('a workflow runs', async () => {\n  expect(await refund(process.env.RUNS)).toEqual(${JSON.stringify(expected)});\n});\n`;
    const project = projectOf(
      'jest',
      { jest: '30.5.2' },
      {
        'package.json':
          '{ "private": true, "jest": { "transform": {}, "testMatch": ["**/*.test.mjs"], "testEnvironment": "node" } }\n',
        'refund.test.mjs': jestTest,
      },
    );
    const runs = mkdtempSync(join(top, 'runs-'));
    const args = ['--experimental-vm-modules', join(project, 'node_modules/jest/bin/jest.js'), '--ci'];
    const { status, stderr } = spawnSync(process.execPath, args, {
      cwd: project,
      encoding: 'utf8',
      env: { ...process.env, RUNS: runs, NODE_ENV: 'test' },
    });
    expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    expect(stderr).toContain('1 passed');
  });
});
